import { AppError } from '@sealgate/errors';
import { DatabaseUnavailableError, type Sql, type Statement } from '@sealgate/storage';
import type { Leases } from './leases.ts';

/** The table of jobs, as each part of the store asks it. */
export interface JobTable {
  /** @throws AppError UNAVAILABLE when the database gives no answer. */
  readonly ask: <Row extends object>(statement: Statement) => Promise<Row[]>;
  readonly leases: Leases;
  readonly now: () => number;
}

export function jobTable({ sql, leases, now }: { sql: Sql; leases: Leases; now: () => number }): JobTable {
  return {
    leases,
    now,
    async ask<Row extends object>(statement: Statement) {
      try {
        return await sql.query<Row>(statement);
      } catch (error) {
        if (!(error instanceof DatabaseUnavailableError)) throw error;
        const options = { retryAfterSeconds: 1, cause: error };
        throw new AppError('UNAVAILABLE', 'The store of jobs cannot be reached.', options);
      }
    },
  };
}
