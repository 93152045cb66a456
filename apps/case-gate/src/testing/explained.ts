import { migrate, openDatabase, type Database, type Sql, type Statement } from '@sealgate/storage';
import { costOf, preparedPostgres, type StatementCost } from '@sealgate/testing';
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

/** Runs what a route does, and says what each of its statements costs. */
export async function costsOf(sql: Sql, work: (noting: Database) => Promise<unknown>): Promise<StatementCost[]> {
  const asked: Statement[] = [];
  // Lists send statements and nothing else.
  const noting = { query: (statement: Statement) => (asked.push(statement), sql.query(statement)) } as Database;
  await work(noting);
  const costs: StatementCost[] = [];
  for (const statement of asked) costs.push(await costOf(sql, statement));
  return costs;
}

export const costLine = (name: string, { ms, rows, entries, indexes }: StatementCost): string =>
  `${name}: ${ms} ms, ${rows} rows, ${entries} entries, ${indexes.join(' ')}\n`;
