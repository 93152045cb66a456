import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { embeddedLedger, type EmbeddedLedger } from '@sealgate/ledger-embedded';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import { openDatabase } from '@sealgate/storage';
import { BEGINNING } from '../domain/event-cursor.ts';
import type { EventSource } from '../domain/event-source.ts';
import { describeEventSource } from '../testing/describe-event-source.ts';
import { asset } from '../testing/fabric-mapping.ts';
import { anyMapping, openTestDatabase, type TestDatabase } from '../testing/open-test-peer.ts';
import { embeddedAssets } from './embedded-assets.ts';
import { embeddedEvents } from './embedded-events.ts';

const CHANNEL = 'acme.main';
const NEVER = new AbortController().signal;

let database: TestDatabase;
let ledger: EmbeddedLedger;
let source: EventSource;
const openSource = () => embeddedEvents({ ledger, mappings: anyMapping, everyMs: 20, onFailure: () => undefined });

beforeAll(async () => {
  database = await openTestDatabase();
  ledger = embeddedLedger({ sql: database.sql, origin: 'ledger.test', now: Date.now });
  source = openSource();
}, 60_000);
afterAll(() => database.close());

it('begins in a channel without records, which nobody has to read', async () => {
  expect(await source.newest(CHANNEL)).toEqual(BEGINNING);
  expect(await source.read(CHANNEL, BEGINNING, NEVER)).toEqual({ events: [], position: BEGINNING });
});

describeEventSource('the embedded ledger', () => ({
  channel: CHANNEL,
  source,
  restarted: openSource,
  async write(ids) {
    const assets = ids.map((id) => asset(id, 'asset.x'));
    const [target] = anyMapping.targets;
    const outcome = await embeddedAssets({ ledger, sql: database.sql, settleWithinMs: 100 }).write(target!, assets);
    if (outcome.outcome !== 'committed') throw new Error(outcome.outcome);
    const { transactionId, blockNumber } = outcome.transactions[0]!;
    return { transactionId, blockNumber };
  },
}));

it('takes no cursor from beyond the end: the ledger was restored from an older copy', async () => {
  const newest = await source.newest(CHANNEL);
  expect(source.reaches(newest, newest)).toBe(true);
  expect(source.reaches(newest, { block: newest.block - 2, index: 2 })).toBe(true);
  expect(source.reaches(newest, { block: newest.block, index: 1 })).toBe(false);
});

it('rejects while the database is away, and does not say that there is nothing', async () => {
  const url = 'postgres://nobody@127.0.0.1:1/nothing';
  const limits = { applicationName: 'test', maxConnections: 3, connectTimeoutMs: 500, deadlineMs: 500 };
  const sql = openDatabase({ url, ...limits });
  const away = embeddedLedger({ sql, origin: 'ledger.test', now: Date.now });
  const from = embeddedEvents({ ledger: away, mappings: anyMapping, everyMs: 20, onFailure: () => undefined });
  await expect(from.newest(CHANNEL)).rejects.toBeInstanceOf(LedgerUnavailableError);
  await expect(from.read(CHANNEL, BEGINNING, NEVER)).rejects.toBeInstanceOf(LedgerUnavailableError);
  await sql.close();
});
