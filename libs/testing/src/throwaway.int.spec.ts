import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { preparedPostgres, throwawayPostgres, type ThrowawayPostgres } from './throwaway-postgres.ts';
import { describeWithRedis, throwawayRedis } from './throwaway-redis.ts';

async function rows(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

describe('throwawayPostgres', () => {
  let first: ThrowawayPostgres;
  beforeAll(async () => {
    first = await throwawayPostgres();
  }, 60_000);
  afterAll(() => first.stop());

  it('returns each caller a fresh database on one server', async () => {
    const second = await throwawayPostgres();
    expect(second.pid).toBe(first.pid);
    expect(second.url).not.toBe(first.url);
    await rows(first.url, 'CREATE TABLE only_here (id int)');
    expect(await rows(second.url, `SELECT to_regclass('only_here') AS found`)).toEqual([{ found: null }]);
    await second.stop();
    await expect(rows(second.url, 'SELECT 1')).rejects.toThrow(/does not exist/);
    expect(await rows(first.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('never uses an installed server that already runs', () => {
    expect(first.port).not.toBe(5432);
  });

  it('returns an own server that keeps its data and address over a crash', async () => {
    const own = await throwawayPostgres({ durable: true });
    expect(own.pid).not.toBe(first.pid);
    expect(await rows(own.url, 'SHOW fsync')).toEqual([{ fsync: 'on' }]);
    await rows(own.url, 'CREATE TABLE kept AS SELECT 7 AS seven');
    process.kill(own.pid, 'SIGKILL');
    await own.restart();
    expect(await rows(own.url, 'SELECT seven FROM kept')).toEqual([{ seven: 7 }]);
    await own.halt();
    await expect(rows(own.url, 'SELECT 1')).rejects.toThrow(/ECONNREFUSED/);
    await own.stop();
    await own.stop();
  }, 60_000);
});

describe('preparedPostgres', () => {
  it('prepares once, and returns each caller a database of its own', async () => {
    let prepared = 0;
    const prepare = (url: string) => ((prepared += 1), rows(url, 'CREATE TABLE made AS SELECT 1 AS one'));
    const [first, second] = [await preparedPostgres('once', prepare), await preparedPostgres('once', prepare)];
    await rows(first.url, 'DELETE FROM made');
    expect(await rows(second.url, 'SELECT one FROM made')).toEqual([{ one: 1 }]);
    expect(prepared).toBe(1);
    const empty = await first.newDatabase();
    expect(await rows(empty, `SELECT to_regclass('made') AS found`)).toEqual([{ found: null }]);
    await Promise.all([first.stop(), second.stop()]);
  }, 60_000);
});

describeWithRedis('throwawayRedis', () => {
  it('answers, and restarts at the same URL after a kill', async () => {
    const redis = await throwawayRedis(['--maxmemory', '2mb']);
    const pid = redis.pid;
    expect(redis.port).not.toBe(6379);
    process.kill(pid, 'SIGKILL');
    expect(await redis.exited).toBeNull();
    await redis.restart();
    expect(redis.pid).not.toBe(pid);
    expect(existsSync(`/proc/${pid}`)).toBe(false);
    await redis.stop();
  });
});
