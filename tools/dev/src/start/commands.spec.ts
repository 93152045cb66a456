import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { workspaceRoot } from '../workspace.ts';
import { adminCommand, npmCommand, quoted } from './commands.ts';

describe('the commands to type', () => {
  it('are short for the data that is meant without a word', () => {
    const data = join(workspaceRoot, '.sealgate');
    expect(npmCommand('stop', data)).toBe('npm stop');
    expect(adminCommand('networks list', data)).toBe('npx sealgate networks list');
  });

  it('name any other data', () => {
    expect(npmCommand('stop', '/data')).toBe('npm stop -- --data /data');
    expect(npmCommand('start', '/my data')).toBe("npm start -- --data '/my data'");
    expect(adminCommand('networks list', '/data')).toBe('npx sealgate networks list --dev-json /data/dev.json');
  });

  it('quote a path as a shell does', () => {
    expect(quoted("/it's")).toBe(`'/it'\\''s'`);
  });
});
