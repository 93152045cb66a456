import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { throwawayPostgres, until, type OwnPostgres } from '@sealgate/testing';
import { DatabaseUnavailableError, openDatabase, type Database } from './index.ts';

let server: OwnPostgres;
let database: Database;
const idleErrors: Error[] = [];

const one = { name: 'one', text: 'SELECT 1 AS n' };
const unavailable = async (call: Promise<unknown>): Promise<boolean> => {
  try {
    await call;
    return false;
  } catch (error) {
    if (error instanceof DatabaseUnavailableError) return true;
    throw error;
  }
};

beforeAll(async () => {
  server = await throwawayPostgres({ own: true });
  database = openDatabase({
    url: server.url,
    applicationName: 'outage-test',
    maxConnections: 4,
    connectTimeoutMs: 300,
    deadlineMs: 300,
    onIdleError: (error) => idleErrors.push(error),
  });
}, 120_000);
afterEach(() => void idleErrors.splice(0));
afterAll(async () => {
  await database.close();
  await server.stop();
});

const warmUp = (): Promise<unknown> => Promise.all([1, 2, 3].map(() => database.query(one)));

describe('a database that goes away', () => {
  it.each(['fast', 'immediate'] as const)(
    '(%s) is unavailable while away and used at once when back',
    async (mode) => {
      await warmUp();
      await server.halt(mode);
      await until(() => idleErrors.length > 0);
      expect(await unavailable(database.query(one))).toBe(true);
      expect(await unavailable(database.transaction((sql) => sql.query(one)))).toBe(true);
      await server.restart();
      expect(await database.query(one)).toEqual([{ n: 1 }]);
      expect(await database.transaction((sql) => sql.query(one))).toEqual([{ n: 1 }]);
    },
    60_000,
  );

  it('and comes back between two statements fails neither', async () => {
    await warmUp();
    await server.restart();
    expect(await Promise.all([1, 2, 3].map(() => database.query(one)))).toEqual([1, 2, 3].map(() => [{ n: 1 }]));
  }, 60_000);

  it('by freezing ends every call at its deadline and is used at once when thawed', async () => {
    await warmUp();
    const rows = await database.query<{ pid: number }>({ text: 'SELECT pid FROM pg_stat_activity' });
    const pids = [server.pid, ...rows.map(({ pid }) => pid)];
    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    try {
      const startedAt = performance.now();
      const calls = Array.from({ length: 20 }, () => unavailable(database.query(one)));
      calls.push(unavailable(database.transaction((sql) => sql.query(one))));
      expect(new Set(await Promise.all(calls))).toEqual(new Set([true]));
      expect(await unavailable(database.query(one))).toBe(true); // On a new connection, which is never answered.
      expect(performance.now() - startedAt).toBeLessThan(3_000);
    } finally {
      for (const pid of pids) process.kill(pid, 'SIGCONT');
    }
    expect(await database.query(one)).toEqual([{ n: 1 }]);
  }, 60_000);
});
