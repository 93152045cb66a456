import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Integrator, savedCheckpoints, type EmbeddedLedger } from '@sealgate/ledger-embedded';
import { generateNoteKey, noteSigner, noteVerifier } from '@sealgate/merkle';
import { DatabaseUnavailableError, type Database } from '@sealgate/storage';
import { copyDatabase, until } from '@sealgate/testing';
import { eventIdOf, openTestEvents, record, type TestEvents } from '../testing/test-events.ts';
import { writeLateEvent } from './write-events.ts';

const CHANNEL = 'acme.main';
let test: TestEvents;
let folder: string;
let integrator: Integrator;
let ledger: EmbeddedLedger;

beforeAll(async () => {
  test = await openTestEvents();
  folder = mkdtempSync(join(tmpdir(), 'sealgate-events-'));
  const key = generateNoteKey('ledger.test');
  const verifier = noteVerifier(key.verifierKey);
  integrator = new Integrator({
    sql: test.sql,
    signer: noteSigner(key.privateKey),
    verifier,
    origin: 'ledger.test',
    leavesAtOnce: 1000,
    deadlineMs: 10_000,
    saved: savedCheckpoints(folder, Date.now),
    everyMs: 20,
    compareEveryMs: 200,
    now: Date.now,
  });
  ledger = test.openLedger({ integrator, verifier, now: Date.now });
}, 60_000);
afterAll(async () => {
  await integrator.stop();
  await ledger.drain();
  await test.close();
  rmSync(folder, { recursive: true, force: true });
});

const write = async (...ids: string[]) => {
  const unit = test.unitOf({ records: ids.map((id) => record(id)) });
  return { unit, result: await ledger.append(unit) };
};

/** Declares the records in `lost` permanently lost; the channel continues in its next epoch. */
async function loseForGood(lost: string): Promise<void> {
  await integrator.catchUp(CHANNEL, 100);
  const older = await copyDatabase(test.url);
  await write(lost);
  await integrator.catchUp(CHANNEL, 100);
  await older();
  await integrator.compare(CHANNEL);
  const { checkpoint } = (await ledger.loss(CHANNEL)).lost.at(-1)!;
  const declared = { reason: 'Restored', checkpoint, actor: 'admin:1', requestId: 'req_1' };
  expect(await ledger.declareLoss(CHANNEL, declared)).toBe(true);
  // As if the loss had been declared long ago.
  await test.sql.query({ text: `UPDATE ledger.epochs SET declared_at = declared_at - interval '1 minute'` });
  await integrator.start();
  await until(async () => (await ledger.loss(CHANNEL)).status === 'whole');
  await ledger.epochs.read();
}

it('events of writes into an epoch are listed with their records, late events too', async () => {
  const before = await write('a', 'b');
  await loseForGood('c');
  const again = await write('c', 'd');
  expect(again.result).toMatchObject({ outcome: 'written', records: [{ index: 1, epoch: 1 }, { index: 2 }] });
  // Its record existed before the loss, with an index of the old log.
  const mixed = await write('a', 'e');
  expect(mixed.result).toMatchObject({
    records: [
      { index: 0, existing: true },
      { index: 3, epoch: 1 },
    ],
  });

  // The answer of this call was lost. The late event has its records.
  let lost = 1;
  const query: Database['query'] = async (statement, options) => {
    const rows = await test.sql.query(statement, options);
    if (statement.text.includes('ingest.append(') && lost-- > 0)
      throw new DatabaseUnavailableError('cut', { sent: true });
    return rows as never;
  };
  const cut = test.unitOf({ records: [record('f'), record('g')] });
  const late = await test.openLedger({ sql: { ...test.sql, query } }).append(cut);
  expect(late).toMatchObject({ outcome: 'written', records: [{ index: 4, epoch: 1 }, { index: 5 }] });
  await writeLateEvent(test.sql, cut, late, test.clock.nowMs);
  // The sender's own retry of this one was written first, so no row has its records.
  const retried = test.unitOf({ records: [record('f'), record('g')] });
  await writeLateEvent(test.sql, retried, late, test.clock.nowMs);

  const found = await test.events.list({ networkId: 'acme' }, { limit: 10 });
  expect(found.map(({ eventId, status, records }) => [eventId, status, records.map(({ id }) => id)])).toEqual([
    [eventIdOf(retried), 'committed', ['f', 'g']],
    [eventIdOf(cut), 'committed', ['f', 'g']],
    [eventIdOf(mixed.unit), 'committed', ['a', 'e']],
    [eventIdOf(again.unit), 'committed', ['c', 'd']],
    [eventIdOf(before.unit), 'committed', ['a', 'b']],
  ]);
  for (const { eventId, records, transactionIds } of found) {
    expect(await test.events.find(eventId)).toMatchObject({ records });
    for (const { id, channel, transactionId } of records) {
      expect(await ledger.read(channel, id)).toMatchObject({ transactionId });
      expect(transactionIds).toContain(transactionId);
    }
  }
}, 60_000);
