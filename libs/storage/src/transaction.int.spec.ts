import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { gatedDatabases, outcome } from './testing/gated-databases.ts';
import { isUniqueViolation, type Database, type Sql } from './index.ts';

const { open, server, gate } = gatedDatabases();
let database: Database;
let observer: Database;

beforeEach(() => {
  database = open();
  observer = open({ url: server().url, connectTimeoutMs: 10_000, deadlineMs: 10_000 });
});

const insert = (id: number): { name: string; text: string; values: number[] } => ({
  name: 'insert',
  text: 'INSERT INTO t VALUES ($1)',
  values: [id],
});
const ids = async (): Promise<number[]> => {
  const rows = await observer.query<{ id: number }>({ text: 'SELECT id FROM t ORDER BY id' });
  return rows.map(({ id }) => id);
};

describe('a transaction', () => {
  it('commits its work and returns its result', async () => {
    const result = await database.transaction(async (sql) => {
      await sql.query(insert(1));
      await sql.query(insert(2));
      return sql.query<{ n: number }>({ text: 'SELECT count(*)::int AS n FROM t' });
    });
    expect(result).toEqual([{ n: 2 }]);
    expect(await ids()).toEqual([1, 2]);
    expect(database.stats()).toEqual({ total: 1, idle: 1, waiting: 0 });
  });

  it('is rolled back when its work throws, and rethrows the error', async () => {
    const bug = new Error('a bug');
    const call = database.transaction(async (sql) => {
      await sql.query(insert(1));
      throw bug;
    });
    await expect(call).rejects.toBe(bug);
    expect(await ids()).toEqual([]);
    expect(database.stats()).toEqual({ total: 1, idle: 1, waiting: 0 });
  });

  it('rethrows a refusal of the server', async () => {
    await observer.query(insert(1));
    const call = database.transaction(async (sql) => {
      await sql.query(insert(2));
      await sql.query(insert(1));
    });
    expect(isUniqueViolation(await call.catch((error: unknown) => error), 't_id')).toBe(true);
    expect(await ids()).toEqual([1]);
  });

  it('does not report a commit after a refusal that its work swallowed', async () => {
    await observer.query(insert(1));
    const call = database.transaction(async (sql) => {
      await sql.query(insert(2));
      await sql.query(insert(1)).catch(() => undefined);
    });
    await expect(call).rejects.toThrow('rolled back');
    expect(await ids()).toEqual([1]);
  });

  it('rethrows a refusal at COMMIT', async () => {
    await observer.query({ text: 'ALTER TABLE t ADD CONSTRAINT u UNIQUE (id) DEFERRABLE INITIALLY DEFERRED' });
    await observer.query({ text: 'ALTER TABLE t DROP CONSTRAINT t_id' });
    const call = database.transaction(async (sql) => {
      await sql.query(insert(1));
      await sql.query(insert(1));
    });
    expect(isUniqueViolation(await call.catch((error: unknown) => error), 'u')).toBe(true);
    expect(await database.transaction(() => Promise.resolve('next'))).toBe('next');
  });

  it('runs statements one by one, and waits for those its work did not await', async () => {
    await database.transaction((sql) => {
      for (const id of [1, 2, 3, 4]) void sql.query(insert(id));
      return Promise.resolve();
    });
    expect(await ids()).toEqual([1, 2, 3, 4]);
  });

  it('refuses a statement after its end', async () => {
    let kept: Sql | undefined;
    await database.transaction((sql) => {
      kept = sql;
      return Promise.resolve();
    });
    expect(kept).toBeDefined();
    expect(await outcome(Promise.resolve(kept?.query(insert(1))))).toEqual({ sent: false });
    expect(await ids()).toEqual([]);
  });

  it('leaves no setting behind in the session', async () => {
    await database.transaction((sql) => sql.query({ text: `SET LOCAL work_mem = '1MB'` }));
    const text = `SELECT current_setting('statement_timeout') AS a, current_setting('idle_in_transaction_session_timeout') AS b`;
    expect(await database.query({ text })).toEqual([{ a: '0', b: '0' }]);
  });

  it('has a slightly later limit on the server', async () => {
    const text = `SELECT current_setting('statement_timeout') AS a, current_setting('idle_in_transaction_session_timeout') AS b`;
    expect(await database.transaction((sql) => sql.query({ text }))).toEqual([{ a: '1400ms', b: '1400ms' }]);
  });
});

