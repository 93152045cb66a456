import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { AppError } from '@sealgate/errors';
import fc from 'fast-check';
import { until } from '@sealgate/testing';
import {
  DEFAULT_LIMITS,
  readSubmission,
  type CanonicalSubmission,
  type ReadingRules,
} from '../domain/read-submission.ts';
import { ReadingThread, TurnQueue, type ReadingLimits } from './reading-thread.ts';

const rules: ReadingRules = { record: 'envelope', limits: { ...DEFAULT_LIMITS, maxBatchRecords: 3 } };
const LIMITS: ReadingLimits = {
  waiting: { maxBytes: 10_000_000, maxBytesOfOne: 5_000_000 },
  waitMs: 1,
  readMs: 2,
  idleMs: 3,
};

/** Timers that the test fires, identified by their duration. */
function handTimers() {
  const running = new Set<{ ms: number; done: () => void }>();
  return {
    start: (done: () => void, ms: number) => {
      const timer = { ms, done };
      running.add(timer);
      return () => void running.delete(timer);
    },
    count: (ms: number) => [...running].filter((timer) => timer.ms === ms).length,
    runOut: (ms: number) => {
      for (const timer of [...running].filter((each) => each.ms === ms)) {
        running.delete(timer);
        timer.done();
      }
    },
  };
}

const open: ReadingThread[] = [];
afterEach(async () => {
  for (const thread of open.splice(0)) await thread.close();
});

function readerOf(program: string, limits: Partial<ReadingLimits> = {}) {
  const timers = handTimers();
  const lost: string[] = [];
  const thread = new ReadingThread({
    program: new URL(program, import.meta.url),
    limits: { ...LIMITS, ...limits },
    heap: { maxOldGenerationSizeMb: 64 },
    startTimer: timers.start,
    onLost: (reason) => lost.push(reason),
  });
  open.push(thread);
  const read = (text: string, sender = 'acme') => thread.read(Buffer.from(text), rules, sender);
  return { thread, read, timers, lost };
}

const unruly = './unruly-reader.fixture.ts';
const idOf = (submission: CanonicalSubmission) => (submission.kind === 'write' ? submission.records[0]!.id : 'ping');
const codeOf = (reading: Promise<CanonicalSubmission>) =>
  reading.then(
    () => 'read',
    (error: unknown) => (error instanceof AppError ? error.code : String(error)),
  );

describe('a body read in a thread', () => {
  const { read, thread } = readerOf('../reading-worker.ts');
  open.pop(); // Shared by these tests, closed after them.
  afterAll(() => thread.close());

  /** The result or the refusal of reading, in the form that is sent. */
  async function outcomeOf(reading: () => CanonicalSubmission | Promise<CanonicalSubmission>): Promise<unknown> {
    try {
      return await reading();
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      const { code, status, message, faults, members, headers, retryAfterSeconds } = error;
      return { code, status, message, faults, members, headers, retryAfterSeconds };
    }
  }
  const expectSame = async (text: string) => {
    const here = await outcomeOf(() => readSubmission(Buffer.from(text), rules));
    expect(await outcomeOf(() => read(text))).toEqual(here);
    return here;
  };

  it.each([
    ['a record', '{"id":"a","data":{"ü":[1.50,"€\\u0000"],"cvv":1},"z":null}'],
    ['a batch', '{"assets":[{"targetChannels":["b","a"]},7,{"owner":"o"}]}'],
    ['a ping', '{"type":"ping"}'],
  ])('gives the same result as on the main thread: %s', async (_, text) => {
    expect(await expectSame(text)).toHaveProperty('kind');
  });

  it.each([
    ['INVALID_JSON', '{'],
    ['INVALID_JSON', '["\\ud800"]'],
    ['DUPLICATE_MEMBER', '{"a":{"b":1,"b":2}}'],
    ['UNSAFE_NUMBER', '[1e400]'],
    ['JSON_TOO_DEEP', '['.repeat(65) + ']'.repeat(65)],
    ['INVALID_REQUEST', '{"id":1,"type":"","targetChannels":[1,1,"a","a"]}'],
    ['BATCH_TOO_LARGE', '{"assets":[1,2,3,4]}'],
  ])('is refused as on the main thread: %s for %s', async (code, text) => {
    expect(await expectSame(text)).toMatchObject({ code });
  });

  it('gives the same result as on the main thread, for every JSON value', async () => {
    const json = fc.json({ maxDepth: 4 });
    await fc.assert(
      fc.asyncProperty(fc.oneof(json, fc.string()), async (text) => void (await expectSame(text))),
      { numRuns: 200 },
    );
  });

  it('is read from exactly its bytes, even as part of a larger buffer', async () => {
    const pooled = Buffer.from('[1]{"id":"within"}[2]');
    const submission = await thread.read(pooled.subarray(3, -3), rules, 'acme');
    expect(idOf(submission)).toBe('within');
    // The bytes are kept: the fingerprint is computed from them later.
    expect(pooled.toString()).toBe('[1]{"id":"within"}[2]');
  });
});

