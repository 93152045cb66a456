import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { ArchiveFiles } from './archive-files.ts';
import { archiverOf, record } from '../testing/open-test-archive.ts';
import { openTestLedger, type TestLedger } from '../testing/open-test-ledger.ts';

let own: TestLedger;
let folder: string;
beforeAll(async () => {
  own = await openTestLedger();
  folder = mkdtempSync(join(tmpdir(), 'sealgate-archive-'));
}, 120_000);
afterAll(async () => {
  await own.close();
  rmSync(folder, { recursive: true, force: true });
});

const bytes = async () => {
  const text = `SELECT pg_total_relation_size('ledger.records_0')::int AS bytes`;
  return (await own.sql.query<{ bytes: number }>({ text }))[0]!.bytes;
};
/** Incompressible content. */
const fill = async (of: string, from: number, records: number) => {
  const text = () => `{"text":"${randomBytes(500).toString('hex')}"}`;
  const made = Array.from({ length: records }, (_, n) => record(from + n, { data: text() }));
  await own.ledger.append({ network: 'acme', channel: of, note: '', records: made });
};

it('frees space: for the table by VACUUM, for the disk by rewriting a partition; no write waits for a dump', async () => {
  const channel = 'acme.space';
  await fill('acme.other', 0, 20);
  for (let from = 0; from < 4000; from += 1000) await fill(channel, from, 1000);
  await fill('acme.other', 20, 20);
  await own.ledger.prove(channel, 'r3999');
  const full = await bytes();
  const { archiver } = archiverOf(own, new ArchiveFiles(folder), () => undefined);
  // A reader that stays open for an hour blocks neither the archive nor writes.
  await own.sql.transaction(async (dump) => {
    await dump.query({ text: 'LOCK TABLE ledger.records, ledger.ids, ledger.channels IN ACCESS SHARE MODE' });
    expect(await archiver.archive({ channel, before: 4000 }, 60_000)).toMatchObject({ archived: 3840 });
    await fill('acme.other', 40, 20);
  });
  const kept = `SELECT pg_total_relation_size('ledger.archived')::int AS bytes`;
  const [archivedTable] = await own.sql.query<{ bytes: number }>({ text: kept });
  expect(archivedTable!.bytes).toBeLessThan(3840 * 140);
  await own.sql.query({ text: 'VACUUM ledger.records_0' });
  const vacuumed = await bytes();
  // The same amount again fits in the freed space.
  for (let from = 0; from < 3000; from += 1000) await fill('acme.later', from, 1000);
  expect(await bytes()).toBeLessThan(vacuumed * 1.1);
  await own.sql.query({
    text: `DELETE FROM ledger.records WHERE channel_id = (SELECT channel_id FROM ledger.channels WHERE channel = 'acme.later')`,
  });
  // Rows that a running transaction, such as the integrator's, may still see are kept until the next time.
  await until(async () => {
    await own.sql.query({ text: 'VACUUM FULL ledger.records_0' });
    return (await bytes()) < full / 10;
  });
  expect(await own.ledger.read('acme.other', 'r59')).toMatchObject({ index: 59 });
});
