import { spawn, spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { standInApi, type StandInApi } from './testing/stand-in-api.ts';

const BIN = join(import.meta.dirname, '../bin/sealgate.mjs');
const packageFile = join(import.meta.dirname, '../../../package.json');
const packageVersion = (JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string }).version;
const NODES: [string, string[]][] = [
  ['a Node that runs TypeScript', []],
  ["an older one, by running the repository's Node", ['--no-experimental-strip-types']],
];

let api: StandInApi;
let folder: string;
beforeAll(async () => {
  api = await standInApi();
  folder = await mkdtemp(join(tmpdir(), 'sealgate-cli-'));
});
afterAll(async () => {
  await api.close();
  await rm(folder, { recursive: true });
});

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs the command like a shell, without a terminal. With `closeAfter`, its output is closed after that text. */
function run(
  args: readonly string[],
  { nodeArgs = [] as string[], bin = BIN, closeAfter = Infinity } = {},
): Promise<Ended> {
  const env = { PATH: process.env['PATH'], SEALGATE_ADMIN_URL: api.url, SEALGATE_ADMIN_TOKEN: 't' };
  const child = spawn(process.execPath, [...nodeArgs, bin, ...args], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stderr.on('data', (chunk) => (err += String(chunk)));
  child.stdout.on('data', (chunk) => {
    out += String(chunk);
    if (out.length >= closeAfter) child.stdout.destroy();
  });
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out, err })));
}

describe('the command', () => {
  it.each(NODES)('works under %s', async (_, nodeArgs) => {
    api.answer(() => ({
      body: { status: 'done', report: { ok: false, size: 1, firstBadRecordId: 'r', problem: 'p' } },
    }));
    expect(await run(['ledger', 'audit', 'a.main', '--json'], { nodeArgs })).toEqual({
      code: 3,
      out: '{"ok":false,"size":1,"firstBadRecordId":"r","problem":"p"}\n',
      err: '',
    });
    expect(await run(['networks', 'delete', 'acme'], { nodeArgs })).toMatchObject({ code: 2, out: '' });
    expect(await run(['--help'], { nodeArgs })).toMatchObject({ code: 0, err: '' });
  });

  it('works through a symlink, as created by package managers', async () => {
    const bin = join(folder, 'node_modules/.bin/sealgate');
    await mkdir(join(folder, 'node_modules/.bin'), { recursive: true });
    await symlink(BIN, bin);
    expect(await run(['--help'], { bin })).toMatchObject({ code: 0, err: '' });
  });

  it.each(NODES)('prints its version under %s', async (_, nodeArgs) => {
    const { code, out } = await run(['--version'], { nodeArgs });
    expect([code, out]).toEqual([0, `sealgate ${packageVersion}\n`]);
  });

  (existsSync('/dev/full') ? it : it.skip)('says in a sentence that its output cannot be written', () => {
    const full = openSync('/dev/full', 'w');
    const { status, stderr } = spawnSync(process.execPath, [BIN, '--help'], {
      stdio: ['ignore', full, 'pipe'],
      encoding: 'utf8',
    });
    closeSync(full);
    expect([status, stderr]).toEqual([2, 'sealgate: standard output cannot be written: ENOSPC.\n']);
  });

  it.each(NODES)('exits quietly if its output is closed, under %s', async (_, nodeArgs) => {
    let page = 0;
    const items = Array.from({ length: 200 }, (_item, n) => ({ channel: `acme.channel-${n}`, size: n }));
    api.answer(() => ({ body: { items, nextCursor: `c${(page += 1)}` } }));
    expect(await run(['ledger', 'channels', '--all'], { nodeArgs, closeAfter: 1_000 })).toMatchObject({
      code: 0,
      err: '',
    });
  });
});
