import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { postgresPair, type PostgresPair } from './postgres-pair.ts';
import { smallDisk } from './small-disk.ts';
import { executeSql } from './throwaway-postgres.ts';
import { until } from './until.ts';

describe('a pair of PostgreSQL servers', () => {
  let pair: PostgresPair;
  beforeAll(async () => {
    pair = await postgresPair({ settings: { max_connections: '30' } });
    await executeSql(pair.primaryUrl, 'CREATE TABLE kept (number int)');
  }, 120_000);
  afterAll(() => pair.stop());

  const add = (number: number): Promise<void> => executeSql(pair.primaryUrl, `INSERT INTO kept VALUES (${number})`);
  /** Divides by zero unless the table has that many rows. */
  const expectRows = (count: number): Promise<void> =>
    executeSql(pair.primaryUrl, `SELECT 1 / (count(*) = ${count})::int FROM kept`);

  it('keeps its rows when the primary is restarted, cleanly and like by a crash', async () => {
    await add(1);
    await pair.restartPrimary();
    await add(2);
    await pair.restartPrimary('immediate');
    await expectRows(2);
  }, 60_000);

  it('acknowledges no commit while its standby hears of none, and all of them afterwards', async () => {
    const goOn = await pair.holdCommits();
    let isDone = false;
    const adding = add(3).then(() => (isDone = true));
    // A read waits for no standby.
    await expectRows(2);
    expect(isDone).toBe(false);
    goOn();
    await adding;
    await expectRows(3);
  }, 60_000);

  it('starts servers again that have ended', async () => {
    expect(await pair.revive()).toBe(0);
    const end = `COPY (SELECT 1) TO PROGRAM 'kill -QUIT $(head -n 1 postmaster.pid)'`;
    await executeSql(pair.primaryUrl, end).catch(() => undefined);
    await until(async () => (await pair.revive()) === 1, { timeoutMs: 30_000, what: 'the end of the primary' });
    await expectRows(3);
  }, 60_000);
});

describe('a small disk', () => {
  it('is made full and gets its size again, without losing what lies there', () => {
    const disk = smallDisk(8, 'filling a small disk');
    if (disk === undefined) return;
    try {
      const file = (name: string): string => join(disk.path, name);
      writeFileSync(file('first'), Buffer.alloc(1_048_576));
      disk.shrink();
      expect(() => writeFileSync(file('second'), Buffer.alloc(2_097_152))).toThrow(/ENOSPC/);
      disk.grow();
      writeFileSync(file('second'), Buffer.alloc(2_097_152));
    } finally {
      disk.release();
    }
  });
});
