import { LedgerUnavailableError } from '@sealgate/ledger-port';
import { DatabaseUnavailableError, type Sql, type Statement } from '@sealgate/storage';

/** A read of the ledger: a database that gives no answer is LedgerUnavailableError, never "absent". */
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
    throw error;
  }
}
