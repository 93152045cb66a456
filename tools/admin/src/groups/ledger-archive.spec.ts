import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { dataHashOf, receiptLeaf } from '@sealgate/envelope';
import { ArchiveFiles, archivedLine, type ArchivedRecord } from '@sealgate/ledger-embedded/archive-files';
import { checkpointText, generateNoteKey, noteSigner, TileTree, verifyInclusion } from '@sealgate/merkle';
import { runLine, type Ran } from '../testing/run-line.ts';
import { problem, standInApi } from '../testing/stand-in-api.ts';

const api = await standInApi();
afterAll(() => api.close());
const run = (line: string): Promise<Ran> => runLine(line, { env: api.env });

describe('ledger archive', () => {
  const path = '/admin/v1/ledger/channels/acme.main/archive';
  const progress = (archived: number) => ({ channel: 'acme.main', size: 9000, archived, until: 8192 });

  it('repeats until everything is archived', async () => {
    const answers = [progress(4096), progress(8192)];
    api.answer(() => ({ body: answers[api.seen.length - 1]! }));
    expect(await run('ledger archive acme.main --before 8200 --yes')).toEqual({
      code: 0,
      err: '4096 of 8192 records\n',
      out: 'channel   acme.main\nsize      9000\narchived  8192\nuntil     8192\n',
    });
    expect(api.seen).toMatchObject([
      { method: 'POST', path, body: '{"before":8200}' },
      { method: 'POST', path, body: '{"before":8200}' },
    ]);
  });

  it('also selects by age', async () => {
    api.answer(() => ({ body: progress(8192) }));
    expect((await run('ledger archive acme.main --older-than 400 --yes --json')).out).toBe(
      `${JSON.stringify(progress(8192))}\n`,
    );
    expect(api.seen).toMatchObject([{ body: '{"olderThanDays":400}' }]);
  });

  it('gives up without progress', async () => {
    api.answer(() => ({ body: progress(256) }));
    expect(await run('ledger archive acme.main --before 8200 --yes')).toMatchObject({
      code: 1,
      err: expect.stringContaining('makes no progress beyond record 256'),
    });
  });

  it.each(['', ' --before 1 --older-than 2'])(
    'requires one of the two options, and confirmation:%s',
    async (options) => {
      api.answer(() => ({ body: progress(8192) }));
      expect(await run(`ledger archive acme.main --yes${options}`)).toMatchObject({ code: 2 });
      expect(await run('ledger archive acme.main --before 1')).toMatchObject({ code: 2 });
      expect(api.seen).toEqual([]);
    },
  );

  it('prints the reason of a rejection', async () => {
    api.answer(() =>
      problem(409, 'INVALID_STATE_TRANSITION', { detail: 'The channel acme.main is owned by case-gate.' }),
    );
    expect(await run('ledger archive acme.main --before 1 --yes')).toMatchObject({
      code: 1,
      err: expect.stringContaining('owned by case-gate'),
    });
  });
});

describe('ledger fetch', () => {
  const channel = 'acme.main';
  let folder: string;
  const salt = Buffer.alloc(32, 7);
  const record = (index: number): ArchivedRecord => ({
    network: 'acme',
    channel,
    id: `order-${index}`,
    type: 'order',
    owner: null,
    dataHash: dataHashOf(salt, { n: index }, null),
    salt: salt.toString('hex'),
    extra: null,
    transactionId: 'ab'.repeat(32),
    at: '2030-01-02T03:04:05.678Z',
    index,
    data: { n: index },
  });
  const all = Array.from({ length: 300 }, (_, index) => record(index));

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sealgate-fetch-'));
    const files = new ArchiveFiles(folder);
    const write = async (from: number, until: number) => {
      async function* lines() {
        for (const one of all.slice(from, until)) yield archivedLine(one);
      }
      await (await files.draft(channel, from, lines())).keep({ from, until });
    };
    await write(0, 256);
    await write(256, 300);
    const tree = TileTree.empty();
    await files.writeTiles(channel, [...tree.append(Buffer.concat(all.map(receiptLeaf))), ...tree.edge()]);
    const signer = noteSigner(generateNoteKey('log.example').privateKey);
    const origin = `log.example/${channel}`;
    await files.writeCheckpoint(channel, signer.sign(checkpointText({ origin, size: 300, root: tree.root() })));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const fetch = (wanted: string) => runLine(['ledger', 'fetch', channel, wanted, '--dir', folder]);

  it('prints a record with its content and a valid proof', async () => {
    const { code, out } = await fetch('order-270');
    expect(code).toBe(0);
    const { receipt, data, proof } = JSON.parse(out);
    expect(data).toEqual({ n: 270 });
    expect(receipt).not.toHaveProperty('data');
    const tree = TileTree.empty();
    tree.append(Buffer.concat(all.map(receiptLeaf)));
    const path = proof.inclusionPath.map((hash: string) => Buffer.from(hash, 'hex'));
    expect(verifyInclusion({ leafHash: receiptLeaf(receipt), index: 270, size: 300, path, root: tree.root() })).toBe(
      true,
    );
  });

  it('prints a range of records, one per line, across files', async () => {
    const { out } = await fetch('254..257');
    expect(
      out
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).id),
    ).toEqual([254, 255, 256, 257].map((index) => `order-${index}`));
  });

  it.each(['order-300', '300..400', '298..300'])('reports missing records: %s', async (wanted) => {
    const { code, out, err } = await fetch(wanted);
    expect(out.match(/order-\d+/g) ?? []).toEqual(wanted === '298..300' ? ['order-298', 'order-299'] : []);
    expect({ code, err }).toEqual({
      code: 1,
      err: `sealgate: ${folder} contains records 0 to 299 of acme.main, not all requested ones.\n`,
    });
  });

  it('reports a folder without records of the channel', async () => {
    const { code, err } = await runLine(['ledger', 'fetch', channel, '0..9', '--dir', `${folder}/elsewhere`]);
    expect({ code, err }).toEqual({
      code: 1,
      err: `sealgate: ${folder}/elsewhere contains no records of acme.main, not all requested ones.\n`,
    });
  });

  it('prints nothing that does not match its hash, and names the file', async () => {
    const [name] = readdirSync(join(folder, channel, 'records'));
    const path = join(folder, channel, 'records', name!);
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, text.replace('"data":{"n":3}', '"data":{"n":4}'));
    expect(await fetch('order-3')).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(/000000000000-000000000256\.ndjson: record 3: its content is not what was hashed/),
    });
    writeFileSync(path, text.replace('"type":"order"', '"type":"other"'));
    expect(await fetch('order-0')).toMatchObject({
      code: 1,
      err: expect.stringContaining('record 0 is not one that the checkpoint of the archive is over'),
    });
    writeFileSync(path, text);
    expect((await fetch('order-3')).code).toBe(0);
  });
});
