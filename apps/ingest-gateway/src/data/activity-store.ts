import { COUNT_LIMIT } from '@sealgate/paging';
import type { Sql } from '@sealgate/storage';
import { CONFLICT } from './deliveries-store.ts';
import { firstDigits } from '../domain/read-events.ts';

const HOUR_MS = 3_600_000;
/** Of refused deliveries this many counts are read, the newest first. */
const MOST_COUNTS = 50_000;
/** Ids of events begin with the time at which they were made; a row is in the hour of its id. */
const HOUR_OF = (digits: string) =>
  `date_trunc('hour', to_timestamp(('x' || substr(${digits}, 1, 12))::bit(48)::bigint / 1000.0), 'UTC')`;

export interface Activity {
  /** COUNT_LIMIT means that many or more. */
  readonly hours: readonly { readonly at: Date; readonly writes: number }[];
  readonly refusals: readonly {
    readonly at: Date;
    readonly reason: string;
    readonly deliveries: number;
  }[];
  /** Not all counts of refused deliveries were read. */
  readonly isCut: boolean;
}

export interface ActivityStore {
  /** Writes and refused deliveries of whole hours from a time on. */
  read(since: Date, hours: number): Promise<Activity>;
}

/** How much was written and refused lately, read from the rows by their indexes. */
export function activityStore(sql: Sql): ActivityStore {
  return {
    async read(since, hours) {
      const begins = Array.from({ length: hours }, (_, n) => new Date(since.getTime() + n * HOUR_MS));
      const ends = begins.map((at) => new Date(at.getTime() + HOUR_MS));
      const [counted, refused] = await Promise.all([
        sql.query<{ at: Date; writes: number }>({
          name: 'writes by hour',
          text: WRITES,
          values: [begins, begins.map(firstDigits), ends.map(firstDigits)],
        }),
        sql.query<{ at: Date; reason: string; deliveries: number; counts: number }>({
          name: 'refusals by hour',
          text: REFUSALS,
          values: [firstDigits(since).slice(0, 12)],
        }),
      ]);
      const isCut = refused.reduce((sum, { counts }) => sum + counts, 0) >= MOST_COUNTS;
      return { hours: counted, refusals: refused.map(({ counts: _, ...row }) => row), isCut };
    },
  };
}

/**
 * In both tables of events: on an embedded ledger most writes are in `writes`, on Fabric all are in `events`. Only
 * networks that have any since the first hour are asked about each hour.
 */
const WRITES = `
  WITH networks AS MATERIALIZED (
    SELECT n.network_id,
           (SELECT w.event_id FROM ingest.writes w WHERE w.network_id = n.network_id
             ORDER BY w.event_id DESC LIMIT 1) >= ($2::text[])[1]::uuid AS writes,
           (SELECT e.event_id FROM ingest.events e WHERE e.network_id = n.network_id
             ORDER BY e.event_id DESC LIMIT 1) >= 'evt_' || ($2::text[])[1] AS events
      FROM ingest.networks n)
  SELECT h.at, least(${COUNT_LIMIT}, (
           SELECT count(*) FROM (
             SELECT FROM networks n CROSS JOIN LATERAL (
               SELECT FROM ingest.writes w
                WHERE w.network_id = n.network_id AND w.event_id >= h.low::uuid AND w.event_id < h.high::uuid
                LIMIT ${COUNT_LIMIT}) w WHERE n.writes LIMIT ${COUNT_LIMIT}) c) + (
           SELECT count(*) FROM (
             SELECT e.kind, e.status FROM networks n CROSS JOIN LATERAL (
               SELECT e.kind, e.status FROM ingest.events e
                WHERE e.network_id = n.network_id AND e.event_id >= 'evt_' || h.low AND e.event_id < 'evt_' || h.high
                LIMIT ${COUNT_LIMIT}) e WHERE n.events LIMIT ${COUNT_LIMIT}) c
            WHERE c.kind = 'write' AND c.status = 'committed'))::integer AS writes
    FROM unnest($1::timestamptz[], $2::text[], $3::text[]) h (at, low, high) ORDER BY h.at`;

const REFUSALS = `
  SELECT ${HOUR_OF('c.position')} AS at, coalesce(c.reason, c.code, 'unknown') AS reason,
         sum(c.deliveries)::float8 AS deliveries, count(*)::integer AS counts
    FROM (SELECT position, reason, code, deliveries FROM ingest.delivery_counts
           WHERE position >= $1 AND outcome IN ('refused', '${CONFLICT}') ORDER BY position DESC LIMIT ${MOST_COUNTS}) c
   GROUP BY 1, 2 ORDER BY 1, 2`;
