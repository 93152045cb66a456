import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseParameters, UserError } from './surface-target.ts';

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

function target(parameters: string[], env: NodeJS.ProcessEnv = {}) {
  const { passedOn, ...found } = parseParameters(parameters, { env, root });
  expect(passedOn).toEqual([]);
  return found;
}

describe('the target of the checks', () => {
  it('defaults to what npm start runs, with the key of its viewer', () => {
    expect(target([])).toEqual(running);
    expect(target(['--key', 'svc_other'])).toEqual({ ...running, key: 'svc_other' });
    expect(target([], { SEALGATE_MCP_KEY: 'svc_of_env' })).toEqual({ ...running, key: 'svc_of_env' });
  });

  it('reads another data folder, relative to where npm was called', () => {
    const env = { INIT_CWD: join(root, 'below') };
    expect(target(['--data', 'other'], env).url).toBe('http://127.0.0.1:9101');
  });

  it('accepts any http(s) URL with a key, with or without /mcp', () => {
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
    [['whoami'], /Usage/],
  ])('rejects %j', (parameters, words) => {
    expect(() => target(parameters)).toThrow(UserError);
    expect(() => target(parameters)).toThrow(words);
  });

  it('passes on what follows --', () => {
    const more = ['--method', 'tools/list', '--', 'x'];
    expect(parseParameters(['--key', 'k', '--', ...more], { env: {}, root })).toEqual({
      ...running,
      key: 'k',
      passedOn: more,
    });
  });
});
