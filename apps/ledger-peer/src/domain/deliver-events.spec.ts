import { beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { memoryEvents, type MemoryEvents } from '../testing/memory-events.ts';
import { anyMapping } from '../testing/open-test-peer.ts';
import { deliverEvents, type DeliverEventsPorts } from './deliver-events.ts';
import type { HeldSubscription } from './delivery-store.ts';
import { BEGINNING, makeEventCursor } from './event-cursor.ts';

const CHANNEL = 'acme.main';
const HOUR_MS = 3_600_000;

let source: MemoryEvents;
let nowMs: number;
let timers: Map<() => void, number>;
let sent: { id: string; body: string; secrets: readonly string[] }[];
let answers: (string | undefined)[];
let moves: object[];
let isOurs: boolean;
let stopped: string[];
let ports: DeliverEventsPorts;
let running: { stop: AbortController; over: Promise<void> }[];

beforeEach(() => {
  source = memoryEvents();
  [nowMs, timers, sent, answers, moves, isOurs, stopped, running] = [0, new Map(), [], [], [], true, [], []];
  const moved = (move: object) => {
    if (isOurs) moves.push(move);
    return Promise.resolve(isOurs);
  };
  ports = {
    source,
    mappings: anyMapping,
    store: {
      acknowledge: (_held, cursor, at) => moved({ cursor, at: at?.getTime() }),
      fail: (_held, { problem, attempts, since, notBefore }) =>
        moved({ problem, attempts, since: since.getTime(), notBefore: notBefore.getTime() }),
      stop: () => moved({ stopped: true }),
    },
    async send({ id, body, secrets }) {
      sent.push({ id, body, secrets });
      return answers.shift();
    },
    open: ({ sealed }) => (sealed === 'unknown' ? undefined : `opened ${sealed}`),
    now: () => nowMs,
    random: () => 1,
    startTimer(done, ms) {
      timers.set(done, ms);
      return () => timers.delete(done);
    },
    onStopped: (id, problem) => stopped.push(`${id} ${problem}`),
    onAttempt: () => undefined,
  };
});

const cursorOf = (block: number) => makeEventCursor(CHANNEL, { block, index: 0 });
const subscription: HeldSubscription['subscription'] = {
  subscriptionId: 'sub_1',
  url: 'https://hooks.example.com/',
  channel: CHANNEL,
  ...{ types: null, events: null, cursor: makeEventCursor(CHANNEL, BEGINNING), state: 'active' },
  secrets: ['one', 'two'].map((id) => ({ id, sealed: id, createdAt: '' })),
  ...{ failingSince: null, attempts: 0, problem: null, deliveredAt: null, createdAt: '', changedAt: '' },
};

function begin(more: Partial<HeldSubscription['subscription']> = {}, notBefore: Date | null = null) {
  const stop = new AbortController();
  const over = deliverEvents(ports, { subscription: { ...subscription, ...more }, version: 1, notBefore }, stop.signal);
  running.push({ stop, over });
  return over;
}
/** Waits for the pause of a delivery, ends it and returns its length. */
async function passPause(): Promise<number> {
  await until(async () => timers.size > 0);
  const [[done, ms]] = timers as unknown as [[() => void, number]];
  nowMs += ms;
  timers.delete(done);
  done();
  return ms;
}
const end = async () => {
  for (const { stop } of running) stop.abort();
  await Promise.all(running.map(({ over }) => over));
};

describe('the events of a subscription', () => {
  it('are delivered in order, one after the other, and the row moves with each answer', async () => {
    for (let n = 0; n < 5; n += 1) source.commit();
    void begin();
    await until(async () => moves.length === 5);
    source.commit();
    await until(async () => moves.length === 6);
    await end();
    expect(sent.map(({ id }) => id)).toEqual([0, 1, 2, 3, 4, 5].map(cursorOf));
    expect(moves).toEqual([0, 1, 2, 3, 4, 5].map((block) => ({ cursor: cursorOf(block), at: 0 })));
    expect(source.followers).toBe(0);
  });

  it('are what the stream of events tells, with type and time, signed by each secret', async () => {
    source.commit();
    void begin();
    await until(async () => sent.length === 1);
    await end();
    expect(JSON.parse(sent[0]!.body)).toEqual({
      type: 'commit',
      timestamp: '2030-01-02T03:04:05.678Z',
      data: {
        ...{ cursor: cursorOf(0), channel: CHANNEL, chaincode: 'records', blockNumber: 0, transactionId: 'tx-0' },
        ...{ code: 'VALID', at: '2030-01-02T03:04:05.678Z', assets: [{ id: 'a-0', type: 'asset' }] },
      },
    });
    expect(sent[0]?.secrets).toEqual(['opened one', 'opened two']);
  });

  it('continue after the cursor of the row, and are only those of the wanted kinds and types', async () => {
    source.commit();
    source.commit();
    source.commit({ kind: 'contract', name: 'Moved' });
    source.commit({ assets: [{ id: 'x', type: 'asset.other' }] });
    source.commit();
    void begin({ cursor: cursorOf(0), types: ['asset'], events: ['commit'] });
    await until(async () => sent.length === 2);
    await end();
    expect(sent.map(({ id }) => id)).toEqual([cursorOf(1), cursorOf(4)]);
  });

  it('are repeated with the same id and growing pauses, and nothing comes before them', async () => {
    source.commit();
    source.commit();
    answers = ['status', 'no_answer', 'redirect', undefined, undefined];
    void begin();
    expect([await passPause(), await passPause(), await passPause()]).toEqual([5000, 10_000, 20_000]);
    await until(async () => sent.length === 5);
    await end();
    expect(sent.map(({ id }) => id)).toEqual([0, 0, 0, 0, 1].map(cursorOf));
    expect(moves.slice(0, 3)).toEqual([
      { problem: 'status', attempts: 1, since: 0, notBefore: 5000 },
      { problem: 'no_answer', attempts: 2, since: 0, notBefore: 15_000 },
      { problem: 'redirect', attempts: 3, since: 0, notBefore: 35_000 },
    ]);
  });

  it('are repeated with jitter: after at least half of the pause', async () => {
    ports = { ...ports, random: () => 0 };
    source.commit();
    answers = ['status'];
    void begin();
    expect(await passPause()).toBe(2500);
    await end();
  });

  it('are not repeated more than hourly, and stop after 72 hours', async () => {
    source.commit();
    answers = Array<string>(200).fill('status');
    const over = begin();
    const pauses: number[] = [];
    let isOver = false;
    void over.then(() => (isOver = true));
    while (!isOver && pauses.length < 200) {
      await until(async () => isOver || timers.size > 0);
      if (!isOver) pauses.push(await passPause());
    }
    await over;
    expect(Math.max(...pauses)).toBe(HOUR_MS);
    expect(nowMs).toBeGreaterThanOrEqual(72 * HOUR_MS);
    expect(nowMs).toBeLessThan(74 * HOUR_MS);
    expect([moves.at(-1), stopped]).toEqual([{ stopped: true }, ['sub_1 status']]);
  });

  it('wait on after a restart until the time of the next attempt, and count on', async () => {
    source.commit();
    answers = ['status'];
    nowMs = HOUR_MS;
    void begin({ attempts: 2, failingSince: new Date(0).toISOString() }, new Date(HOUR_MS + 7000));
    expect(await passPause()).toBe(7000);
    await until(async () => moves.length === 1);
    await end();
    expect(moves[0]).toMatchObject({ attempts: 3, since: 0, notBefore: HOUR_MS + 7000 + 20_000 });
  });

  it('are left to another process, or to new settings, as soon as the row is no longer ours', async () => {
    source.commit();
    source.commit();
    isOurs = false;
    await begin();
    expect(sent).toHaveLength(1);
    expect(moves).toEqual([]);
  });

  it('fail while no secret can be opened, and nothing is sent unsigned', async () => {
    source.commit();
    void begin({ secrets: [{ id: 'k', sealed: 'unknown', createdAt: '' }] });
    await until(async () => moves.length === 1);
    await end();
    expect(moves).toMatchObject([{ problem: 'secret_sealed' }]);
    expect(sent).toEqual([]);
  });

  it('are begun again by the caller if the ledger does not answer', async () => {
    source.commit();
    source.isAway = true;
    await expect(begin()).rejects.toThrow('The ledger is away.');
    expect(source.followers).toBe(0);
  });

  it('store how far they are over events that are not for the receiver', async () => {
    ports = { ...ports, now: () => (nowMs += 20_000) };
    source.commit({ assets: [{ id: 'x', type: 'asset.other' }] });
    void begin({ types: ['asset'] });
    await until(async () => moves.length > 0);
    await end();
    expect(moves[0]).toEqual({ cursor: cursorOf(0), at: undefined });
    expect(sent).toEqual([]);
  });
});
