import { DatabaseFullError, DatabaseRefusedError } from './database-errors.ts';
import type { QueryOptions, Sql } from './sql.ts';

/** Thrown to roll back a probe that found space. */
class HasSpace extends Error {}

type InTransaction = (work: (sql: Sql) => Promise<void>, options: QueryOptions) => Promise<void>;

/**
 * Writes a mebibyte and undoes it; calls `works` if there was space, or if this role cannot tell. Never rejects. Temporary
 * tables lie in the same place as the others unless `temp_tablespaces` says otherwise, and leave nothing.
 */
export async function probeDisk(transaction: InTransaction, deadlineMs: number, works: () => void): Promise<void> {
  const statements = [
    'CREATE TEMPORARY TABLE sealgate_space (filling text) ON COMMIT DROP',
    'ALTER TABLE sealgate_space ALTER filling SET STORAGE EXTERNAL',
    `INSERT INTO sealgate_space SELECT repeat('x', 131072) FROM generate_series(1, 8)`,
  ];
  try {
    await transaction(
      async (sql) => {
        for (const text of statements) await sql.query({ text });
        throw new HasSpace();
      },
      { deadlineMs },
    );
  } catch (error) {
    if (error instanceof HasSpace) return works();
    if (error instanceof DatabaseFullError || !(error instanceof DatabaseRefusedError)) return;
    // A role that may make no temporary tables: the next write tells.
    works();
  }
}
