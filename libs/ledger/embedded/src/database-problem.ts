import { LedgerForbiddenError, LedgerUnavailableError } from '@sealgate/ledger-port';
import {
  DatabaseRefusedError,
  DatabaseUnavailableError,
  isDeadlock,
  type Sql,
  type Statement,
} from '@sealgate/storage';

const INSUFFICIENT_PRIVILEGE = '42501';

/**
 * Runs a read of the ledger. A database that does not answer throws LedgerUnavailableError, never "absent"; a missing
 * right throws LedgerForbiddenError.
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
      throw new LedgerForbiddenError(`The ledger refuses the request: ${(error.cause as Error).message}.`, {
        cause: error,
      });
    }
    if (error instanceof DatabaseRefusedError) {
      const reason = `The database refuses the ledger (${String(error.code)}): its role lacks a right, or it is not migrated.`;
      throw new LedgerUnavailableError(reason, { cause: error });
    }
    // A deadlock is one with a migration: reads wait for nothing else.
    if (error instanceof DatabaseUnavailableError || isDeadlock(error)) {
      throw new LedgerUnavailableError('The ledger cannot be reached.', { cause: error });
    }
    throw error;
  }
}

/**
 * A refusal raised by a ledger function concerns a channel. One by PostgreSQL itself concerns the schema: the migration
 * job has not run.
 */
const isSaidByLedger = ({ code, cause }: DatabaseRefusedError): boolean =>
  code === INSUFFICIENT_PRIVILEGE && (cause as { readonly routine?: unknown }).routine === 'exec_stmt_raise';

/** SQLSTATE: channels of the call lost records; the detail names them. See refuse_lost in migrations/0001_ledger.sql. */
const CHANNELS_HALTED = '08L01';

/** The halted channels because of which a ledger function rolled back a call; empty for any other error. */
export function haltedIn(problem: unknown): readonly string[] {
  const { code, detail } = ((problem as Error | undefined)?.cause ?? {}) as { code?: unknown; detail?: unknown };
  return code === CHANNELS_HALTED && typeof detail === 'string' ? detail.split(' ') : [];
}

/** Whether an error is transient. A missing right is not. */
export function isOutage(error: unknown): boolean {
  if (error instanceof DatabaseRefusedError || error instanceof LedgerForbiddenError) return false;
  return error instanceof DatabaseUnavailableError || error instanceof LedgerUnavailableError;
}
