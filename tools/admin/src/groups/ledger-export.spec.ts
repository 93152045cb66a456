import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  bundleOf,
  checkpointText,
  generateNoteKey,
  leafHash,
  noteSigner,
  parseBundlePath,
  tilePath,
  TileTree,
} from '@sealgate/merkle';
import { smallDisk } from '@sealgate/testing';
import { runLine } from '../testing/run-line.ts';

const key = generateNoteKey('log.example/acme.main');
const entry = (n: number): Buffer => Buffer.from(`{"n":${n}}`);
const treeOf = (size: number, of = entry) => {
  const tree = TileTree.empty();
  const full = tree.append(Buffer.concat(Array.from({ length: size }, (_, n) => leafHash(of(n)))));
  return { root: tree.root(), tiles: [...full, ...tree.edge()] };
};
const noteOf = (size: number, of = entry, origin = 'log.example/acme.main') =>
  noteSigner(key.privateKey).sign(checkpointText({ origin, size, root: treeOf(size, of).root }));

/** A served log: a note, and entries in bundles. */
let served: { note: string; entry: (n: number) => Buffer; status?: number };
const asked: (string | undefined)[] = [];
const server = createServer((request, response) => {
  asked.push(request.headers.authorization);
  const path = request.url!.replace('/ledger/acme.main/', '');
  const bundle = parseBundlePath(path);
  if (path === 'checkpoint') response.end(served.note);
  else if (bundle === undefined || served.status !== undefined) response.writeHead(served.status ?? 404).end();
  else response.end(bundleOf(Array.from({ length: bundle.width }, (_, n) => served.entry(bundle.index * 256 + n))));
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/ledger/acme.main`;
afterAll(() => void server.close());

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'sealgate-export-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const serve = (size: number, of = entry) => (served = { note: noteOf(size, of), entry: of });
const copy = (more = `--key ${key.verifierKey}`) => runLine(`ledger export ${url} ${dir} ${more}`.trim());

describe('ledger export', () => {
  it.each([
    [1, 255],
    [255, 256],
    [256, 257],
    [257, 2000],
    [0, 1],
  ])('copies %i entries, and continues to %i, byte for byte', async (first, second) => {
    serve(first);
    expect(await copy()).toMatchObject({ code: 0, err: '', out: expect.stringContaining(`${first} of them new`) });
    serve(second);
    expect(await copy()).toMatchObject({ code: 0, out: expect.stringContaining(`${second - first} of them new`) });
    expect(readFileSync(join(dir, 'checkpoint'), 'utf8')).toBe(served.note);
    for (const tile of treeOf(second).tiles) expect(readFileSync(join(dir, tilePath(tile)))).toEqual(tile.hashes);
    const last = Math.floor((second - 1) / 256);
    const width = second - last * 256;
    const path = tilePath({ level: 0, index: last, width }).replace('/0/', '/entries/');
    expect(readFileSync(join(dir, path))).toEqual(
      bundleOf(Array.from({ length: width }, (_, n) => entry(last * 256 + n))),
    );
    expect(await copy()).toMatchObject({ code: 0, out: expect.stringContaining(', 0 of them new') });
  });

  it('sends the key of the peer from a file, and reports unchecked signatures', async () => {
    serve(3);
    writeFileSync(join(dir, 'peer.key'), 'k'.repeat(32));
    const { code, err } = await copy(`--bearer-file ${join(dir, 'peer.key')}`);
    expect([code, err]).toEqual([0, 'sealgate: without --key no signature was checked.\n']);
    expect(asked.at(-1)).toBe(`Bearer ${'k'.repeat(32)}`);
  });

  it.each<[string, () => void, string]>([
    ['rolled back', () => serve(299), 'it was rolled back'],
    [
      'of other entries behind those',
      () => (served = { ...serve(301), entry: (n) => entry(n === 300 ? 7 : n) }),
      'do not hash to the signed root',
    ],
    ['a fork', () => serve(301, (n) => entry(n + 1)), 'is a fork of the copy'],
    [
      'of another old entry',
      () => (served = { ...serve(301), entry: (n) => entry(n === 299 ? 7 : n) }),
      'is a fork of the copy',
    ],
    ['another one', () => (served.note = noteOf(301, entry, 'log.example/acme.other')), 'holds log.example/acme.main'],
    ['signed by a stranger', () => (served.note = noteOf(301).replace('log.example/acme.main ', 'x ')), 'not signed'],
    ['none', () => (served.note = 'nothing'), 'not signed'],
    ['without entries', () => (served = { ...serve(301), status: 404 }), 'its entries are not served'],
    ['too busy', () => (served = { ...serve(301), status: 429 }), 'A later run continues'],
  ])('rejects a log that is %s, and keeps the copy', async (_, spoil, told) => {
    const { note: before } = serve(300);
    expect(await copy()).toMatchObject({ code: 0 });
    spoil();
    expect(await copy()).toMatchObject({ code: 1, out: '', err: expect.stringContaining(told) });
    expect(readFileSync(join(dir, 'checkpoint'), 'utf8')).toBe(before);
    serve(301);
    expect(await copy()).toMatchObject({ code: 0 });
  });

  it('rejects a copy with changed or missing tiles', async () => {
    serve(300);
    await copy();
    const path = join(dir, 'tile/0/001.p/44');
    writeFileSync(path, Buffer.alloc(44 * 32));
    serve(301);
    expect((await copy()).err).toContain('do not hash to the root of its checkpoint');
    rmSync(path);
    expect((await copy()).err).toContain('tile/0/001.p/44 is missing');
    expect(existsSync(join(dir, 'tile/entries/001.p/45'))).toBe(false);
  });

  it('takes keys as files too, several of them, like sealgate-verify', async () => {
    serve(300);
    const other = generateNoteKey('log.example/acme.main').verifierKey;
    const file = join(dir, '../sealgate-export-keys');
    try {
      writeFileSync(file, `${other}\n${key.verifierKey}\n`);
      expect(await copy(`--key ${file}`)).toMatchObject({ code: 0, err: '' });
      expect((await copy(`--key ${other} --key ${key.verifierKey}`)).code).toBe(0);
      expect((await copy(`--key ${other}`)).code).toBe(1);
    } finally {
      rmSync(file);
    }
    const { code, err } = await copy(`--key ${dir}/none`);
    expect([code, err]).toEqual([
      2,
      `sealgate: --key: ${dir}/none is no verifier key, and no file that can be read: ENOENT.\n`,
    ]);
  });

  it('names what it cannot write, and a later run continues', async () => {
    serve(300);
    writeFileSync(join(dir, 'tile'), 'a file where a folder belongs');
    const { code, err } = await copy();
    expect([code, err]).toEqual([
      2,
      expect.stringMatching(/^sealgate: .*\/tile\/entries\/000 cannot be written: (ENOTDIR|EEXIST)\.\n$/),
    ]);
    rmSync(join(dir, 'tile'));
    expect((await copy()).code).toBe(0);
    const disk = smallDisk(1, 'an export to a full disk');
    if (disk === undefined) return;
    try {
      writeFileSync(join(disk.path, 'ballast'), Buffer.alloc(1024 * 1024));
      const full = await runLine(`ledger export ${url} ${disk.path} --key ${key.verifierKey}`);
      expect(full).toMatchObject({ code: 2, err: expect.stringContaining('cannot be written: ENOSPC.') });
      disk.makeReadOnly();
      const readOnly = await runLine(`ledger export ${url}// ${disk.path} --key ${key.verifierKey}`);
      expect(readOnly).toMatchObject({ code: 2, err: expect.stringContaining('cannot be written: EROFS.') });
    } finally {
      disk.release();
    }
  });

  it('reports an unreachable log, or an invalid key', async () => {
    expect(await runLine(`ledger export http://127.0.0.1:1/ledger/acme.main ${dir}`)).toMatchObject({ code: 4 });
    expect(await copy('--bearer-file /nowhere/key')).toMatchObject({ code: 2 });
    expect(await copy('--key nothing')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--key: nothing is no verifier key'),
    });
  });
});
