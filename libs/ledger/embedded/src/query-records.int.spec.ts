import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import { indexTypes } from './query-records.ts';
import { openTestLedger, type TestLedger } from './testing/open-test-ledger.ts';

let test: TestLedger;
beforeAll(async () => {
  test = await openTestLedger();
});
afterAll(() => test.close());

const CHANNEL = 'acme.many';
const RECORDS = 25_000;

it('indexes the records of a channel by type in calls of limited time, each of which continues the last', async () => {
  await test.ledger.append({
    network: 'acme',
    channel: CHANNEL,
    note: '{}',
    records: [{ id: 'r0', type: 'asset', owner: null, data: '{}', extra: null }],
  });
  const copies = `INSERT INTO ledger.records (channel_id, idx, id, type, leaf_hash, transaction_id, at_ms)
    SELECT r.channel_id, g, 'r' || g, r.type, r.leaf_hash, r.transaction_id, r.at_ms
      FROM ledger.records r JOIN ledger.channels c USING (channel_id), generate_series(1, ${RECORDS - 1}) g
     WHERE c.channel = '${CHANNEL}'`;
  await test.sql.query({ text: copies });
  await test.sql.query({ text: `UPDATE ledger.channels SET size = ${RECORDS} WHERE channel = '${CHANNEL}'` });
  const indexed = async () => {
    const text = `SELECT count(*)::int AS count FROM ledger.record_types t JOIN ledger.channels c USING (channel_id)
                   WHERE c.channel = '${CHANNEL}'`;
    return (await test.sql.query<{ count: number }>({ text }))[0]!.count;
  };
  // A second passes with each statement: a call may begin two of them.
  let nowMs = 0;
  const index = () => indexTypes(test.sql, CHANNEL, () => (nowMs += 1000) - 1000);
  for (const reached of [5_000, 10_000, 15_000, 20_000]) {
    await expect(index()).rejects.toThrow(LedgerUnavailableError);
    expect(await indexed()).toBe(reached);
  }
  await index();
  expect(await indexed()).toBe(RECORDS);
});
