import { mock } from 'node:test';
import { describe, expect, it } from '@jest/globals';
import type { Sql, Statement } from '@sealgate/storage';
import { testClock } from '@sealgate/testing';
import { lastUsedWriter } from './key-use.ts';

/** Records the ids of each UPDATE. */
const recording = (answer: () => Promise<never[]> = () => Promise.resolve([])): { sql: Sql; writes: unknown[] } => {
  const writes: unknown[] = [];
  const query = ({ values }: Statement): Promise<never[]> => {
    writes.push(values?.[0]);
    return answer();
  };
  return { sql: { query }, writes };
};

describe('lastUsedWriter', () => {
  it('writes all touched keys together, each once', async () => {
    const { sql, writes } = recording();
    const writer = lastUsedWriter({ sql, schema: 'ingest', now: testClock().now });
    for (const id of ['key_1', 'key_2', 'key_1']) writer.touch(id);
    expect(writes).toEqual([]);
    await writer.flush();
    expect(writes).toEqual([['key_1', 'key_2']]);
    await writer.flush();
    expect(writes).toHaveLength(1);
  });

  it('writes a key again only after a minute', async () => {
    const { sql, writes } = recording();
    const clock = testClock();
    const writer = lastUsedWriter({ sql, schema: 'ingest', now: clock.now });
    for (const stepMs of [0, 59_999, 1]) {
      clock.advance(stepMs);
      writer.touch('key_1');
      await writer.flush();
    }
    expect(writes).toEqual([['key_1'], ['key_1']]);
  });

  it('writes after the delay from the first touch', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    const { sql, writes } = recording();
    const writer = lastUsedWriter({ sql, schema: 'ingest', now: () => 0, delayMs: 1_000 });
    writer.touch('key_1');
    mock.timers.tick(600);
    writer.touch('key_2');
    mock.timers.tick(399);
    expect(writes).toEqual([]);
    mock.timers.tick(1);
    mock.timers.reset();
    await new Promise(setImmediate);
    expect(writes).toEqual([['key_1', 'key_2']]);
  });

  it('drops a failed write, reports it, and writes at the next use', async () => {
    const failure = new Error('away');
    let away = true;
    const { sql, writes } = recording(() => (away ? Promise.reject(failure) : Promise.resolve([])));
    const reported: unknown[] = [];
    const onError = (error: unknown): void => void reported.push(error);
    const writer = lastUsedWriter({ sql, schema: 'ingest', now: testClock().now, onError });
    writer.touch('key_1');
    await writer.flush();
    expect(reported).toEqual([failure]);
    away = false;
    writer.touch('key_1');
    await writer.flush();
    expect(writes).toEqual([['key_1'], ['key_1']]);
    expect(reported).toHaveLength(1);
  });

  it('writes the waiting touches on close and ignores later ones', async () => {
    const { sql, writes } = recording();
    const writer = lastUsedWriter({ sql, schema: 'ingest', now: testClock().now });
    writer.touch('key_1');
    await writer.close();
    writer.touch('key_2');
    await writer.flush();
    expect(writes).toEqual([['key_1']]);
  });

  it('tracks a bounded number of keys, and has room again a minute later', async () => {
    const { sql, writes } = recording();
    const clock = testClock();
    const writer = lastUsedWriter({ sql, schema: 'ingest', now: clock.now });
    for (let key = 0; key <= 50_000; key += 1) writer.touch(`key_${key}`);
    await writer.flush();
    expect(writes[0]).toHaveLength(50_000);
    clock.advance(60_000);
    await writer.flush();
    writer.touch('key_50000');
    await writer.flush();
    expect(writes[1]).toEqual(['key_50000']);
  });
});
