import { LedgerForbiddenError, LedgerUnavailableError } from '@sealgate/ledger-port';
import { DatabaseUnavailableError, type Sql, type Statement } from '@sealgate/storage';

/** SQLSTATE of what a role has no right to. */
const INSUFFICIENT_PRIVILEGE = '42501';

/**
 * A read of the ledger: a database that gives no answer is LedgerUnavailableError, never "absent", and what its role may
 * not ask is LedgerForbiddenError.
 */
export async function readLedger<Row extends object>(
  sql: Sql,
  statement: Statement,
  deadlineMs: number,
): Promise<Row[]> {
  try {
    return await sql.query<Row>(statement, { deadlineMs });
  } catch (error) {
    if (error instanceof DatabaseUnavailableError) {
      throw new LedgerUnavailableError('The ledger cannot be asked.', { cause: error });
    }
    if ((error as { code?: unknown }).code === INSUFFICIENT_PRIVILEGE) {
      throw new LedgerForbiddenError(`The ledger refuses this: ${(error as Error).message}.`, { cause: error });
    }
    throw error;
  }
}
