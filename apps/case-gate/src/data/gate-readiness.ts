import type { Sql } from '@sealgate/storage';

/**
 * Touches all that a check reads, the ledger too, and reads no row of it: so whatever would keep the gate from its tables (no
 * connection, all of them taken, a lock, a standby in the place of the primary) keeps it from this too. Never
 * prepared: PostgreSQL takes the locks of a plan that it kept for the tables alone that the plan still reads.
 */
const TEXT = `SELECT pg_is_in_recovery() AS is_standby, EXISTS
    (SELECT FROM gate.api_keys, gate.eligibility, gate.eligibility_history, gate.venues WHERE false) AS is_there,
    ledger.held_v2('', '{}') AS held, (SELECT count(*) FROM ledger.epochs_v1('{}')) AS epochs`;

/** Whether the gate could look something up now. Settles within `withinMs`; never rejects. */
export async function canLookUp(gateSql: Sql, withinMs: number): Promise<boolean> {
  try {
    const [row] = await gateSql.query<{ is_standby: boolean }>({ text: TEXT }, { deadlineMs: withinMs });
    return row?.is_standby === false;
  } catch {
    // Whatever it failed with, nobody could be let in now.
    return false;
  }
}