describe('the deadline of a transaction', () => {
  it('covers all its statements together', async () => {
    const startedAt = performance.now();
    const call = database.transaction(async (sql) => {
      await sql.query(insert(1));
      for (;;) await sql.query({ text: 'SELECT pg_sleep(0.15)' });
    });
    expect(await outcome(call)).toEqual({ sent: false }); // COMMIT was never sent.
    expect(performance.now() - startedAt).toBeLessThan(3_000);
    await until(async () => (await ids()).length === 0);
  });

  it('covers work that awaits something else, which can run no statement afterwards', async () => {
    let wake = (): void => undefined;
    const woken = new Promise<void>((resolve) => {
      wake = resolve;
    });
    let late: Promise<unknown> | undefined;
    const call = database.transaction(async (sql) => {
      await sql.query(insert(1));
      await woken;
      late = outcome(sql.query(insert(2)));
      await late;
    });
    expect(await outcome(call)).toEqual({ sent: false });
    wake();
    await until(() => late !== undefined);
    expect(await late).toEqual({ sent: false });
    expect(await ids()).toEqual([]);
  });

  it.each([
    ['ended the idle transaction', 'SELECT 1', () => Promise.resolve()],
    ['cancelled its statement', 'SELECT pg_sleep(10)', () => delay(100)],
  ])('counts as an outage when the event loop was blocked until the server %s', async (_what, text, isSent) => {
    const direct = open({ url: server().url, deadlineMs: 400 }); // The gate is in this process, and would be blocked too.
    const call = direct.transaction(async (sql) => {
      await sql.query(insert(1));
      if (text === 'SELECT 1') blockEventLoop(1_800);
      const last = sql.query({ text });
      await isSent();
      if (text !== 'SELECT 1') blockEventLoop(1_800);
      await last;
    });
    expect(await outcome(call)).toEqual({ sent: false });
    expect(await ids()).toEqual([]);
  });

  it('may be longer or shorter than the default', async () => {
    const slow = { text: 'SELECT pg_sleep(0.6), 1 AS n' };
    expect(await database.transaction((sql) => sql.query(slow), { deadlineMs: 5_000 })).toMatchObject([{ n: 1 }]);
    expect(await outcome(database.transaction((sql) => sql.query(slow), { deadlineMs: 100 }))).toEqual({ sent: false });
  });

  it('may be shorter for one statement', async () => {
    const call = database.transaction(
      async (sql) => {
        await sql.query({ text: 'SELECT 1' }, { deadlineMs: 100 });
        await sql.query({ text: 'SELECT pg_sleep(0.3)' }); // The first one's deadline no longer applies.
        await sql.query({ text: 'SELECT pg_sleep(30)' }, { deadlineMs: 100 });
      },
      { deadlineMs: 20_000 },
    );
    expect(await outcome(call)).toEqual({ sent: false });
  });
});

describe('a transaction on a faulty network', () => {
  it('has no effect when it is cut before COMMIT', async () => {
    const call = database.transaction(async (sql) => {
      await sql.query(insert(1));
      gate().reset();
      await sql.query(insert(2));
    });
    expect(await outcome(call)).toEqual({ sent: false });
    expect(await ids()).toEqual([]);
  });

  it('has no effect when the server falls silent before COMMIT', async () => {
    const call = database.transaction(async (sql) => {
      await sql.query(insert(1));
      gate().freeze();
      await sql.query(insert(2));
    });
    expect(await outcome(call)).toEqual({ sent: false });
  });

  it('may have committed when the answer to COMMIT is lost', async () => {
    const call = database.transaction(async (sql) => {
      await sql.query(insert(1));
      gate().loseNextAnswer();
    });
    expect(await outcome(call)).toEqual({ sent: true });
    await until(async () => (await ids()).length === 1);
  });

  it('starts on another connection when the first one is dead', async () => {
    await database.query({ text: 'SELECT 1' });
    gate().loseNextAnswer();
    expect(await database.transaction((sql) => sql.query({ text: 'SELECT 1 AS n' }))).toEqual([{ n: 1 }]);
  });
});

/** The server's limit on the transactions of this file passes meanwhile. */
const blockEventLoop = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
