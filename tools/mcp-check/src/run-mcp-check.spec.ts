import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EXPECTATIONS } from './conformance/expectations.ts';
import { runMcpCheck } from './run-mcp-check.ts';

let folder: string;
let surface: Server;
const asked: string[] = [];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sealgate-npx-'));
  surface = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    response.writeHead(401, { 'Content-Type': 'application/json' }).end('{"code":"UNAUTHENTICATED"}');
  });
  await new Promise<void>((done) => surface.listen(0, '127.0.0.1', done));
});
afterAll(() => {
  surface.close();
  rmSync(folder, { recursive: true });
});

/** A stand-in of npx: a program of a few lines, told what npx would be told. */
function standIn(lines: string): string {
  const noteFolder = `require('node:fs').writeFileSync(${JSON.stringify(join(folder, 'ran-in'))}, process.cwd());`;
  const file = join(folder, `npx-${Math.random().toString(36).slice(2)}`);
  writeFileSync(
    file,
    `#!${process.execPath}\nconst [, , yes, name, ...args] = process.argv;\n${noteFolder}\n${lines}\n`,
  );
  chmodSync(file, 0o755);
  return file;
}

async function check(parameters: readonly string[], npxCommand: string) {
  let [out, err] = ['', ''];
  const host = { out: (text: string) => void (out += text), err: (text: string) => void (err += text) };
  const code = await runMcpCheck(parameters, { ...host, env: process.env, root: folder, npxCommand });
  return { code, out, err };
}

const there = (): string[] => [
  '--url',
  `http://127.0.0.1:${(surface.address() as AddressInfo).port}`,
  '--key',
  'svc_k',
];
/** The folder that the stand-in was run in. */
const ranIn = (): string => readFileSync(join(folder, 'ran-in'), 'utf8');

/** Writes what the suite would write, and asks once through the door. */
const suite = (checks: readonly object[]): string => `
if (args[0] === '--help') process.exit(0);
const fs = require('node:fs');
const at = (option) => args[args.indexOf(option) + 1];
for (const { revision, scenario, ...check } of ${JSON.stringify(checks)}) {
  if (revision !== at('--requirements')) continue;
  const folder = at('--output-dir') + '/server-' + scenario + '-2026-01-02T03-04-05-' + (100 + fs.readdirSync('.').length) + 'Z';
  fs.mkdirSync(folder, { recursive: true });
  const file = folder + '/checks.json';
  const before = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')) : [];
  fs.writeFileSync(file, JSON.stringify([...before, check]));
}
fetch(at('--url'), { method: 'POST' }).then(() => process.exit(1));`;
const asExpected = EXPECTATIONS.map(({ revision, scenario, because, says: [words = ''] = [] }) => ({
  revision,
  scenario,
  id: scenario,
  ...(because === undefined ? { status: 'SUCCESS' } : { status: 'FAILURE', errorMessage: `It said: ${words}` }),
}));

describe('mcp-check', () => {
  it('asks the suite through a door that adds the key, and ends with 0 where all is as the table says', async () => {
    const { code, out, err } = await check(['conformance', ...there()], standIn(suite(asExpected)));
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain(`${EXPECTATIONS.length} as expected, 0 not.`);
    expect(asked.at(-1)).toBe('POST /mcp Bearer svc_k');
    expect(existsSync(ranIn())).toBe(false);
  });

  it('ends with 1 where one check differs, and names it', async () => {
    const checks = asExpected.map((one) => (one.id === 'ping' ? { ...one, status: 'FAILURE' } : one));
    const { code, out } = await check(['conformance', ...there()], standIn(suite(checks)));
    expect(code).toBe(1);
    expect(out).toMatch(/^DIFFERS 2025-11-25 ping .*\n +Found ping, FAILURE$/m);
    expect(out).toContain('1 not.');
  });

  it.each([
    ['npx cannot bring the package', `console.error('npm error 404'); process.exit(1);`, /npx could not bring .*404/],
    [
      'the suite writes nothing down',
      `if (args[0] !== '--help') console.error('bad option');`,
      /nothing down: bad option/,
    ],
  ])('ends with 2 where %s', async (_, lines, words) => {
    const { code, err } = await check(['conformance', ...there()], standIn(lines));
    expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(words) });
    expect(existsSync(ranIn())).toBe(false);
  });

  it('ends with 2 where there is no npx, nothing runs, the key is not taken, or it was called wrongly', async () => {
    const fine = standIn('');
    const said = async (...[parameters, command]: Parameters<typeof check>) => {
      const { code, err } = await check(parameters, command);
      return [code, err];
    };
    expect(await said(['inspect', ...there()], join(folder, 'none'))).toEqual([2, expect.stringContaining('ENOENT')]);
    expect(await said(['inspect'], fine)).toEqual([2, expect.stringContaining('npm start')]);
    expect(await said(['inspect', ...there()], fine)).toEqual([2, expect.stringContaining('is answered 401')]);
    expect(await said(['other'], fine)).toEqual([2, expect.stringContaining('Usage')]);
    expect(await said(['inspect', '--url', 'http://127.0.0.1:1', '--key', 'k'], fine)).toEqual([
      2,
      expect.stringContaining('gives no answer'),
    ]);
  });
});
