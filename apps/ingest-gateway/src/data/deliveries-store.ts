import type { Sql } from '@sealgate/storage';
import type { EventStore } from '../domain/read-events.ts';
import type { RejectedDelivery } from '../domain/take-delivery.ts';

/** An event of a source, or deliveries of one minute that left none. */
export interface ListedDelivery {
  /** Where it stands in the list: higher is newer. */
  readonly position: string;
  readonly at: Date;
  readonly outcome: 'written' | 'conflict' | 'unknown' | 'replayed' | 'refused';
  /** Of refusals. */
  readonly code: string | null;
  readonly deliveries: number;
  readonly requestId: string;
  readonly eventId: string | null;
  readonly types: readonly string[];
  readonly records: readonly { id: string; channel: string; transactionId: string }[];
}

export interface DeliveriesStore {
  /** Newest first, behind the position `before`. */
  list(sourceId: string, page: { limit: number; before?: string }): Promise<ListedDelivery[]>;
  /** Writes the event of a delivery that was refused for what is there, unless the ledger has. */
  recordRejected(event: RejectedDelivery): Promise<void>;
}

interface CountRow {
  position: string;
  outcome: 'replayed' | 'refused';
  code: string | null;
  deliveries: string;
  request_id: string;
  last_at: Date;
}

const OUTCOMES = { committed: 'written', rejected: 'conflict', unknown: 'unknown' } as const;

/** What became of the deliveries of a source: its events, and the counts of what left none. */
export function deliveriesStore(
  sql: Sql,
  { events, now }: { readonly events: EventStore; readonly now: () => number },
): DeliveriesStore {
  return {
    async list(sourceId, { limit, before = 'g' }) {
      const [told, counts] = await Promise.all([
        listEvents(sql, events, { sourceId, limit, before }),
        sql.query<CountRow>({
          text: `SELECT position, outcome, code, deliveries, request_id, last_at FROM ingest.delivery_counts
                  WHERE source_id = $1 AND position < $2 ORDER BY position DESC LIMIT $3`,
          values: [sourceId, before, limit],
        }),
      ]);
      const all = [...told, ...counts.map(ofCount)];
      return all.sort((one, other) => (one.position < other.position ? 1 : -1)).slice(0, limit);
    },
    async recordRejected({ eventId, networkId, sourceId, requestId, types, strippedFields }) {
      await sql.query({
        text: `INSERT INTO ingest.events (event_id, network_id, key_id, kind, status, types, request_id, stripped_fields, at)
               VALUES ($1, $2, $3, 'write', 'rejected', $4, $5, $6, $7) ON CONFLICT DO NOTHING`,
        values: [
          ...[eventId, networkId, sourceId, JSON.stringify(types), requestId, strippedFields],
          new Date(Math.floor(now())),
        ],
      });
    },
  };
}

/** By the index of each table on its source; the events themselves are read as every list reads them. */
async function listEvents(
  sql: Sql,
  events: EventStore,
  { sourceId, limit, before }: { readonly sourceId: string; readonly limit: number; readonly before: string },
): Promise<ListedDelivery[]> {
  const rows = await sql.query<{ id: string }>({
    text: `(SELECT event_id AS id FROM ingest.events
             WHERE key_id = $1 AND starts_with(key_id, 'src_') AND event_id < 'evt_' || $2 ORDER BY event_id DESC LIMIT $3)
           UNION ALL
           (SELECT 'evt_' || encode(uuid_send(event_id), 'hex') FROM ingest.writes
             WHERE key_id = convert_to($1, 'UTF8') AND substr(key_id, 1, 4) = '\\x7372635f'
               AND event_id < $4::uuid ORDER BY event_id DESC LIMIT $3)
           ORDER BY id DESC LIMIT $3`,
    values: [sourceId, before, limit, before === 'g' ? 'f'.repeat(32) : before],
  });
  const found = await Promise.all(rows.map(({ id }) => events.find(id)));
  return found.flatMap((event) =>
    event === undefined
      ? []
      : [
          {
            position: event.eventId.slice('evt_'.length),
            at: event.at,
            outcome: OUTCOMES[event.status],
            code: null,
            deliveries: 1,
            requestId: event.requestId,
            eventId: event.eventId,
            types: event.types,
            records: event.records,
          },
        ],
  );
}

function ofCount(row: CountRow): ListedDelivery {
  const { position, outcome, code, deliveries, request_id: requestId, last_at: at } = row;
  return {
    position,
    at,
    outcome,
    code,
    deliveries: Number(deliveries),
    requestId,
    eventId: null,
    types: [],
    records: [],
  };
}
