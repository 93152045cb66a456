import { describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { DatabaseError } from 'pg';
import { DatabaseUnavailableError, isUniqueViolation, type Database } from './index.ts';
import { gatedDatabases, one, outcome } from './testing/gated-databases.ts';

const { open, server, gate } = gatedDatabases();

const backendsOf = async (database: Database, condition: string): Promise<number> => {
  const text = `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND ${condition}`;
  const [row] = await database.query<{ n: number }>({ text });
  return row?.n ?? -1;
};

describe('a statement', () => {
  it('returns its rows, repeatedly over the same connection', async () => {
    const database = open();
    expect(await database.query(one)).toEqual([{ n: 1 }]);
    expect(await database.query({ ...one, values: [2] })).toEqual([{ n: 2 }]);
    expect(database.stats()).toEqual({ total: 1, idle: 1, waiting: 0 });
  });

  it('is prepared under its name unless prepared statements are off', async () => {
    const prepared = { text: `SELECT count(*)::int AS n FROM pg_prepared_statements WHERE name = 'one'` };
    const on = open({ maxConnections: 1 });
    await on.query(one);
    expect(await on.query(prepared)).toEqual([{ n: 1 }]);
    const off = open({ maxConnections: 1, preparedStatements: false });
    expect(await off.query(one)).toEqual([{ n: 1 }]);
    expect(await off.query(prepared)).toEqual([{ n: 0 }]);
  });

  it('is answered after a table has changed under the plans of all connections', async () => {
    const database = open({ url: server().url, deadlineMs: 10_000, connectTimeoutMs: 10_000 });
    const asked = { name: 'all of t', text: 'SELECT * FROM t' };
    const slow = { text: 'SELECT pg_sleep(0.1)' };
    await Promise.all(
      [1, 2, 3, 4].map(() =>
        database.transaction(async (sql) => {
          await sql.query(asked);
          await sql.query(slow);
        }),
      ),
    );
    expect(database.stats().total).toBe(4);
    await database.query({ text: 'ALTER TABLE t ADD COLUMN more int' });
    expect(await database.query(asked)).toEqual([]);
  });

  it('rethrows a refusal of the server and keeps the connection', async () => {
    const database = open({ maxConnections: 1 });
    const insert = { name: 'insert', text: 'INSERT INTO t VALUES ($1)', values: [1] };
    await database.query(insert);
    for (let again = 0; again < 3; again += 1) {
      const error: unknown = await database.query(insert).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(DatabaseError);
      expect(isUniqueViolation(error)).toBe(true);
      expect(isUniqueViolation(error, 't_id')).toBe(true);
      expect(isUniqueViolation(error, 'other')).toBe(false);
    }
    expect(database.stats()).toEqual({ total: 1, idle: 1, waiting: 0 });
    expect(gate().connections).toBe(1);
  });

  it('that cannot be serialised throws the TypeError and does not affect later ones', async () => {
    const database = open({ maxConnections: 1 });
    const circular: { self?: unknown } = {};
    circular.self = circular;
    await expect(database.query({ ...one, values: [circular] })).rejects.toThrow(TypeError);
    expect(await database.query(one)).toEqual([{ n: 1 }]);
  });

  it('fails at its deadline when the server falls silent, and its connection is not reused', async () => {
    const database = open();
    await Promise.all([database.query(one), database.query(one)]);
    gate().freeze();
    const startedAt = performance.now();
    expect(await outcome(database.query(one))).toEqual({ sent: true });
    const tookMs = performance.now() - startedAt;
    expect(tookMs).toBeGreaterThanOrEqual(395);
    expect(tookMs).toBeLessThan(2_000);
    await until(() => database.stats().total === 0); // The idle one is dropped too.
    gate().thaw();
    expect(await database.query(one)).toEqual([{ n: 1 }]);
  });

  it('may have a shorter deadline of its own', async () => {
    const database = open({ deadlineMs: 60_000 });
    expect(await outcome(database.query({ text: 'SELECT pg_sleep(30)' }, { deadlineMs: 100 }))).toEqual({ sent: true });
  });

  it('may have a longer deadline of its own', async () => {
    const database = open({ deadlineMs: 100 });
    await database.query(one);
    const slow = database.query({ text: 'SELECT pg_sleep(0.3), 1 AS n' }, { deadlineMs: 5_000 });
    expect(await slow).toMatchObject([{ n: 1 }]);
  });

  it('stops running on the server after its deadline', async () => {
    const database = open({ url: server().url });
    const sleeping = `query LIKE 'SELECT pg_sleep(600)%' AND state = 'active'`;
    expect(await outcome(database.query({ text: 'SELECT pg_sleep(600)' }, { deadlineMs: 150 }))).toEqual({
      sent: true,
    });
    await until(async () => (await backendsOf(database, sleeping)) === 0);
  });

  it('counts an answer that arrived while this process was busy past the deadline', async () => {
    const database = open({ url: server().url, deadlineMs: 100 });
    await database.query(one);
    const asked = database.query(one);
    // The statement is sent on the next tick; then the event loop is blocked past its deadline.
    await new Promise((resolve) => setImmediate(resolve));
    const blockedUntil = performance.now() + 250;
    while (performance.now() < blockedUntil);
    expect(await asked).toEqual([{ n: 1 }]);
  });
});

describe('a connection', () => {
  it('that cannot be made fails the statement as not sent', async () => {
    const database = open();
    await gate().shut();
    expect(await outcome(database.query(one))).toEqual({ sent: false });
    await gate().open();
    expect(await database.query(one)).toEqual([{ n: 1 }]);
  });

  it('that is accepted but never answered fails after the connect timeout', async () => {
    const database = open({ connectTimeoutMs: 100, deadlineMs: 60_000 });
    gate().freeze();
    expect(await outcome(database.query(one))).toEqual({ sent: false });
  });

  it('refused by the server for another reason rethrows that error', async () => {
    const url = Object.assign(new URL(server().url), { pathname: '/nowhere' }).href;
    await expect(open({ url }).query(one)).rejects.toMatchObject({ code: '3D000' });
  });

  it('refused by a full server is unavailable and not sent', async () => {
    const setup = open({ url: server().url });
    await setup.query({ text: `DROP ROLE IF EXISTS lonely` });
    await setup.query({ text: `CREATE ROLE lonely LOGIN PASSWORD 'lonely' CONNECTION LIMIT 0` });
    const url = Object.assign(new URL(server().url), { username: 'lonely', password: 'lonely' }).href;
    expect(await outcome(open({ url }).query(one))).toEqual({ sent: false });
  });

  it('cut during a statement reports it as possibly done', async () => {
    const database = open();
    await database.query(one);
    gate().loseNextAnswer();
    expect(await outcome(database.query({ text: 'INSERT INTO t VALUES (1)' }))).toEqual({ sent: true });
    expect(await database.query({ text: 'SELECT id FROM t' })).toEqual([{ id: 1 }]); // And here it did.
  });

  it.each(['reset', 'shut'] as const)('cut while idle (%s) fails no later statement', async (how) => {
    const reported: Error[] = [];
    const database = open({ onIdleError: (error) => reported.push(error) });
    await Promise.all([database.query(one), database.query(one), database.query(one)]);
    expect(database.stats().idle).toBe(3);
    if (how === 'reset') gate().reset();
    else {
      await gate().shut();
      await gate().open();
    }
    // A statement that comes before the pool has heard of it is the next story: nothing is left idle then.
    await until(() => gate().connections === 0 && reported.length > 0);
    expect(await database.query(one)).toEqual([{ n: 1 }]);
  });

  it('cut while the event loop was blocked fails no statement that follows at once', async () => {
    const database = open({ url: server().url, maxConnections: 2 });
    const killer = open({ url: server().url });
    const [row] = await database.query<{ pid: number }>({ text: 'SELECT pg_backend_pid() AS pid' });
    // The kill is sent before, and arrives while, the event loop is blocked.
    const killed = killer.query({ text: 'SELECT pg_terminate_backend($1)', values: [row?.pid] });
    await new Promise((resolve) => setImmediate(resolve));
    const blockedUntil = performance.now() + 300;
    while (performance.now() < blockedUntil);
    expect(await database.query(one)).toEqual([{ n: 1 }]);
    await killed;
  });

  it('ended by an administrator during a statement is unavailable, and the next statement works', async () => {
    const database = open({ url: server().url });
    const killer = open({ url: server().url });
    const sleeping = outcome(database.query({ text: 'SELECT pg_sleep(601)' }, { deadlineMs: 20_000 }));
    const kill = {
      text: `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(601)'`,
    };
    await until(async () => (await killer.query(kill)).length > 0);
    expect(await sleeping).toEqual({ sent: true });
    expect(await database.query(one)).toEqual([{ n: 1 }]);
  });
});

describe('ping', () => {
  it('succeeds while the server answers, and fails at its own deadline', async () => {
    const database = open({ deadlineMs: 60_000 });
    await database.ping(1_000);
    gate().freeze();
    await expect(database.ping(100)).rejects.toBeInstanceOf(DatabaseUnavailableError);
  });
});

describe('the queue for connections', () => {
  it('ends each wait at its deadline, as not sent', async () => {
    const database = open({ maxConnections: 1, connectTimeoutMs: 10_000, deadlineMs: 20_000 });
    await database.query(one);
    const order: string[] = [];
    const busy = database.query({ text: 'SELECT pg_sleep(1)' }).then(() => order.push('busy'));
    expect(await outcome(database.query(one, { deadlineMs: 100 }))).toEqual({ sent: false });
    order.push('refused');
    await busy;
    expect(order).toEqual(['refused', 'busy']);
    expect(await database.query(one)).toEqual([{ n: 1 }]);
  });

  it('gives a statement that waited only the rest of its deadline', async () => {
    const database = open({ maxConnections: 1, deadlineMs: 500 });
    await database.query(one);
    const busy = database.query({ text: 'SELECT pg_sleep(0.3)' });
    const startedAt = performance.now();
    expect(await outcome(database.query({ text: 'SELECT pg_sleep(30)' }))).toEqual({ sent: true });
    expect(performance.now() - startedAt).toBeLessThan(790); // 300 ms less than with a deadline of its own.
    await busy;
  });

  it('refuses at once when too many callers wait', async () => {
    const database = open({ maxConnections: 1, deadlineMs: 5_000 });
    const calls = Array.from({ length: 2_010 }, () => outcome(database.query(one)));
    const answers = await Promise.all(calls);
    expect(answers.filter((answer) => !Array.isArray(answer)).length).toBeGreaterThan(0);
    expect(answers.filter((answer) => Array.isArray(answer)).length).toBeGreaterThanOrEqual(2_000);
  });
});

describe('the pool for other drivers', () => {
  it('has the default deadline for each lease', async () => {
    const database = open({ deadlineMs: 150 });
    await expect(database.pool.query('SELECT pg_sleep(30)')).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    const client = await database.pool.connect();
    await client.query('BEGIN');
    await expect(client.query('SELECT pg_sleep(30)')).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    client.release();
    expect(await database.query(one)).toEqual([{ n: 1 }]);
  });

  it('does not reuse a connection released inside a transaction', async () => {
    const database = open({ maxConnections: 1 });
    const client = await database.pool.connect();
    await client.query('BEGIN');
    await client.query('INSERT INTO t VALUES (7)');
    client.release();
    expect(await database.query({ text: 'SELECT id FROM t' })).toEqual([]);
  });

  it('does not expose the address of the database', async () => {
    const database = open();
    await database.query(one);
    expect(JSON.stringify(database.pool.options)).not.toContain(new URL(server().url).hostname);
  });
});

describe('close', () => {
  it('waits for running statements and refuses later ones as not sent', async () => {
    const database = open();
    const running = database.query({ text: 'SELECT pg_sleep(0.1), 1 AS n' });
    await until(() => database.stats().total === 1);
    await database.close();
    expect(await running).toMatchObject([{ n: 1 }]);
    expect(await outcome(database.query(one))).toEqual({ sent: false });
    await until(() => gate().connections === 0);
  });

  it('ends in time while the server is silent', async () => {
    const database = open();
    await Promise.all([database.query(one), database.query(one)]);
    gate().freeze();
    const running = outcome(database.query(one));
    const startedAt = performance.now();
    await database.close();
    expect(performance.now() - startedAt).toBeLessThan(3_000);
    expect(await running).toEqual({ sent: true });
  });
});
