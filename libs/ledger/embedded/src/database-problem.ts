import { LedgerForbiddenError, LedgerUnavailableError } from '@sealgate/ledger-port';
import { DatabaseRefusedError, DatabaseUnavailableError, type Sql, type Statement } from '@sealgate/storage';

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
    if (error instanceof DatabaseRefusedError && isSaidByLedger(error)) {
      throw new LedgerForbiddenError(`The ledger refuses this: ${(error.cause as Error).message}.`, { cause: error });
    }
    if (error instanceof DatabaseUnavailableError) {
      throw new LedgerUnavailableError('The ledger cannot be asked.', { cause: error });
    }
    throw error;
  }
}

/** What a function of the ledger refuses is of a channel; what PostgreSQL itself does, of the schema: the job did not run. */
const isSaidByLedger = ({ code, cause }: DatabaseRefusedError): boolean =>
  code === INSUFFICIENT_PRIVILEGE && (cause as { readonly routine?: unknown }).routine === 'exec_stmt_raise';

/** SQLSTATE: channels of the call lost records; its detail names them. See migrations/0009_halts.sql. */
const CHANNELS_HALTED = '08L01';

/** The channels for whose sake a function of the ledger refused a call and undid it; none where that is not the reason. */
export function haltedIn(problem: unknown): readonly string[] {
  const { code, detail } = ((problem as Error | undefined)?.cause ?? {}) as { code?: unknown; detail?: unknown };
  return code === CHANNELS_HALTED && typeof detail === 'string' ? detail.split(' ') : [];
}

/** What heals by itself. A right that is missing does not. */
export function isOutage(error: unknown): boolean {
  if (error instanceof DatabaseRefusedError || error instanceof LedgerForbiddenError) return false;
  return error instanceof DatabaseUnavailableError || error instanceof LedgerUnavailableError;
}