describe('a reading thread', () => {
  it('reads one body at a time, and senders take turns', async () => {
    const { thread, read } = readerOf(unruly);
    const order: string[] = [];
    const keep = (submission: CanonicalSubmission) => void order.push(idOf(submission)!);
    const all = ['a1', 'a2', 'a3'].map((text) => read(text, 'a').then(keep));
    all.push(read('b1', 'b').then(keep));
    expect(thread.depth).toBe(4);
    await Promise.all(all);
    expect(order).toEqual(['a1', 'a2', 'b1', 'a3']);
    expect(thread.depth).toBe(0);
  });

  it.each([
    ['exits', 'exit', 'The reading thread ended with 7.'],
    ['throws', 'throw', 'A bug of the reader.'],
    ['fills its heap', 'fill', 'Worker terminated due to reaching memory limit: JS heap out of memory'],
  ])('that %s fails the body it was reading and no other: the next thread reads those', async (_, text, reason) => {
    const { read, lost } = readerOf(unruly);
    const [first, failed, behind] = [read('first'), codeOf(read(text)), read('behind')];
    expect(idOf(await first)).toBe('first');
    expect(await failed).toBe('Error: The reading thread was lost.');
    expect(idOf(await behind)).toBe('behind');
    expect(idOf(await read('later'))).toBe('later');
    expect(lost).toEqual([expect.stringContaining(reason)]);
  });

  it('that cannot be started fails each body as a bug, and leaves none queued', async () => {
    const { thread, read, lost } = readerOf('./no-such-reader.ts');
    const readings = ['one', 'two'].map((text) => codeOf(read(text)));
    for (const code of await Promise.all(readings)) expect(code).toBe('Error: The reading thread was lost.');
    expect(lost).toEqual([expect.stringContaining('no-such-reader'), expect.stringContaining('no-such-reader')]);
    expect(thread.depth).toBe(0);
  });

  it.each([
    ['hangs', 'hang'],
    ['loops for ever', 'busy'],
  ])('that %s is terminated at its timeout, and the next thread reads the queued bodies', async (_, text) => {
    const { read, timers, lost } = readerOf(unruly);
    expect(idOf(await read('first'))).toBe('first');
    const [stuck, behind] = [codeOf(read(text)), read('behind')];
    expect(timers.count(LIMITS.readMs)).toBe(1);
    timers.runOut(LIMITS.readMs);
    expect(await stuck).toBe('OVERLOADED');
    expect(idOf(await behind)).toBe('behind');
    expect(lost).toEqual(['A body took too long to read.']);
  });

  it('refuses bodies beyond the bound of the queue, per sender and in total', async () => {
    const { read } = readerOf(unruly, { waiting: { maxBytes: 12, maxBytesOfOne: 8 } });
    // The first is posted to the thread at once, so it is not queued.
    const taken = [read('hang', 'a'), read('four', 'a'), read('four', 'a'), read('four', 'b')].map(codeOf);
    expect(await codeOf(read('x', 'a'))).toBe('OVERLOADED');
    expect(await codeOf(read('x', 'c'))).toBe('OVERLOADED');
    await open.pop()!.close();
    expect(await Promise.all(taken)).toEqual(['UNAVAILABLE', 'UNAVAILABLE', 'UNAVAILABLE', 'UNAVAILABLE']);
  });

  it('refuses a body that was queued too long, and reads later ones', async () => {
    const { thread, read, timers } = readerOf(unruly);
    const [hanging, waiting] = [codeOf(read('hang')), codeOf(read('waiting'))];
    timers.runOut(LIMITS.waitMs);
    expect(await waiting).toBe('OVERLOADED');
    expect(thread.depth).toBe(1);
    const later = read('later');
    timers.runOut(LIMITS.readMs);
    expect(await hanging).toBe('OVERLOADED');
    expect(idOf(await later)).toBe('later');
  });

  it('is terminated when idle, without a report, and started again by the next body', async () => {
    const { read, timers, lost } = readerOf(unruly);
    await read('one');
    await read('two');
    expect(timers.count(LIMITS.idleMs)).toBe(1);
    timers.runOut(LIMITS.idleMs);
    expect(idOf(await read('three'))).toBe('three');
    expect(lost).toEqual([]);
  });

  it('reports its loss once, whatever its exit adds, and leaves no timer', async () => {
    const { thread, read, timers, lost } = readerOf(unruly);
    expect(await codeOf(read('throw'))).toBe('Error: The reading thread was lost.');
    await until(() => timers.count(LIMITS.idleMs) === 1, { what: 'an idle reader' });
    expect(idOf(await read('next'))).toBe('next');
    expect(lost).toHaveLength(1);
    await thread.close();
    expect([LIMITS.waitMs, LIMITS.readMs, LIMITS.idleMs].map(timers.count)).toEqual([0, 0, 0]);
  });

  it('ends with the process: queued and running bodies are refused, and no more are accepted', async () => {
    const { thread, read } = readerOf(unruly);
    const readings = ['busy', 'behind'].map((text) => codeOf(read(text)));
    await thread.close();
    await thread.close();
    expect(await Promise.all(readings)).toEqual(['UNAVAILABLE', 'UNAVAILABLE']);
    expect(await codeOf(read('late'))).toBe('UNAVAILABLE');
  });
});

