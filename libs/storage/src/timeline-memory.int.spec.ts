import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { describeWithRedis, throwawayRedis, until, type ThrowawayRedis } from '@sealgate/testing';
import { Redis } from 'ioredis';
import { timelineMemory, type TimelineEvent } from './timeline-memory.ts';

const database = '7123456789012345678.16384';
const at = (timeline: number, accepted = 0) => ({ accepted, timeline });
const now = () => Date.parse('2030-01-01T00:00:00Z');
const events: TimelineEvent[] = [];
const report = (event: TimelineEvent): void => void events.push(event);
afterEach(() => void events.splice(0));

describe('the folder of timelines', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sealgate-state-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('tells a restarted process the newest that was seen, and keeps one file for each database', () => {
    const made = join(folder, 'made', 'here');
    const memory = timelineMemory({ folder: made });
    memory.see(database, at(2));
    memory.see(database, at(10));
    memory.see(database, at(3));
    expect(readdirSync(made)).toEqual([`timeline-${database}-0-10`]);
    expect(timelineMemory({ folder: made }).newest(database)).toEqual(at(10));
  });

  it('is never set back by another process that knows less', () => {
    const [behind, ahead] = [timelineMemory({ folder }), timelineMemory({ folder })];
    behind.see(database, at(2));
    ahead.see(database, at(9));
    behind.see(database, at(3));
    expect(timelineMemory({ folder }).newest(database)).toEqual(at(9));
  });

  it('with foreign, cut or impossible files is named, and does not keep the service from its servers', () => {
    for (const name of ['notes.txt', 'timeline-', `timeline-${database}-x-1`, `timeline-${database}-0-0`])
      writeFileSync(join(folder, name), 'garbage');
    writeFileSync(join(folder, `timeline-${database}-${now() + 3_600_000}-9`), '');
    const memory = timelineMemory({ folder, report, now });
    expect(memory.newest(database)).toBeUndefined();
    expect(events.filter(({ event }) => event === 'unreadable')).toHaveLength(4);
    memory.see(database, at(2));
    expect(timelineMemory({ folder, now }).newest(database)).toEqual(at(2));
  });

  it('that cannot be written is named once, and the memory of the process remains', () => {
    writeFileSync(join(folder, 'file'), '');
    const memory = timelineMemory({ folder: join(folder, 'file'), report });
    memory.see(database, at(2));
    memory.see(database, at(3));
    expect(memory.newest(database)).toEqual(at(3));
    expect(events).toHaveLength(1);
    mkdirSync(join(folder, 'x'));
  });

  it('an acceptance outranks every timeline before it', () => {
    const memory = timelineMemory({ folder, now });
    memory.see(database, at(6));
    memory.see(database, at(1, 1000));
    expect(memory.isBehind(database, at(6))).toBe(true);
    expect(memory.isBehind(database, at(1, 1000))).toBe(false);
    expect(timelineMemory({ folder, now }).newest(database)).toEqual(at(1, 1000));
  });
});

describe('a Redis that gives no answer', () => {
  it.each([true, false])('is not waited for long, whether that is known (%s), and counts later', async (isKnown) => {
    let answer = (_value: unknown): void => undefined;
    const slow = { eval: () => new Promise<unknown>((done) => (answer = done)) };
    const memory = timelineMemory({ redis: slow, isAway: () => isKnown, now, repeat: () => () => undefined });
    const startedAt = performance.now();
    await memory.ask(database);
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    answer(['0:7', 0]);
    await until(() => memory.newest(database)?.timeline === 7);
  });
});

describeWithRedis('timelines in Redis', () => {
  let server: ThrowawayRedis;
  let redis: Redis;
  const key = `sealgate:timeline:${database}`;
  beforeEach(async () => {
    server = await throwawayRedis();
    redis = new Redis(server.url, { maxRetriesPerRequest: 0 });
    redis.on('error', () => undefined);
  }, 60_000);
  afterEach(async () => {
    redis.disconnect();
    await server.stop();
  });
  /** A memory whose background work runs when the test says so. */
  const memoryOf = () => {
    let work = (): void => undefined;
    const repeat = (given: () => void) => ((work = given), () => undefined);
    return { memory: timelineMemory({ redis, report, now, repeat }), tick: () => work() };
  };

  it('reach every process, in the background and when it asks, and never go back', async () => {
    const [one, two] = [memoryOf(), memoryOf()];
    one.memory.see(database, at(2));
    await until(async () => (await redis.get(key)) === '0:2');
    await two.memory.ask(database);
    expect(two.memory.newest(database)).toEqual(at(2));
    let advances = 0;
    one.memory.onAdvance(() => (advances += 1));
    two.memory.see(database, at(10));
    await until(async () => (await redis.get(key)) === '0:10');
    one.tick();
    await until(() => one.memory.newest(database)?.timeline === 10);
    expect(advances).toBe(1);
    one.memory.see(database, at(3));
    await one.memory.ask(database);
    expect(await redis.get(key)).toBe('0:10');
    expect(await redis.pttl(key)).toBeGreaterThan(86_400_000);
  });

  it('are written again after Redis lost its data', async () => {
    const { memory, tick } = memoryOf();
    memory.see(database, at(4));
    await until(async () => (await redis.get(key)) === '0:4');
    await redis.flushall();
    await memory.ask(database);
    expect(memory.newest(database)).toEqual(at(4));
    tick();
    await until(async () => (await redis.get(key)) === '0:4');
  });

  it.each(['', 'x', '0:', '0:0', '0:99999999999', '-1:3', '9999999999999:3', '1:2:3', '0:1e3'])(
    'that are garbage (%j) are named, refuse nothing, and are replaced',
    async (garbage) => {
      await redis.set(key, garbage);
      const { memory } = memoryOf();
      await memory.ask(database);
      expect(memory.newest(database)).toBeUndefined();
      memory.see(database, at(2));
      await until(async () => (await redis.get(key)) === '0:2');
      expect(events).toMatchObject([{ event: 'unreadable', where: `${key} in Redis` }]);
    },
  );

  it('of another type are replaced too', async () => {
    await redis.lpush(key, 'x');
    const { memory } = memoryOf();
    memory.see(database, at(2));
    await until(async () => (await redis.get(key).catch(() => '')) === '0:2');
  });

  it('that Redis does not tell or take leave what the process knows', async () => {
    const { memory, tick } = memoryOf();
    memory.see(database, at(2));
    await until(async () => (await redis.get(key)) === '0:2');
    await redis.config('SET', 'maxmemory', '1');
    memory.see(database, at(3));
    redis.disconnect();
    await memory.ask(database);
    tick();
    expect(memory.newest(database)).toEqual(at(3));
    expect(events).toEqual([]);
  });
});
