import { describe, expect, it } from '@jest/globals';
import { DatabaseUnavailableError, type QueryOptions, type Sql, type Statement } from '@sealgate/storage';
import { callersByHash } from './index.ts';

const hashOf = (digit: number) => Buffer.alloc(32, digit);
const rowOf = (digit: number, name: string) => ({ key_hash: hashOf(digit), name });
const text = 'SELECT key_hash, name FROM desk.api_keys';

function lookUp(answer: (statement: Statement) => Promise<object[]>, known: { endsAtMs?: () => number } = {}) {
  const asked: [Statement, QueryOptions | undefined][] = [];
  // Stands in for the database, so that it can be away, and count.
  const sql: Sql = {
    query: (statement, options) => {
      asked.push([statement, options]);
      return answer(statement) as Promise<never[]>;
    },
  };
  const clock = { nowMs: 1000 };
  const { find, lately } = callersByHash({
    sql,
    statement: { name: 'desk callers', text },
    callerOf: (row: ReturnType<typeof rowOf>) => ({ name: row.name }),
    now: () => clock.nowMs,
    deadlineMs: 70,
    ...known,
  });
  return { find, lately, asked, clock };
}

describe('the look-up of callers', () => {
  it('is one query for all that is asked in one turn, each key once, and gives each its own', async () => {
    // In another order than they were asked for, as a database may.
    const { find, asked } = lookUp(async () => [rowOf(2, 'two'), rowOf(1, 'one')]);
    const found = await Promise.all([1, 2, 1, 3].map((digit) => find(hashOf(digit))));
    expect(found).toEqual([{ name: 'one' }, { name: 'two' }, { name: 'one' }, undefined]);
    const values = [[hashOf(1), hashOf(2), hashOf(3)], new Date(1000)];
    expect(asked).toEqual([[{ name: 'desk callers', text, values }, { deadlineMs: 70 }]]);
  });

  it('asks again every time', async () => {
    const answers = [[rowOf(1, 'one')], []];
    const { find } = lookUp(async () => answers.shift()!);
    expect(await find(hashOf(1))).toEqual({ name: 'one' });
    expect(await find(hashOf(1))).toBeUndefined();
  });

  it('says that nobody answers, and never that there is no such key, where nobody answers', async () => {
    const cause = new DatabaseUnavailableError('away', { sent: true });
    const { find } = lookUp(() => Promise.reject(cause));
    const told = { code: 'UNAVAILABLE', message: 'The key store cannot be reached.', retryAfterSeconds: 1, cause };
    await Promise.all([1, 2].map((digit) => expect(find(hashOf(digit))).rejects.toMatchObject(told)));
  });

  it('lets a bug pass as one', async () => {
    const bug = new TypeError('x');
    await expect(lookUp(() => Promise.reject(bug)).find(hashOf(1))).rejects.toBe(bug);
  });
});

describe('who was looked up lately', () => {
  const forEver = { endsAtMs: () => Number.POSITIVE_INFINITY };

  it('is known for ten seconds, without a query', async () => {
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

  it('is known from the moment of the question on, not of its answer', async () => {
    const { find, lately, clock } = lookUp(async () => {
      clock.nowMs = 6000;
      return [rowOf(1, 'one')];
    }, forEver);
    await find(hashOf(1));
    clock.nowMs = 11_000;
    expect(lately(hashOf(1))).toBeUndefined();
  });

  it('is not known past the end of its key', async () => {
    const { find, lately, clock } = lookUp(async () => [rowOf(1, 'one')], { endsAtMs: () => 1500 });
    await find(hashOf(1));
    clock.nowMs = 1499;
    expect(lately(hashOf(1))).toEqual({ name: 'one' });
    clock.nowMs = 1500;
    expect(lately(hashOf(1))).toBeUndefined();
  });

  it('is who the last look-up found, and nobody once it found nobody', async () => {
    const answers = [[rowOf(1, 'one')], [rowOf(1, 'other')], []];
    const { find, lately } = lookUp(async () => answers.shift()!, forEver);
    for (const expected of [{ name: 'one' }, { name: 'other' }, undefined]) {
      await find(hashOf(1));
      expect(lately(hashOf(1))).toEqual(expected);
    }
  });

  it('is at most ten thousand keys', async () => {
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

  it('is nobody where callers are not to be known', async () => {
    const { find, lately } = lookUp(async () => [rowOf(1, 'one')]);
    await find(hashOf(1));
    expect(lately(hashOf(1))).toBeUndefined();
  });
});
