import { hash } from 'node:crypto';
import { backgroundLoop, type BackgroundLoop, type Sql } from '@sealgate/storage';

/** Deliveries of one source, minute and outcome that left no event. */
export interface DeliveryCount {
  readonly sourceId: string;
  readonly outcome: string;
  /** Of refusals. */
  readonly code: string | undefined;
  readonly requestId: string;
  readonly atMs: number;
}

interface Waiting extends DeliveryCount {
  deliveries: number;
}

const MOST_WAITING = 10_000;
const FLUSH_EVERY_MS = 1000;
const MINUTE_MS = 60_000;
const TIME_DIGITS = 12;
const POSITION_DIGITS = 32;

/**
 * Counts deliveries that left no event, and writes the counts once a second off the request path: a source that is flooded
 * costs a row for each minute and code. While the database is away as many are kept as there are sources and codes, up to a bound.
 */
export function deliveryCounts(sql: Sql, onFailure: (error: unknown) => void) {
  let waiting = new Map<string, Waiting>();
  const flush = async (): Promise<void> => {
    if (waiting.size === 0) return;
    const batch = waiting;
    waiting = new Map();
    try {
      await insert(sql, [...batch]);
    } catch (error) {
      onFailure(error);
    }
  };
  const loop: BackgroundLoop = backgroundLoop({ work: flush, pauseMs: FLUSH_EVERY_MS, onFailure });
  return {
    add(count: DeliveryCount): void {
      const position = positionOf(count);
      const key = `${count.sourceId} ${position}`;
      const known = waiting.get(key);
      if (known !== undefined) waiting.set(key, { ...count, deliveries: known.deliveries + 1 });
      else if (waiting.size < MOST_WAITING) waiting.set(key, { ...count, deliveries: 1 });
    },
    flush,
    async close(): Promise<void> {
      await loop.stop();
      await flush();
    },
  };
}

/** The end of its minute, and what tells it from the others of that minute. */
function positionOf({ atMs, outcome, code = '' }: DeliveryCount): string {
  const endMs = (Math.floor(atMs / MINUTE_MS) + 1) * MINUTE_MS - 1;
  const time = endMs.toString(16).padStart(TIME_DIGITS, '0');
  return time + hash('sha256', `${outcome} ${code}`).slice(0, POSITION_DIGITS - TIME_DIGITS);
}

async function insert(sql: Sql, rows: readonly (readonly [string, Waiting])[]): Promise<void> {
  const counts = rows.map(([, count]) => count);
  await sql.query({
    text: `INSERT INTO ingest.delivery_counts AS c (source_id, position, outcome, code, deliveries, request_id, last_at)
           SELECT s, p, o, nullif(e, ''), d, r, to_timestamp(t / 1000.0)
             FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::bigint[])
                  n (s, p, o, e, d, r, t) ORDER BY s, p
           ON CONFLICT (source_id, position) DO UPDATE
              SET deliveries = c.deliveries + EXCLUDED.deliveries, request_id = EXCLUDED.request_id,
                  last_at = greatest(c.last_at, EXCLUDED.last_at)`,
    values: [
      counts.map(({ sourceId }) => sourceId),
      counts.map(positionOf),
      counts.map(({ outcome }) => outcome),
      counts.map(({ code = '' }) => code),
      counts.map(({ deliveries }) => deliveries),
      counts.map(({ requestId }) => requestId),
      counts.map(({ atMs }) => Math.floor(atMs)),
    ],
  });
}
