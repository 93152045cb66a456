import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { generateNoteKey, noteSigner, noteVerifier, parseCheckpoint } from '@sealgate/merkle';
import { ArchiveFiles } from './archive-files.ts';
import {
  eachWithArchive,
  archiverOf,
  FILE,
  IN_ORDER,
  OURS,
  record,
  SIZE,
  type TestArchive,
} from '../testing/open-test-archive.ts';
import { ORIGIN, type TestLedger } from '../testing/open-test-ledger.ts';

let test: TestLedger;
let of: TestArchive;
eachWithArchive((parts) => ({ test, of } = parts));

describe('archived records', () => {
  it('are read, proved, listed and audited as before, but are no longer in the table', async () => {
    await of.without.query({ channel: of.channel, type: 'order', afterId: '', limit: 1 });
    const before = {
      records: await Promise.all([0, 9, 255, 256, 511, 512].map((n) => of.without.read(of.channel, `r${n}`))),
      proof: await of.without.prove(of.channel, 'r300'),
      page: await of.without.query({ channel: of.channel, type: 'order', afterId: 'r2', limit: 50 }),
      bounded: await of.without.queryPage({
        channel: of.channel,
        type: 'asset',
        afterId: '',
        limit: 500,
        maxBytes: 1000,
      }),
    };
    const progress = await of.ledger.archiveRecords({ channel: of.channel, before: 600 });
    expect(progress).toEqual({ channel: of.channel, size: SIZE, archived: 512, until: 512 });
    expect(of.files()).toEqual([FILE]);
    expect(await of.count('records')).toBe(SIZE - 512);
    expect(await of.count('known_ids')).toBe(SIZE);
    const after = {
      records: await Promise.all([0, 9, 255, 256, 511, 512].map((n) => of.ledger.read(of.channel, `r${n}`))),
      proof: await of.ledger.prove(of.channel, 'r300'),
      page: await of.ledger.query({ channel: of.channel, type: 'order', afterId: 'r2', limit: 50 }),
      bounded: await of.ledger.queryPage({
        channel: of.channel,
        type: 'asset',
        afterId: '',
        limit: 500,
        maxBytes: 1000,
      }),
    };
    expect(after).toEqual(before);
    expect(before.records[1]).toMatchObject({ erased: true, data: null });
    expect(await of.ledger.audit(of.channel)).toEqual(IN_ORDER);
    expect(await of.ledger.read(of.channel, 'never')).toBeUndefined();
  });

  it('are listed by type even if the channel was never listed before', async () => {
    await of.ledger.archiveRecords({ channel: of.channel, before: 512 });
    const all = await of.ledger.query({ channel: of.channel, type: 'order', afterId: '', limit: 1000 });
    expect(all).toHaveLength(234);
    expect(await of.ledger.audit(of.channel)).toEqual(IN_ORDER);
  });

  it('the channel keeps accepting, signing and archiving records', async () => {
    await of.ledger.archiveRecords({ channel: of.channel, before: 256 });
    await of.ledger.append(of.unit(Array.from({ length: 400 }, (_, n) => record(SIZE + n))));
    await of.ledger.prove(of.channel, `r${SIZE + 399}`);
    expect(await of.ledger.archiveRecords({ channel: of.channel, before: 10_000 })).toMatchObject({
      archived: 1024,
      until: 1024,
    });
    expect(of.files()).toEqual(['000000000000-000000000256.ndjson', '000000000256-000000001024.ndjson']);
    const note = readFileSync(join(of.folder, of.channel, 'checkpoint'), 'utf8');
    expect(noteVerifier(test.verifierKey).verify(note)).toBeDefined();
    expect(parseCheckpoint(note)).toMatchObject({ origin: `${ORIGIN}/${of.channel}`, size: 1024 });
    expect(await of.ledger.audit(of.channel)).toMatchObject({ ok: true, size: SIZE + 400 });
    expect(await of.ledger.prove(of.channel, 'r900')).toMatchObject({ receipt: { index: 900 } });
  });

  it('are selected by age as well', async () => {
    const [row] = await test.sql.query<{ at: string }>({
      text: `SELECT at_ms AS at FROM ledger.records WHERE channel_id = ${OURS} AND idx = 600`,
      values: [of.channel],
    });
    expect(
      await of.ledger.archiveRecords({ channel: of.channel, olderThanMs: Number(row!.at) - 60_000 }),
    ).toMatchObject({
      archived: 0,
    });
    expect(
      await of.ledger.archiveRecords({ channel: of.channel, olderThanMs: Number(row!.at) + 60_000 }),
    ).toMatchObject({
      archived: 512,
    });
  });

  it('cannot be read without the files: the answer is never "not found", and never a guess', async () => {
    await of.without.query({ channel: of.channel, type: 'order', afterId: '', limit: 1 });
    await of.ledger.archiveRecords({ channel: of.channel, before: 512 });
    const refusal = {
      name: 'LedgerArchivedError',
      message: expect.stringContaining(`of channel ${of.channel} is in an archive`),
    };
    await expect(of.without.read(of.channel, 'r4')).rejects.toMatchObject(refusal);
    await expect(of.without.prove(of.channel, 'r4')).rejects.toMatchObject(refusal);
    await expect(of.without.query({ channel: of.channel, type: 'order', afterId: '', limit: 5 })).rejects.toMatchObject(
      refusal,
    );
    expect(await of.without.prove(of.channel, 'r4', () => false)).toBeUndefined();
    expect(await of.without.audit(of.channel)).toMatchObject({
      ok: false,
      problem: expect.stringContaining('LEDGER_ARCHIVE_DIR'),
    });
    expect(await of.without.read(of.channel, 'r600')).toMatchObject({ data: { n: 600 } });
  });
});

