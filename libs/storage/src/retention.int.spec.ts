import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { holdLock, throwawayPostgres, type ThrowawayPostgres } from '@sealgate/testing';
import { openDatabase, removalStep, removeInSteps, type Database } from './index.ts';

let server: ThrowawayPostgres;
let sql: Database;
const run = (text: string) => sql.query({ text });
const left = async () => (await sql.query<{ n: number }>({ text: 'SELECT n FROM old ORDER BY n' })).map(({ n }) => n);
const upTo = (last: number) =>
  removalStep(sql, () => ({ table: 'old', condition: 'n <= $1', orderBy: 'n', values: [last] }));

beforeAll(async () => {
  server = await throwawayPostgres();
  const options = { applicationName: 'retention', maxConnections: 2, connectTimeoutMs: 5000, deadlineMs: 20_000 };
  sql = openDatabase({ ...options, url: server.url });
  await run('CREATE TABLE old (n integer PRIMARY KEY)');
}, 120_000);
afterAll(async () => {
  await sql.close();
  await server.stop();
});
beforeEach(async () => {
  await run('TRUNCATE old');
  await run('INSERT INTO old SELECT generate_series(1, 40)');
});

describe('the removal of old rows', () => {
  it('removes in steps of bounded size, oldest first, until none is left', async () => {
    const steps: number[] = [];
    const step = upTo(35);
    const counted = async (atMost: number) => {
      const count = await step(atMost);
      steps.push(count);
      return count;
    };
    expect(await removeInSteps(counted, undefined, 10)).toBe(35);
    expect(steps).toEqual([10, 10, 10, 5]);
    expect(await left()).toEqual([36, 37, 38, 39, 40]);
  });

  it('skips locked rows without waiting', async () => {
    const held = await holdLock(server.url, 'SELECT 1 FROM old WHERE n IN (2, 3) FOR UPDATE');
    expect(await upTo(5)(10)).toBe(3);
    await held.release();
    expect(await upTo(5)(10)).toBe(2);
  });

  it('pauses after each step for a multiple of its duration, and stops after the running step', async () => {
    const stop = new AbortController();
    const startMs = performance.now();
    let steps = 0;
    const slow = async (atMost: number) => {
      await run('SELECT pg_sleep(0.05)');
      if ((steps += 1) === 3) stop.abort();
      return atMost;
    };
    expect(await removeInSteps(slow, stop.signal, 10)).toBe(30);
    // Three steps of 50 ms, and two pauses of four times that.
    expect(performance.now() - startMs).toBeGreaterThan(540);
  });
});
