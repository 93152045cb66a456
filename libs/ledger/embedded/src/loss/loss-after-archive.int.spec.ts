import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from '@jest/globals';
import { copyDatabase, until } from '@sealgate/testing';
import { receiptLeaf } from '@sealgate/envelope';
import { ArchiveFiles } from '../archive/archive-files.ts';
import type { EmbeddedLedger } from '../embedded-ledger.ts';
import { E1, eachWithLostChannel, LOST, type LostChannel } from '../testing/lost-channel.ts';
import { archiverOf } from '../testing/open-test-archive.ts';
import type { TestLedger } from '../testing/open-test-ledger.ts';

let test: TestLedger;
let at: LostChannel;
let folder: string;
let ledger: EmbeddedLedger;
eachWithLostChannel((parts) => {
  ({ test, at } = parts);
  folder = mkdtempSync(join(tmpdir(), 'sealgate-archive-'));
  ledger = archiverOf(test, new ArchiveFiles(folder), () => undefined).ledger;
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const idsFrom = (from: number, count: number) => Array.from({ length: count }, (_, n) => `r${from + n}`);
const writtenAt = async (id: string) => (await ledger.prove(LOST, id))!.receipt.at;
const keptAt = async () => {
  const text = 'SELECT kept_at_ms FROM ledger.epochs($1)';
  const rows = await test.sql.query<{ kept_at_ms: string }>({ text, values: [[LOST]] });
  return rows.map(({ kept_at_ms: atMs }) => new Date(Number(atMs)).toISOString());
};

/** 512 records, all signed and archived; the last survivors once `later` are lost. */
async function loseWhatCameAfterTheArchive(later: readonly string[]): Promise<void> {
  await at.write(...idsFrom(0, 300));
  await at.write(...idsFrom(300, 212));
  await at.sign();
  expect(await ledger.archiveRecords({ channel: LOST, before: 512 })).toMatchObject({ archived: 512 });
  const older = await copyDatabase(test.url);
  await at.write(...later);
  await at.sign();
  await older();
  await test.integrator.compare(LOST);
}

it('reports the time of the last surviving record even if it is archived', async () => {
  await loseWhatCameAfterTheArchive(['lost']);
  const last = await writtenAt('r511');
  expect(await ledger.loss(LOST)).toMatchObject({ status: 'lost', lost: [{ lostFrom: 512 }], sharedAt: last });
  await at.recover();
  expect(await keptAt()).toEqual([last]);
  await at.write('again');
  await at.sign(E1);
  expect(await ledger.audit(LOST)).toMatchObject({ ok: true, size: 513 });
}, 60_000);

it('begins where the archive ends, even if no kept checkpoint is that old: the archive has its own', async () => {
  const elsewhere = test.reopen({}, join(folder, 'elsewhere')).integrator;
  await at.write(...idsFrom(0, 600));
  await elsewhere.catchUp(LOST, 1000);
  const files = new ArchiveFiles(folder);
  const signing = archiverOf({ ...test, integrator: elsewhere }, files, () => undefined);
  expect(await signing.ledger.archiveRecords({ channel: LOST, before: 512 })).toMatchObject({ archived: 512 });
  const last = await writtenAt('r511');
  const older = await copyDatabase(test.url);
  await at.write('lost');
  await at.sign();
  await older();
  const { integrator } = test.reopen({}, test.checkpointFolder, files);
  try {
    await integrator.compare(LOST);
    expect(await ledger.loss(LOST)).toMatchObject({ status: 'lost', lost: [{ lostFrom: 512 }], sharedAt: last });
    // Another one, which cannot read the archive, uses the stored result.
    await test.integrator.compare(LOST);
    expect(await ledger.loss(LOST)).toMatchObject({ lost: [{ lostFrom: 512 }] });
    expect(await at.declare()).toBe(true);
    await at.letTimePass();
    await integrator.start();
    await until(async () => (await ledger.loss(LOST)).status === 'whole');
    await test.ledger.epochs.read();
    expect(await keptAt()).toEqual([last]);
    expect(await at.write('again')).toMatchObject({ records: [{ index: 89, epoch: 1 }] });
    await integrator.catchUp(E1, 1000);
    expect(await ledger.audit(LOST)).toMatchObject({ ok: true, size: 601 });
    const { receipt, proof } = (await ledger.prove(LOST, 'r300'))!;
    expect(proof).toMatchObject({ index: 300, treeSize: 512 });
    at.expectProved(proof, receiptLeaf(receipt));
  } finally {
    await integrator.stop();
  }
}, 60_000);
