import { removalStep, type Removal, type RemovalStep, type Sql } from '@sealgate/storage';

const DAY_MS = 86_400_000;

/** Events older than `days`. An id begins with its time (`evt_`, then a UUIDv7), so the primary key finds them by age. */
export function oldEvents(days: number, nowMs: number): Removal {
  const time = Math.floor(nowMs - days * DAY_MS)
    .toString(16)
    .padStart(12, '0');
  return { table: 'ingest.events', condition: 'event_id < $1', orderBy: 'event_id', values: [`evt_${time}`] };
}

export interface Retained {
  readonly eventDays: number;
  /** How long the ledger keeps claims; undefined where it is not in our database. */
  readonly claimDays: number | undefined;
}

/** The steps that remove old events and claims, by name. */
export function ingestRemovals(
  sql: Sql,
  { eventDays, claimDays }: Retained,
  now: () => number,
): Record<string, RemovalStep> {
  const events = removalStep(sql, () => oldEvents(eventDays, now()));
  return { events, ...(claimDays === undefined ? {} : { claims: claimRemoval(sql, claimDays) }) };
}

/** By the clock of the database. What a claim wrote stays, and its ids stay taken: the same request writes nothing again. */
function claimRemoval(sql: Sql, days: number): RemovalStep {
  return async (atMost) => {
    const statement = { text: 'SELECT ledger.forget_claims_v1($1, $2) AS gone', values: [days, atMost] };
    const [row] = await sql.query<{ gone: number }>(statement);
    return row?.gone ?? 0;
  };
}