it('the archive is signed again with the current key', async () => {
  await of.ledger.archiveRecords({ channel: of.channel, before: 256 });
  const { privateKey, verifierKey } = generateNoteKey(ORIGIN);
  const files = new ArchiveFiles(of.folder);
  const { archiver } = archiverOf({ ...test, signer: noteSigner(privateKey) }, files, (error) =>
    of.problems.push(error),
  );
  rmSync(join(of.folder, of.channel, 'checkpoint'));
  expect(await archiver.archive({ channel: of.channel, before: 0 }, 1000)).toMatchObject({ archived: 256, until: 256 });
  const note = await files.checkpoint(of.channel);
  expect(noteVerifier(verifierKey).verify(note)).toBeDefined();
  expect(parseCheckpoint(note)).toMatchObject({ origin: `${ORIGIN}/${of.channel}`, size: 256 });
});

describe('ids of archived records stay taken', () => {
  beforeEach(async () => {
    await of.ledger.archiveRecords({ channel: of.channel, before: 512 });
  });

  it('the same content returns the first receipt, with its index, transaction and leaf', async () => {
    const proof = await of.ledger.prove(of.channel, 'r5');
    const again = await of.without.append(of.unit([record(5), record(600)]));
    expect(again).toMatchObject({
      outcome: 'existing',
      records: [
        {
          id: 'r5',
          index: 5,
          leafHash: proof!.proof.leafHash,
          transactionId: proof!.receipt.transactionId,
          existing: true,
        },
        { id: 'r600', index: 600, existing: true },
      ],
    });
    expect(await of.without.findConflict(of.unit([record(5)]))).toBeUndefined();
  });

  it.each([
    ['data', { data: '{"n":6}' }],
    ['type', { type: 'other' }],
    ['owner', { owner: 'me' }],
    ['extra', { extra: null }],
  ])('other content (%s) is a conflict', async (_, more) => {
    expect(await of.without.append(of.unit([record(5, more)]))).toEqual({ outcome: 'conflict', id: 'r5' });
    expect(await of.without.findConflict(of.unit([record(4), record(5, more)]))).toBe('r5');
  });

  it('known and new records mix in one unit', async () => {
    const mixed = await of.without.append(of.unit([record(8), record(2000)]));
    expect(mixed).toMatchObject({
      outcome: 'written',
      records: [
        { index: 8, existing: true },
        { index: SIZE, existing: false },
      ],
    });
  });

  it('a claim is replayed with its receipts', async () => {
    const again = await of.without.append(
      of.unit(
        Array.from({ length: 600 }, (_, n) => record(n)),
        of.batchClaim,
      ),
    );
    expect(again).toMatchObject({ outcome: 'replayed', note: '{"eventId":"evt"}' });
    if (!('records' in again)) throw new Error('A replay has receipts.');
    const { records } = again;
    expect(records.map(({ id, index }) => `${id} ${index}`)).toEqual(
      Array.from({ length: 600 }, (_, n) => `r${n} ${n}`),
    );
    expect(records[300]!.leafHash).toBe((await of.ledger.prove(of.channel, 'r300'))!.proof.leafHash);
  });

  it('receipts are found by index, and ids are held', async () => {
    const text = 'SELECT idx::int, id FROM ledger.receipts($1, $2) ORDER BY idx';
    expect(await test.sql.query({ text, values: [of.channel, [511, 3, 512, 3]] })).toEqual([
      { idx: 3, id: 'r3' },
      { idx: 511, id: 'r511' },
      { idx: 512, id: 'r512' },
    ]);
  });
});

