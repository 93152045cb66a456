import { refusedBefore } from './refused-store.ts';
import { removalStep, type Removal, type RemovalStep, type Sql, type Statement } from '@sealgate/storage';

const DAY_MS = 86_400_000;

/** Selects events older than `days`, by the primary key: an id starts with its time (`evt_`, then a UUIDv7). */
export function oldEvents(days: number, nowMs: number): Removal {
  const values = [`evt_${timeDigits(days, nowMs)}`];
  return { table: 'ingest.events', condition: 'event_id < $1', orderBy: 'event_id', values };
}

/** Deletes events of writes; written out because their index starts with the network. */
export function removeOldWrites(days: number, nowMs: number, atMost: number): Statement {
  return {
    text: `WITH gone AS (DELETE FROM ingest.writes WHERE ctid = ANY (ARRAY(
             SELECT w.ctid FROM ingest.networks n CROSS JOIN LATERAL (
               SELECT ctid FROM ingest.writes o WHERE o.network_id = n.network_id AND o.event_id < $1
                ORDER BY o.event_id LIMIT $2 FOR UPDATE SKIP LOCKED) w LIMIT $2)) RETURNING 1)
           SELECT count(*)::integer AS gone FROM gone`,
    values: [timeDigits(days, nowMs).padEnd(32, '0'), atMost],
  };
}

const timeDigits = (days: number, nowMs: number): string =>
  Math.floor(nowMs - days * DAY_MS)
    .toString(16)
    .padStart(12, '0');

/** Selects counts of deliveries older than `days`. */
function oldDeliveryCounts(days: number, nowMs: number): Removal {
  const values = [timeDigits(days, nowMs)];
  return { table: 'ingest.delivery_counts', condition: 'position < $1', orderBy: 'position', values };
}

/** Selects hours of sources older than `days`. */
function oldActivity(days: number, nowMs: number): Removal {
  const values = [new Date(nowMs - days * DAY_MS)];
  return { table: 'ingest.source_activity', condition: 'hour < $1', orderBy: 'hour', values };
}

/**
 * The removal steps by name: events, events of writes, counts of deliveries, hours of sources, refused deliveries, and
 * claims.
 */
export function ingestRemovals(
  sql: Sql,
  {
    eventDays,
    claimDays,
  }: {
    readonly eventDays: number;
    /** Days that the ledger keeps claims; undefined where the ledger is not in this database. */
    readonly claimDays: number | undefined;
  },
  now: () => number,
): Record<string, RemovalStep> {
  const events = removalStep(sql, () => oldEvents(eventDays, now()));
  const writes: RemovalStep = async (atMost) => {
    const [row] = await sql.query<{ gone: number }>(removeOldWrites(eventDays, now(), atMost));
    return row?.gone ?? 0;
  };
  const deliveries = removalStep(sql, () => oldDeliveryCounts(eventDays, now()));
  const activity = removalStep(sql, () => oldActivity(eventDays, now()));
  const refused = removalStep(sql, () => refusedBefore(eventDays, now()));
  return {
    events,
    writes,
    deliveries,
    activity,
    refused,
    ...(claimDays === undefined ? {} : { claims: claimRemoval(sql, claimDays) }),
  };
}

/** By the database's clock. Records of a removed claim stay, so the same request still writes nothing. */
function claimRemoval(sql: Sql, days: number): RemovalStep {
  return async (atMost) => {
    const statement = { text: 'SELECT ledger.forget_claims($1, $2) AS gone', values: [days, atMost] };
    const [row] = await sql.query<{ gone: number }>(statement);
    return row?.gone ?? 0;
  };
}
