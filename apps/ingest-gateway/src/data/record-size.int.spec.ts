import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { randomPool, ServerSecrets } from '@sealgate/auth';
import { InFlight } from '@sealgate/idempotency';
import { openEmbeddedLedger, type OpenedEmbeddedLedger } from '@sealgate/ledger-embedded';
import { generateNoteKey } from '@sealgate/merkle';
import { createLog, Metrics } from '@sealgate/observability';
import { migrate, openDatabase, type Database } from '@sealgate/storage';
import { throwawayPostgres, until, type ThrowawayPostgres } from '@sealgate/testing';
import { answerWrite } from '../domain/answer-write.ts';
import type { IngestCaller } from '../domain/caller.ts';
import { timeOrderedIds } from '../domain/record-ids.ts';
import { migrations } from '../ingest-migrations.ts';
import { APPEND_FUNCTIONS } from '../open-ledger.ts';

const CHANNEL = 'acme.main';
const SINGLES = 20_000;
const AT_ONCE = 200;
const folder = mkdtempSync(join(tmpdir(), 'sealgate-size-'));
let postgres: ThrowawayPostgres;
let sql: Database;
let ledger: OpenedEmbeddedLedger;
const owned: (() => void | Promise<void>)[] = [];

beforeAll(async () => {
  postgres = await throwawayPostgres();
  await migrate({ url: postgres.url, sets: migrations });
  const options = { applicationName: 'test', maxConnections: 4, connectTimeoutMs: 2000, deadlineMs: 60_000 };
  sql = openDatabase({ ...options, url: postgres.url });
  ledger = await openEmbeddedLedger({
    config: {
      ledgerOrigin: 'ledger.test',
      ledgerIntegrator: true,
      ledgerSigningKey: generateNoteKey('ledger.test').privateKey,
      ledgerVerifierKeys: [],
      checkpointDir: folder,
    },
    sql,
    now: Date.now,
    log: createLog({ service: 'test', level: 'error', stream: new PassThrough(), now: Date.now }),
    metrics: new Metrics('test', { processMetrics: false }),
    appendFunctions: APPEND_FUNCTIONS,
    own: (_name, release) => owned.push(release),
  });
}, 60_000);
afterAll(async () => {
  for (const release of owned.reverse()) await release();
  await sql.close();
  await postgres.stop();
  rmSync(folder, { recursive: true });
});

/** Bytes of each table with its indexes, divided by the records. Partitions count as their table. */
async function bytesARecord(): Promise<Record<string, number>> {
  for (const table of await tables()) await sql.query({ text: `VACUUM ${table}` });
  const rows = await sql.query<{ name: string; bytes: string }>({
    text: `SELECT regexp_replace(c.oid::regclass::text, '_[0-9]+$', '') AS name, sum(pg_total_relation_size(c.oid)) AS bytes
             FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace IN ('ledger'::regnamespace, 'ingest'::regnamespace)
            GROUP BY 1 HAVING sum(pg_total_relation_size(c.oid)) > 200000`,
  });
  return Object.fromEntries(rows.map(({ name, bytes }) => [name, Math.round(Number(bytes) / SINGLES)]));
}

const tables = async (): Promise<string[]> =>
  (
    await sql.query<{ name: string }>({
      text: `SELECT oid::regclass::text AS name FROM pg_class WHERE relkind = 'r'
              AND relnamespace IN ('ledger'::regnamespace, 'ingest'::regnamespace)`,
    })
  ).map(({ name }) => name);

it('a record of 127 bytes that is sent alone under an Idempotency-Key takes at most 900 bytes', async () => {
  const secrets = ServerSecrets.parse(`s1:${'s'.repeat(32)}`);
  const freshIds = timeOrderedIds(Date.now, randomPool());
  const newId = (prefix: string) => prefix + freshIds(0).replaceAll('-', '');
  const answer = answerWrite({
    ledger,
    inFlight: new InFlight(),
    fingerprints: secrets.derive('ingest fingerprints'),
    recordIds: secrets.derive('ingest record ids'),
    freshIds,
    newEventId: () => newId('evt_'),
    onAnswer: () => undefined,
  });
  const caller: IngestCaller = {
    networkId: 'acme',
    familyId: newId('key_'),
    keyId: newId('key_'),
    channels: ['main'],
    grants: {} as IngestCaller['grants'],
    networkLimits: undefined,
    guard: { kind: 'key', id: 'key', version: '1' },
  };
  const write = (n: number) => {
    const data = JSON.stringify({ n, text: 'x'.repeat(111 - String(n).length) });
    expect(data).toHaveLength(127);
    return answer({
      caller,
      requestId: newId('req_'),
      records: [{ id: undefined, type: 'asset', owner: null, data, extra: null, targetChannels: undefined }],
      strippedFields: 0,
      idempotencyKeys: [`order-${n}`],
      path: '/acme',
      rawBody: Buffer.from(data),
      guard: undefined,
      charge: async () => undefined,
      confirmCaller: async () => undefined,
    });
  };
  for (let from = 0; from < SINGLES; from += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => write(from + n)));
  await until(async () => ((await ledger.checkpoint(CHANNEL)) ?? '').includes(`\n${SINGLES}\n`));
  const bytes = await bytesARecord();
  // An index of random keys is between two thirds and three quarters full.
  const most = {
    'ledger.records': 385,
    'ledger.compact_ids': 98,
    'ledger.compact_claims': 218,
    'ingest.writes': 165,
    'ledger.tiles': 65,
  };
  expect(Object.keys(bytes).sort()).toEqual(Object.keys(most).sort());
  for (const [table, limit] of Object.entries(most)) expect([table, bytes[table]! <= limit]).toEqual([table, true]);
  expect(Object.values(bytes).reduce((sum, of) => sum + of)).toBeLessThanOrEqual(900);
}, 180_000);