describe('an erasure after archiving', () => {
  beforeEach(async () => {
    await of.ledger.archiveRecords({ channel: of.channel, before: 512 });
  });

  it('removes the content from file and database; the proof stays valid, the id taken', async () => {
    const before = await of.ledger.prove(of.channel, 'r5');
    expect(of.text()).toContain('"data":{"n":5},');
    expect(await of.ledger.erase(of.channel, 'r5', 'asked for', { actor: 'admin:1', requestId: 'req_1' })).toBe(true);
    expect(of.text()).not.toContain('"data":{"n":5},');
    expect(of.files()).toEqual([FILE]);
    expect(await of.ledger.read(of.channel, 'r5')).toMatchObject({ erased: true, data: null, extra: null });
    const after = await of.ledger.prove(of.channel, 'r5');
    expect(after).toEqual({ ...before, receipt: { ...before!.receipt, salt: null, extra: null } });
    for (const content of [record(5), record(5, { data: '{"n":6}' })]) {
      expect(await of.without.append(of.unit([content]))).toEqual({ outcome: 'conflict', id: 'r5' });
      expect(await of.without.findConflict(of.unit([content]))).toBe('r5');
    }
    expect(await of.ledger.audit(of.channel)).toEqual(IN_ORDER);
    expect(await of.ledger.erase(of.channel, 'r5', 'again')).toBe(true);
    expect(await of.count('erasures')).toBe(2);
    expect(await of.count('unwritten_erasures')).toBe(0);
    expect(of.problems).toEqual([]);
  });

  it('by a process without the files takes effect at once, and is written by the process that has them', async () => {
    await of.without.erase(of.channel, 'r5', 'asked for');
    expect(await of.ledger.read(of.channel, 'r5')).toMatchObject({ erased: true, data: null });
    expect(await of.ledger.audit(of.channel)).toMatchObject({
      ok: false,
      firstBadRecordId: 'r5',
      problem: expect.stringContaining('its content is in the file still'),
    });
    await of.archiver.writeErasures();
    expect(of.text()).not.toContain('"data":{"n":5},');
    expect(await of.ledger.audit(of.channel)).toEqual(IN_ORDER);
  });

  it('that cannot be written is reported, stays pending and is written later', async () => {
    const path = join(of.folder, of.channel, 'records', FILE);
    const whole = readFileSync(path);
    rmSync(path);
    await of.ledger.erase(of.channel, 'r5', 'asked for');
    expect(String(of.problems[0])).toContain('ENOENT');
    expect([await of.count('unwritten_erasures'), of.archiver.unwritten]).toEqual([1, 1]);
    writeFileSync(path, whole);
    await of.archiver.writeErasures();
    expect(of.archiver.unwritten).toBe(0);
    expect(of.text()).not.toContain('"data":{"n":5},');
    expect(await of.count('unwritten_erasures')).toBe(0);
  });

  it('is repeated in a file that was restored from a copy', async () => {
    const path = join(of.folder, of.channel, 'records', FILE);
    const copy = readFileSync(path);
    await of.ledger.erase(of.channel, 'r5', 'asked for');
    writeFileSync(path, copy);
    expect(await of.ledger.audit(of.channel)).toMatchObject({ ok: false, firstBadRecordId: 'r5' });
    await of.ledger.erase(of.channel, 'r5', 'again');
    expect(await of.ledger.audit(of.channel)).toEqual(IN_ORDER);
  });
});
