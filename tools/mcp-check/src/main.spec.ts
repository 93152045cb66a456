import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { EXPECTED_FAILURES } from './expected-failures.ts';

let folder: string;
let surface: Server;
const requests: string[] = [];

interface Call {
  readonly args: string[];
  readonly cwd: string;
  readonly baseline: string | undefined;
}

/** A stand-in for npx: logs its arguments, sends one request to `--url`, and exits with the code in EXIT. */
const NPX = `#!${process.execPath}
const fs = require('node:fs');
const [, , ...args] = process.argv;
const after = (option) => (args.includes(option) ? args[args.indexOf(option) + 1] : undefined);
const file = after('--expected-failures');
const baseline = file && fs.readFileSync(file, 'utf8');
fs.appendFileSync(process.env.CALLS, JSON.stringify({ args, cwd: process.cwd(), baseline }) + '\\n');
const asked = after('--url') ? fetch(after('--url'), { method: 'POST' }) : Promise.resolve();
asked.then(() => process.exit(Number(process.env.EXIT)));
`;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sealgate-npx-'));
  writeFileSync(join(folder, 'npx'), NPX);
  chmodSync(join(folder, 'npx'), 0o755);
  surface = createServer((request, response) => {
    requests.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    response.end();
  });
  await new Promise<void>((done) => surface.listen(0, '127.0.0.1', done));
});
beforeEach(() => writeFileSync(join(folder, 'calls'), ''));
afterAll(() => {
  surface.close();
  rmSync(folder, { recursive: true });
});

async function check(parameters: readonly string[], exit = 0, path = folder) {
  const { NODE_OPTIONS: _ofJest, ...env } = process.env;
  const child = spawn(process.execPath, [join(import.meta.dirname, 'main.ts'), ...parameters], {
    env: { ...env, PATH: [path, env['PATH']].join(delimiter), CALLS: join(folder, 'calls'), EXIT: String(exit) },
  });
  const exited = new Promise<number | null>((done) => child.once('close', done));
  const [code, out, err] = await Promise.all([exited, text(child.stdout), text(child.stderr)]);
  const lines = readFileSync(join(folder, 'calls'), 'utf8').split('\n').filter(Boolean);
  return { code, out, err, calls: lines.map((line) => JSON.parse(line) as Call) };
}

const target = (): string[] => [
  '--url',
  `http://127.0.0.1:${(surface.address() as AddressInfo).port}`,
  '--key',
  'svc_k',
];

describe('mcp-check conformance', () => {
  it('runs the suite for each revision through a proxy that adds the key, with the expected failures', async () => {
    const { code, calls } = await check(['conformance', ...target(), '--', '--verbose']);
    expect(code).toBe(0);
    expect(calls.map(({ args }) => args[args.indexOf('--requirements') + 1])).toEqual(['2025-11-25', '2026-07-28']);
    for (const [at, { args, cwd, baseline }] of calls.entries()) {
      expect(args.slice(0, 3)).toEqual(['--yes', '@modelcontextprotocol/conformance@0.2.0-alpha.12', 'server']);
      expect(args.at(-1)).toBe('--verbose');
      expect(JSON.parse(baseline!)).toEqual({ server: Object.keys(Object.values(EXPECTED_FAILURES)[at]!) });
      expect(existsSync(cwd)).toBe(false);
    }
    expect(requests).toEqual(['POST /mcp Bearer svc_k', 'POST /mcp Bearer svc_k']);
  });

  it('exits with 1 if the suite does, after all revisions', async () => {
    const { code, calls } = await check(['conformance', ...target()], 1);
    expect([code, calls.length]).toEqual([1, 2]);
  });
});

describe('mcp-check inspect', () => {
  it('passes the address, the key and the given options to the inspector, and returns its exit code', async () => {
    const { code, calls } = await check(['inspect', ...target(), '--', '--method', 'tools/list'], 5);
    expect(code).toBe(5);
    const [, url] = target();
    const server = ['--server-url', `${url}/mcp`, '--transport', 'http', '--header', 'Authorization: Bearer svc_k'];
    expect(calls.map(({ args }) => args)).toEqual([
      ['--yes', '@modelcontextprotocol/inspector@2.12.0', '--cli', ...server, '--method', 'tools/list'],
    ]);
  });

  it('makes several calls without options, up to the first that fails', async () => {
    expect((await check(['inspect', ...target()])).calls.length).toBeGreaterThan(1);
    writeFileSync(join(folder, 'calls'), '');
    expect(await check(['inspect', ...target()], 3)).toMatchObject({ code: 3, calls: [expect.anything()] });
  });
});

describe('mcp-check', () => {
  it('exits with 2 and a message for wrong use', async () => {
    expect(await check(['other'])).toMatchObject({ code: 2, err: expect.stringContaining('Usage') });
    const missing = await check(['inspect', '--data', join(folder, 'none')]);
    expect(missing).toMatchObject({ code: 2, err: expect.stringContaining('npm start'), calls: [] });
  });

  it('has a reason for each expected failure', () => {
    for (const reason of Object.values(EXPECTED_FAILURES).flatMap(Object.values)) expect(reason).toMatch(/\S/);
  });
});
