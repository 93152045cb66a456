import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  hasPgBouncer,
  pgBouncer,
  throwawayPostgres,
  transactionPooler,
  type ThrowawayPostgres,
  type TransactionPooler,
} from '@sealgate/testing';
import { openDatabase, type Database, type DatabaseOptions } from './index.ts';

let server: ThrowawayPostgres;
let pooler: TransactionPooler;
const opened: Database[] = [];
let found = 0;

const open = (options: Partial<DatabaseOptions> = {}): Database => {
  const limits = { maxConnections: 4, connectTimeoutMs: 10_000, deadlineMs: 20_000 };
  const onPooler = (): void => void (found += 1);
  const database = openDatabase({ url: pooler.url, applicationName: 'pooler-test', ...limits, onPooler, ...options });
  opened.push(database);
  return database;
};
const named = (n: number) => ({ name: 'add one', text: 'SELECT $1::int + 1 AS n', values: [n] });
const manyOf = async (database: Database): Promise<string[]> => {
  const one = (n: number) => database.query<{ n: number }>(named(n));
  const inside = (n: number) => database.transaction(async (sql) => (await sql.query(named(n)), sql.query(named(n))));
  const calls = Array.from({ length: 200 }, (_, n) => (n % 4 === 0 ? inside(n) : one(n)));
  const results = await Promise.allSettled(calls);
  return results.flatMap((result, n) => {
    if (result.status === 'fulfilled') return (result.value[0] as { n: number }).n === n + 1 ? [] : ['wrong'];
    return [(result.reason as Error).message];
  });
};

beforeAll(async () => {
  server = await throwawayPostgres();
}, 120_000);
afterAll(() => server.stop());
afterEach(async () => {
  await Promise.all(opened.splice(0).map((database) => database.close()));
  found = 0;
});

const poolers: [string, (url: string) => Promise<TransactionPooler>][] = [['a stand-in', transactionPooler]];
if (hasPgBouncer) poolers.push(['PgBouncer in transaction mode', pgBouncer]);
else process.stderr.write('SKIPPED the tests on the real PgBouncer: there is no pgbouncer on the PATH.\n');

describe.each(poolers)('a pooler that gives each transaction another connection (%s)', (_, start) => {
  beforeAll(async () => {
    pooler = await start(server.url);
  });
  afterAll(() => pooler.close());

  it('is detected before a named statement is sent, and reported once', async () => {
    const database = open();
    expect(await manyOf(database)).toEqual([]);
    expect(found).toBe(1);
  });

  it('is detected by a refused name if names were forced on, without failing a statement outside of transactions', async () => {
    const database = open({ preparedStatements: true });
    const results = await Promise.allSettled(Array.from({ length: 100 }, (_, n) => database.query(named(n))));
    expect(results.filter(({ status }) => status === 'rejected')).toEqual([]);
    expect(found).toBe(1);
    expect(await manyOf(database)).toEqual([]);
  });

  it('fails the transaction that detects it as unavailable and not sent', async () => {
    const database = open({ preparedStatements: true, maxConnections: 1 });
    const attempts: unknown[] = [];
    for (let n = 0; n < 6; n += 1) {
      attempts.push(await database.transaction((sql) => sql.query(named(n))).catch((error: unknown) => error));
    }
    const failed = attempts.filter((attempt) => attempt instanceof Error);
    expect(failed.length).toBeLessThanOrEqual(1);
    for (const error of failed) expect(error).toMatchObject({ name: 'DatabaseUnavailableError', sent: false });
    expect(found).toBe(failed.length);
  });

  it('is not assumed on a direct connection', async () => {
    const database = open({ url: server.url, maxConnections: 1 });
    expect(await manyOf(database)).toEqual([]);
    expect(found).toBe(0);
    const prepared = {
      name: 'seen',
      text: `SELECT count(*)::int AS n FROM pg_prepared_statements WHERE name = 'seen'`,
    };
    await database.query(prepared);
    expect(await database.query(prepared)).toEqual([{ n: 1 }]);
  });

  it('gets no names if they are forced off', async () => {
    expect(await manyOf(open({ preparedStatements: false }))).toEqual([]);
    expect(found).toBe(0);
  });
});
