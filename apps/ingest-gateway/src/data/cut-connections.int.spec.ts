import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mapOutages, openDatabase, type Sql } from '@sealgate/storage';
import { slowProxy, until, type SlowProxy } from '@sealgate/testing';
import { openTestEvents, type TestEvents } from '../testing/test-events.ts';
import { networksStore } from './networks-store.ts';

let test: TestEvents;
beforeAll(async () => {
  test = await openTestEvents();
}, 60_000);
afterAll(() => test.close());

const isRunning = async (text: string): Promise<boolean> => {
  const found = await test.sql.query({
    text: `SELECT 1 FROM pg_stat_activity WHERE query = $1 AND state = 'active'`,
    values: [text],
  });
  return found.length > 0;
};

const LONG = 'SELECT pg_sleep(30) AS slept';
const DELAY_MS = 60_000;
const CUT_AFTER_MS = 100;
const OPTIONS = { applicationName: 'cut', maxConnections: 2, connectTimeoutMs: 2000, deadlineMs: 20_000 };

const newNetwork = (networkId: string) => ({ networkId, name: null, channels: ['main'], limits: null }) as never;
const isReachable = () => Promise.resolve(true);

/** A server that is killed cuts its connections; by then its standby may answer. */
describe('a change through Prisma whose connection is cut while the database answers others', () => {
  it.each<[string, (proxy: SlowProxy, sql: Sql) => Promise<unknown>]>([
    [
      'before a statement',
      async (proxy, sql) => {
        await proxy.close();
        return sql.query({ text: 'SELECT 1 AS one' });
      },
    ],
    [
      'while a statement runs',
      async (proxy, sql) => {
        const asked = sql.query({ text: LONG });
        asked.catch(() => undefined);
        await until(() => isRunning(LONG));
        await proxy.close();
        return asked;
      },
    ],
    [
      'while it is committed',
      (proxy) => {
        proxy.delayMs = DELAY_MS;
        setTimeout(() => void proxy.close(), CUT_AFTER_MS);
        return Promise.resolve();
      },
    ],
  ])('has an unknown outcome, and is no internal error: %s', async (_when, also) => {
    const proxy = await slowProxy(Number(new URL(test.url).port));
    const url = Object.assign(new URL(test.url), { port: String(proxy.port) }).href;
    const sql = openDatabase({ ...OPTIONS, url });
    const store = networksStore(sql);
    const change = () => store.insert(newNetwork(`cut-${proxy.port}`), async (of) => void (await also(proxy, of)));
    await expect(mapOutages(change, { changes: true, isReachable })).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    await sql.close();
  });
});

it('a change through Prisma for which no connection becomes free was not made', async () => {
  const sql = openDatabase({ ...OPTIONS, maxConnections: 1, deadlineMs: 500, url: test.url });
  const store = networksStore(sql);
  await store.find('acme');
  await sql.transaction(
    async () => {
      const change = () => store.insert(newNetwork('waiting'), () => Promise.resolve());
      await expect(mapOutages(change, { changes: true, isReachable })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    },
    { deadlineMs: 10_000 },
  );
  await sql.close();
});