const queueOf = (...items: [sender: string, item: string][]): TurnQueue<string> => {
  const queue = new TurnQueue<string>({ maxBytes: 10, maxBytesOfOne: 6 });
  for (const [sender, item] of items) expect(queue.add(sender, 1, item)).toBe(true);
  return queue;
};

const taken = (queue: TurnQueue<string>): string[] => {
  const items: string[] = [];
  for (let item = queue.take(); item !== undefined; item = queue.take()) items.push(item);
  return items;
};

describe('a queue of turns', () => {
  it('takes one item of each sender in turn, and keeps the order of each', () => {
    const queue = queueOf(['a', 'a1'], ['a', 'a2'], ['a', 'a3'], ['b', 'b1'], ['c', 'c1'], ['b', 'b2']);
    expect(queue.size).toBe(6);
    expect(taken(queue)).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
    expect(queue.size).toBe(0);
  });

  it('puts a new sender behind those that wait for their turn', () => {
    const queue = queueOf(['a', 'a1'], ['a', 'a2'], ['a', 'a3']);
    expect(queue.take()).toBe('a1');
    queue.add('b', 1, 'b1');
    expect(taken(queue)).toEqual(['a2', 'b1', 'a3']);
  });

  it('is bounded in bytes per sender and in total, exactly, and accepts again what fits', () => {
    const queue = new TurnQueue<string>({ maxBytes: 10, maxBytesOfOne: 6 });
    expect(queue.add('a', 6, 'a1')).toBe(true);
    expect(queue.add('a', 1, 'a2')).toBe(false);
    expect(queue.add('b', 5, 'b1')).toBe(false);
    expect(queue.add('b', 4, 'b2')).toBe(true);
    expect(queue.add('c', 1, 'c1')).toBe(false);
    expect(queue.take()).toBe('a1');
    expect(queue.add('c', 6, 'c2')).toBe(true);
    expect(queue.size).toBe(2);
    expect(taken(queue)).toEqual(['b2', 'c2']);
  });

  it('removes an item and its bytes once', () => {
    const queue = queueOf(['a', 'a1'], ['a', 'a2'], ['b', 'b1']);
    queue.remove('a', 'a1');
    queue.remove('a', 'a1');
    queue.remove('b', 'b1');
    queue.remove('nobody', 'x');
    expect(queue.size).toBe(1);
    expect(queue.add('c', 6, 'c1')).toBe(true);
    expect(queue.add('b', 3, 'b2')).toBe(true);
    expect(taken(queue)).toEqual(['a2', 'c1', 'b2']);
  });
});
