import { describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import fc from 'fast-check';
import { forClient } from './looking.ts';
import { openPools, poolSizes, type Pools } from './pools.ts';
import type { Statement } from './sql.ts';
import { gatedDatabases, one, outcome } from './testing/gated-databases.ts';

const { open, server } = gatedDatabases();
const sleep = (seconds: number) => ({ text: `SELECT pg_sleep(${seconds})` });

async function withPools(
  test: (pools: Pools) => Promise<void>,
  { maxConnections = 12, yields = () => false }: { maxConnections?: number; yields?: () => boolean } = {},
): Promise<void> {
  const options = { url: server().url, applicationName: 'pools-test', connectTimeoutMs: 10_000 };
  const pools = openPools({ ...options, maxConnections, yields });
  try {
    await test(pools);
  } finally {
    await pools.close();
  }
}

describe('the sizes of pools', () => {
  it('are 7, 3 and 2 of twelve connections', () => {
    expect(poolSizes(12)).toEqual({ decide: 7, look: 3, background: 2 });
    expect(poolSizes(3)).toEqual({ decide: 1, look: 1, background: 1 });
  });

  it('add up to what was configured, most of it for what decides', () => {
    fc.assert(
      fc.property(fc.integer({ min: 3, max: 500 }), (total) => {
        const { decide, look, background } = poolSizes(total);
        expect(decide + look + background).toBe(total);
        expect(Math.min(look, background)).toBeGreaterThanOrEqual(1);
        expect(decide).toBeGreaterThanOrEqual(look);
      }),
    );
  });
});

describe('what looks', () => {
  it('takes no connection of what decides or works in the background', () =>
    withPools(async ({ decide, look, background }) => {
      await look.query(one);
      const looking = Array.from({ length: 40 }, () => outcome(look.query(sleep(30))));
      await until(() => look.stats().waiting === 37);
      expect(await decide.query(one)).toEqual([{ n: 1 }]);
      expect(await background.query(one)).toEqual([{ n: 1 }]);
      expect(decide.stats()).toEqual({ total: 1, idle: 1, waiting: 0 });
      expect(new Set((await Promise.all(looking)).map((ended) => JSON.stringify(ended)))).toEqual(
        // The server undid the statements that ran; the others waited in vain.
        new Set(['{"sent":false}', '{"sent":true}']),
      );
    }));

  it('takes turns with what another caller looks for, however much that is', () =>
    withPools(async ({ look }) => {
      await look.query(one);
      const { signal } = new AbortController();
      const ended: string[] = [];
      const ask = (share: string, statement: Statement) =>
        forClient({ signal, share }, async () => {
          await look.query(statement);
          ended.push(share);
        });
      const many = Array.from({ length: 12 }, () => ask('many', sleep(0.05)));
      await Promise.all([...many, ask('one', one)]);
      // Behind those that ran when it came: one for each connection.
      expect(ended.indexOf('one')).toBeLessThanOrEqual(3);
      expect(ended.length).toBe(13);
    }));

  it('is ended by the server after a second, and its connection is used again', () =>
    withPools(async ({ look }) => {
      await look.query(one);
      expect(await outcome(look.query(sleep(30)))).toEqual({ sent: false });
      expect(look.stats()).toEqual({ total: 1, idle: 1, waiting: 0 });
      expect(await look.query(one)).toEqual([{ n: 1 }]);
    }));

  it('rests as long as it looked while somebody decides', () =>
    withPools(
      async ({ look }) => {
        await look.query(one);
        await until(() => look.stats().idle === 1);
        await look.query(sleep(0.1));
        expect(look.stats()).toEqual({ total: 1, idle: 0, waiting: 0 });
        await until(() => look.stats().idle === 1);
      },
      { yields: () => true },
    ));

  it('may take no more time in what decides than before', () =>
    withPools(async ({ decide, background }) => {
      const setting = { text: `SELECT current_setting('statement_timeout') AS ms` };
      expect(await decide.query(setting)).toEqual([{ ms: '0' }]);
      expect(await background.query(setting)).toEqual([{ ms: '0' }]);
    }));
});

describe('a statement whose client has gone', () => {
  const running = `SELECT count(*)::int AS n FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(0.9)%' AND state = 'active'`;

  it('is given up here and on the server', () =>
    withPools(async ({ look, decide }) => {
      const client = new AbortController();
      const asked = outcome(forClient(client, () => look.query(sleep(0.9))));
      const active = async () => (await decide.query<{ n: number }>({ text: running }))[0]?.n;
      await until(async () => (await active()) === 1);
      client.abort();
      expect(await asked).toEqual({ sent: true });
      await until(async () => (await active()) === 0);
    }));

  it('is not given up in a pool that decides', () =>
    withPools(async ({ decide }) => {
      const client = new AbortController();
      const asked = forClient(client, () => decide.query({ text: 'SELECT 1 AS n, pg_sleep(0.2)' }));
      client.abort();
      expect(await asked).toMatchObject([{ n: 1 }]);
    }));

  it('costs no connection if it ends soon', async () => {
    const database = open({ url: server().url, maxConnections: 1, looking: { statementTimeoutMs: 1000 } });
    const client = new AbortController();
    await database.query(one);
    const asked = forClient(client, () => database.query(one));
    client.abort();
    expect(await asked).toEqual([{ n: 1 }]);
    expect(database.stats()).toEqual({ total: 1, idle: 1, waiting: 0 });
  });
});
