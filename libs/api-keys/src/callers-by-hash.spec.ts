import { describe, expect, it } from '@jest/globals';
import { DatabaseUnavailableError, type QueryOptions, type Sql, type Statement } from '@sealgate/storage';
import { callersByHash } from './index.ts';

const hashOf = (digit: number) => Buffer.alloc(32, digit);
const rowOf = (digit: number, name: string) => ({ key_hash: hashOf(digit), name });
const text = 'SELECT key_hash, name FROM desk.api_keys';

function lookUp(answer: (statement: Statement) => Promise<object[]>) {
  const asked: [Statement, QueryOptions | undefined][] = [];
  // Stands in for the database, so that it can be away, and count.
  const sql: Sql = {
    query: (statement, options) => {
      asked.push([statement, options]);
      return answer(statement) as Promise<never[]>;
    },
  };
  const { find } = callersByHash({
    sql,
    statement: { name: 'desk callers', text },
    callerOf: (row: ReturnType<typeof rowOf>) => ({ name: row.name }),
    now: () => 1000,
    deadlineMs: 70,
  });
  return { find, asked };
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
