import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { surfaceTarget } from './surface-target.ts';
import { UserError } from './user-error.ts';

let root: string;
const running = { url: 'http://127.0.0.1:4101', key: 'svc_viewer' };
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'sealgate-target-'));
  const dev = { surfaces: { 'risk-partner': { url: running.url } }, demo: { keys: { viewer: running.key } } };
  for (const [folder, text] of [
    ['.sealgate', JSON.stringify(dev)],
    ['below/other', JSON.stringify({ ...dev, surfaces: { 'risk-partner': { url: 'http://127.0.0.1:9101' } } })],
    ['broken', '{'],
    ['without', JSON.stringify({ surfaces: {}, demo: { keys: {} } })],
  ] as const) {
    mkdirSync(join(root, folder), { recursive: true });
    writeFileSync(join(root, folder, 'dev.json'), text);
  }
});
afterAll(() => rmSync(root, { recursive: true }));

const target = (parameters: string[], env: NodeJS.ProcessEnv = {}) => surfaceTarget(parameters, { env, root });

describe('whom the tools are asked of', () => {
  it('is what npm start runs, as its viewer', () => {
    expect(target([])).toEqual(running);
    expect(target(['--key', 'svc_other'])).toEqual({ ...running, key: 'svc_other' });
    expect(target([], { SEALGATE_MCP_KEY: 'svc_of_env' })).toEqual({ ...running, key: 'svc_of_env' });
  });

  it('is what runs on another folder, as it was typed', () => {
    const env = { INIT_CWD: join(root, 'below') };
    expect(target(['--data', 'other'], env).url).toBe('http://127.0.0.1:9101');
  });

  it('is any address with a key, with or without what is added to it', () => {
    const wanted = { url: 'https://risk.example', key: 'k' };
    for (const url of ['https://risk.example', 'https://risk.example/', 'https://risk.example/mcp'])
      expect(target(['--url', url, '--key', 'k'])).toEqual(wanted);
    expect(target(['--url', 'https://risk.example'], { SEALGATE_MCP_KEY: 'k' })).toEqual(wanted);
  });

  it.each([
    [['--url', 'http://127.0.0.1:1'], /--url needs a key/],
    [['--url', 'ftp://x', '--key', 'k'], /no http\(s\) URL/],
    [['--nonsense'], /Usage/],
    [['inspect'], /Usage/],
    [['--data', 'none'], /npm start/],
    [['--data', 'without'], /npm start/],
    [['--data', 'broken'], /cannot be read as JSON/],
  ])('is told where it cannot be found: %j', (parameters, words) => {
    expect(() => target(parameters)).toThrow(UserError);
    expect(() => target(parameters)).toThrow(words);
  });
});
