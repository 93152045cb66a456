import { expect } from '@jest/globals';
import { migrate, openDatabase, type Database, type Sql, type Statement } from '@sealgate/storage';
import { costLine, costOf, preparedPostgres } from '@sealgate/testing';
import { migrations } from '../gate-migrations.ts';

/** A database of the gate, to be filled. */
export async function emptyGate(): Promise<{ readonly sql: Database; readonly stop: () => Promise<void> }> {
  const postgres = await preparedPostgres('gate', (url) => migrate({ url, sets: migrations }));
  const options = { applicationName: 'test', maxConnections: 2, connectTimeoutMs: 2000, deadlineMs: 60_000 };
  const sql = openDatabase({ ...options, url: postgres.url });
  const stop = async () => {
    await sql.close();
    await postgres.stop();
  };
  return { sql, stop };
}

/** Runs what a route does, and asserts that none of its statements reads more rows, or more entries of an index. */
export async function expectBounded(
  sql: Sql,
  { name, mostRows, mostEntries = Infinity }: { name: string; mostRows: number; mostEntries?: number },
  work: (noting: Database) => Promise<unknown>,
): Promise<void> {
  const asked: Statement[] = [];
  // Lists send statements and nothing else.
  const noting = { query: (statement: Statement) => (asked.push(statement), sql.query(statement)) } as Database;
  await work(noting);
  for (const statement of asked) {
    const cost = await costOf(sql, statement);
    process.stdout.write(costLine(name, cost));
    const isBound = (cost.rows <= mostRows && cost.entries <= mostEntries) || cost;
    expect({ name, isBound }).toEqual({ name, isBound: true });
  }
}
