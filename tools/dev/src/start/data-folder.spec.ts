import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { workspaceRoot } from '../workspace.ts';
import { adminCommand, npmCommand, quoted } from './data-folder.ts';

describe('suggested commands', () => {
  it('are short for the default data folder', () => {
    const data = join(workspaceRoot, '.sealgate');
    expect(npmCommand('stop', data)).toBe('npm stop');
    expect(adminCommand('networks list', data)).toBe('npx sealgate networks list');
  });

  it('name any other data folder', () => {
    expect(npmCommand('stop', '/data')).toBe('npm stop -- --data /data');
    expect(npmCommand('start', '/my data')).toBe("npm start -- --data '/my data'");
    expect(adminCommand('networks list', '/data')).toBe('npx sealgate networks list --dev-json /data/dev.json');
  });

  it('quote paths for a shell', () => {
    expect(quoted("/it's")).toBe(`'/it'\\''s'`);
  });
});
