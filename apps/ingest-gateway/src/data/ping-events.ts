import { writeBehind, type Sql } from '@sealgate/storage';

export interface PingEvent {
  readonly eventId: string;
  readonly networkId: string;
  readonly keyId: string;
  readonly requestId: string;
  readonly atMs: number;
}

export interface PingEvents {
  /** Takes the event and returns at once; it is written a moment later, or dropped and counted when too many wait. */
  add(event: PingEvent): void;
  flush(): Promise<void>;
}

const MOST_WAITING = 10_000;
const FLUSH_EVERY_MS = 100;

/** Events of pings, written together off the request path. */
export function pingEvents({ sql, onDropped }: { sql: Sql; onDropped: (count: number) => void }): PingEvents {
  const behind = writeBehind<PingEvent>({
    write: (batch) => insert(sql, [...batch.values()]),
    delayMs: FLUSH_EVERY_MS,
    mostWaiting: MOST_WAITING,
    onFailure: (_error, batch) => onDropped(batch.size),
  });
  return {
    add(event) {
      if (!behind.put(event.eventId, event)) onDropped(1);
    },
    flush: behind.flush,
  };
}

async function insert(sql: Sql, batch: readonly PingEvent[]): Promise<void> {
  await sql.query({
    text: `INSERT INTO ingest.events (event_id, network_id, key_id, kind, status, types, request_id, stripped_fields, at)
           SELECT e, n, k, 'ping', 'committed', '[]', r, 0, to_timestamp(t / 1000.0)
             FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[]) p (e, n, k, r, t)
           ON CONFLICT DO NOTHING`,
    values: [
      batch.map(({ eventId }) => eventId),
      batch.map(({ networkId }) => networkId),
      batch.map(({ keyId }) => keyId),
      batch.map(({ requestId }) => requestId),
      batch.map(({ atMs }) => atMs),
    ],
  });
}
