import { describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { gatedDatabases, one, outcome } from './testing/gated-databases.ts';

const { open, server, gate } = gatedDatabases();

describe('the queue for connections', () => {
  it('ends each wait at its deadline, as not sent', async () => {
    const database = open({ maxConnections: 1 });
    const order: string[] = [];
    const busy = database.query({ text: 'SELECT pg_sleep(1)' }, { deadlineMs: 20_000 }).then(() => order.push('busy'));
    expect(await outcome(database.query(one, { deadlineMs: 100 }))).toEqual({ sent: false });
    order.push('refused');
    await busy;
    expect(order).toEqual(['refused', 'busy']);
    expect(await database.query(one)).toEqual([{ n: 1 }]);
  });

  it('gives a statement that waited only the rest of its deadline', async () => {
    const database = open({ maxConnections: 1, deadlineMs: 500 });
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
