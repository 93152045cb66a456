import { randomPool, timeOrderedIds } from '@sealgate/auth';
import { embeddedLedger, type EmbeddedLedgerOptions } from '@sealgate/ledger-embedded';
import type { NewRecord, UnitEvent } from '@sealgate/ledger-port';
import { migrate, openDatabase } from '@sealgate/storage';
import { preparedPostgres } from '@sealgate/testing';
import { eventsStore } from '../data/events-store.ts';
import type { EventFilter } from '../domain/read-events.ts';
import { writeNote } from '../domain/write-records.ts';
import { migrations } from '../ingest-migrations.ts';
import { APPEND_FUNCTIONS } from '../open-ledger.ts';

export const KEY = 'key_0190b6a7c0de7000800000000000000a';
export const START_MS = Date.UTC(2026, 5, 1);

export const record = (id: string, n = 1, type = 'asset'): NewRecord => ({
  id,
  type,
  owner: null,
  data: `{"n":${n}}`,
  extra: null,
});

interface Write {
  readonly network?: string;
  readonly channel?: string;
  readonly records: readonly NewRecord[];
  readonly units?: number;
  readonly requestId?: string;
  readonly eventId?: string;
  readonly deliveryId?: string;
}

export const eventIdOf = ({ event }: { event: UnitEvent }) => event.eventId;

export type TestEvents = Awaited<ReturnType<typeof openTestEvents>>;

/** A migrated database of the gateway with the networks acme, demo and quiet, and a clock that each unit advances. */
export async function openTestEvents() {
  const postgres = await preparedPostgres('ingest', (url) => migrate({ url, sets: migrations }));
  const options = { applicationName: 'test', maxConnections: 4, connectTimeoutMs: 2000, deadlineMs: 20_000 };
  const sql = openDatabase({ ...options, url: postgres.url });
  const clock = { nowMs: START_MS };
  const now = () => clock.nowMs;
  const { placesOf } = embeddedLedger({ sql, origin: 'ledger.test', now }).exploration;
  const events = eventsStore(sql, undefined, placesOf);
  const newId = timeOrderedIds(now, randomPool());
  await sql.query({
    text: `INSERT INTO ingest.networks (network_id, channels) VALUES ('acme', '{main}'), ('demo', '{main}'), ('quiet', '{main}')`,
  });
  /** A unit of a request, one second after the previous one. */
  const unitOf = (write: Write) => {
    const { network = 'acme', channel = 'main', records, units = 1, requestId = newId('req_'), eventId } = write;
    const { deliveryId } = write;
    clock.nowMs += eventId === undefined ? 1000 : 0;
    const types = [...new Set(records.map(({ type }) => type))];
    const of = { keyId: KEY, requestId, types, deliveryId };
    const event = { eventId: eventId ?? newId('evt_'), units, strippedFields: 3, ...of };
    return { network, channel: `${network}.${channel}`, note: writeNote(event), event, records };
  };
  return {
    url: postgres.url,
    sql,
    events,
    clock,
    newId,
    unitOf,
    /** The ledger as another process sees it: with its own queue. */
    openLedger: (more: Partial<EmbeddedLedgerOptions> = {}) =>
      embeddedLedger({ sql, origin: 'ledger.test', appendFunctions: APPEND_FUNCTIONS, now, ...more }),
    list: async (filter: EventFilter = {}, limit = 50, after?: string) =>
      (await events.list(filter, { limit, after })).map(({ eventId }) => eventId),
    rowsIn: async (table: string) => (await sql.query({ text: `SELECT 1 FROM ingest.${table}` })).length,
    async close() {
      await sql.close();
      await postgres.stop();
    },
  };
}
