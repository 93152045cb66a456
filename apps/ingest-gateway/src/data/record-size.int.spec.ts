import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { openTestGatewayLedger, type TestGatewayLedger } from '../testing/test-gateway-ledger.ts';

const CHANNEL = 'acme.main';
const SINGLES = 20_000;
const AT_ONCE = 200;
let at: TestGatewayLedger;

beforeAll(async () => {
  at = await openTestGatewayLedger({ integrates: true });
}, 60_000);
afterAll(() => at.close());

/** Bytes per record of each table with its indexes. Partitions count as their table. */
async function bytesARecord(): Promise<Record<string, number>> {
  for (const table of await tables()) await at.sql.query({ text: `VACUUM ${table}` });
  const rows = await at.sql.query<{ name: string; bytes: string }>({
    text: `SELECT regexp_replace(c.oid::regclass::text, '_[0-9]+$', '') AS name, sum(pg_total_relation_size(c.oid)) AS bytes
             FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace IN ('ledger'::regnamespace, 'ingest'::regnamespace)
            GROUP BY 1 HAVING sum(pg_total_relation_size(c.oid)) > 200000`,
  });
  return Object.fromEntries(rows.map(({ name, bytes }) => [name, Math.round(Number(bytes) / SINGLES)]));
}

const tables = async (): Promise<string[]> =>
  (
    await at.sql.query<{ name: string }>({
      text: `SELECT oid::regclass::text AS name FROM pg_class WHERE relkind = 'r'
              AND relnamespace IN ('ledger'::regnamespace, 'ingest'::regnamespace)`,
    })
  ).map(({ name }) => name);

it('a record of 127 bytes that is sent alone under an Idempotency-Key takes about 930 bytes', async () => {
  const answer = at.newProcess();
  const write = (n: number) => {
    const data = JSON.stringify({ n, text: 'x'.repeat(111 - String(n).length) });
    expect(data).toHaveLength(127);
    return answer(at.order(data, { idempotencyKey: `order-${n}` }));
  };
  for (let from = 0; from < SINGLES; from += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => write(from + n)));
  await until(async () => ((await at.ledger.checkpoint(CHANNEL)) ?? '').includes(`\n${SINGLES}\n`));
  const bytes = await bytesARecord();
  // An index of random keys is between two thirds and three quarters full.
  const most = {
    'ledger.records': 385,
    'ledger.ids': 98,
    'ledger.claims': 218,
    'ingest.writes': 196,
    'ledger.tiles': 65,
  };
  expect(Object.keys(bytes).sort()).toEqual(Object.keys(most).sort());
  for (const [table, limit] of Object.entries(most)) expect([table, bytes[table]! <= limit]).toEqual([table, true]);
  // 931 was seen: how full those indexes are differs from run to run.
  expect(Object.values(bytes).reduce((sum, of) => sum + of)).toBeLessThanOrEqual(940);
}, 180_000);
