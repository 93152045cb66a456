import { describe, expect, it } from '@jest/globals';
import { DatabaseUnavailableError, type QueryOptions, type Sql, type Statement } from '@sealgate/storage';
import { callersByHash, liveKeyCondition } from './index.ts';

const hashOf = (digit: number) => Buffer.alloc(32, digit);
const rowOf = (digit: number, name: string) => ({ key_hash: hashOf(digit), name });
const text = `SELECT k.key_hash, k.name FROM desk.api_keys k WHERE k.key_hash = ANY ($1) AND ${liveKeyCondition('k', '$2')}`;

function lookUp(answer: (statement: Statement) => Promise<object[]>, known: { endsAtMs?: () => number } = {}) {
  const asked: [Statement, QueryOptions | undefined][] = [];
  // A fake database that counts queries and can be away.
  const sql: Sql = {
    query: (statement, options) => {
      asked.push([statement, options]);
      return answer(statement) as Promise<never[]>;
    },
  };
  const clock = { nowMs: 1000 };
  const { find, lately } = callersByHash({
    sql,
    name: 'desk callers',
    columns: 'k.name',
    from: 'desk.api_keys k',
    callerOf: (row: ReturnType<typeof rowOf>) => ({ name: row.name }),
    now: () => clock.nowMs,
    deadlineMs: 70,
    ...known,
  });
  return { find, lately, asked, clock };
}

describe('find', () => {
  it('batches all look-ups of one turn into one query, each key once', async () => {
    // In another order than requested, as a database may return them.
    const { find, asked } = lookUp(async () => [rowOf(2, 'two'), rowOf(1, 'one')]);
    const found = await Promise.all([1, 2, 1, 3].map((digit) => find(hashOf(digit))));
    expect(found).toEqual([{ name: 'one' }, { name: 'two' }, { name: 'one' }, undefined]);
    const values = [[hashOf(1), hashOf(2), hashOf(3)], new Date(1000)];
    expect(asked).toEqual([[{ name: 'desk callers', text, values }, { deadlineMs: 70 }]]);
  });

  it('queries every time', async () => {
    const answers = [[rowOf(1, 'one')], []];
    const { find } = lookUp(async () => answers.shift()!);
    expect(await find(hashOf(1))).toEqual({ name: 'one' });
    expect(await find(hashOf(1))).toBeUndefined();
  });

  it('throws UNAVAILABLE for an outage instead of returning undefined', async () => {
    const cause = new DatabaseUnavailableError('away', { sent: true });
    const { find } = lookUp(() => Promise.reject(cause));
    const mapped = { code: 'UNAVAILABLE', message: 'The key store cannot be reached.', retryAfterSeconds: 1, cause };
    await Promise.all([1, 2].map((digit) => expect(find(hashOf(digit))).rejects.toMatchObject(mapped)));
  });

  it('rethrows a bug', async () => {
    const bug = new TypeError('x');
    await expect(lookUp(() => Promise.reject(bug)).find(hashOf(1))).rejects.toBe(bug);
  });
});

describe('lately', () => {
  const forEver = { endsAtMs: () => Number.POSITIVE_INFINITY };

  it('returns the caller for ten seconds, without a query', async () => {
    const { find, lately, asked, clock } = lookUp(async () => [rowOf(1, 'one')], forEver);
    expect(lately(hashOf(1))).toBeUndefined();
    await find(hashOf(1));
    clock.nowMs = 10_999;
    expect(lately(hashOf(1))).toEqual({ name: 'one' });
    expect(lately(hashOf(2))).toBeUndefined();
    clock.nowMs = 11_000;
    expect(lately(hashOf(1))).toBeUndefined();
    expect(asked).toHaveLength(1);
  });

  it('counts from the start of the query, not from its answer', async () => {
    const { find, lately, clock } = lookUp(async () => {
      clock.nowMs = 6000;
      return [rowOf(1, 'one')];
    }, forEver);
    await find(hashOf(1));
    clock.nowMs = 11_000;
    expect(lately(hashOf(1))).toBeUndefined();
  });

  it('returns nothing after the expiry of the key', async () => {
    const { find, lately, clock } = lookUp(async () => [rowOf(1, 'one')], { endsAtMs: () => 1500 });
    await find(hashOf(1));
    clock.nowMs = 1499;
    expect(lately(hashOf(1))).toEqual({ name: 'one' });
    clock.nowMs = 1500;
    expect(lately(hashOf(1))).toBeUndefined();
  });

  it('returns what the last look-up found, also nothing', async () => {
    const answers = [[rowOf(1, 'one')], [rowOf(1, 'other')], []];
    const { find, lately } = lookUp(async () => answers.shift()!, forEver);
    for (const expected of [{ name: 'one' }, { name: 'other' }, undefined]) {
      await find(hashOf(1));
      expect(lately(hashOf(1))).toEqual(expected);
    }
  });

  it('caches at most ten thousand keys', async () => {
    const hash = (n: number) => Buffer.alloc(32, String(n).padStart(32, '0'));
    const { find, lately } = lookUp(
      async ({ values }) => (values![0] as Buffer[]).map((key_hash) => ({ key_hash, name: 'x' })),
      forEver,
    );
    for (let n = 0; n < 10_001; n += 1000)
      await Promise.all(Array.from({ length: Math.min(1000, 10_001 - n) }, (_, i) => find(hash(n + i))));
    expect(lately(hash(0))).toBeUndefined();
    expect([lately(hash(1)), lately(hash(10_000))]).toEqual([{ name: 'x' }, { name: 'x' }]);
  });

  it('returns nothing without endsAtMs', async () => {
    const { find, lately } = lookUp(async () => [rowOf(1, 'one')]);
    await find(hashOf(1));
    expect(lately(hashOf(1))).toBeUndefined();
  });
});
