import { describe, expect, it } from '@jest/globals';
import { Metrics } from '@sealgate/observability';
import { recordingLog } from '../test/served-app.ts';
import { WorkerPool, type WorkerAddresses, type WorkerEnd } from './worker-pool.ts';

/** Timers that fire when the test advances the time. */
function testTimers() {
  let nowMs = 0;
  let timers: { atMs: number; work: () => void }[] = [];
  return {
    now: () => nowMs,
    startTimer(work: () => void, ms: number) {
      const timer = { atMs: nowMs + ms, work };
      timers.push(timer);
      return () => void (timers = timers.filter((one) => one !== timer));
    },
    async pass(ms: number) {
      nowMs += ms;
      const due = timers.filter(({ atMs }) => atMs <= nowMs);
      timers = timers.filter(({ atMs }) => atMs > nowMs);
      for (const { work } of due) work();
      await settled();
    },
  };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Fake processes: each answers as configured, and exits when killed. */
class FakeWorker {
  readonly number: number;
  readonly pid: number;
  readonly notices: string[] = [];
  health: unknown = { ok: true, body: { status: 'ready', limits: 'shared' } };
  isStuck = false;
  snapshot: unknown = [];
  killed = 0;
  readonly #starts = Promise.withResolvers<WorkerAddresses>();
  readonly #ends = Promise.withResolvers<WorkerEnd>();
  readonly started = this.#starts.promise;
  readonly ended = this.#ends.promise;

  constructor(number: number, pid: number) {
    this.number = number;
    this.pid = pid;
  }

  readonly link = {
    ask: async (name: string) => {
      if (this.isStuck) throw new Error('no answer');
      return { ready: this.health, alive: true, metrics: this.snapshot }[name];
    },
    notify: (name: string) => void this.notices.push(name),
  };
  start = () => this.#starts.resolve({ publicUrl: `http://127.0.0.1:1/${this.number}`, adminUrl: undefined });
  end = (code: number | null, signal: string | null = null) => this.#ends.resolve({ code, signal });
  kill = () => {
    this.killed += 1;
    this.end(null, 'SIGKILL');
  };
}

function setUp(count = 2) {
  const timers = testTimers();
  const { log, lines } = recordingLog();
  const metrics = new Metrics('gate', { processMetrics: false });
  const workers: FakeWorker[] = [];
  const pool = new WorkerPool({
    ...{ count, log, metrics, checkTimeoutMs: 900, stopTimeoutMs: 20_000 },
    ...{ now: timers.now, startTimer: timers.startTimer },
    fork: (number) => {
      const worker = new FakeWorker(number, 100 + workers.length);
      workers.push(worker);
      return worker;
    },
  });
  const events = () => lines.map(({ event }) => event);
  const value = async (name: string) =>
    new RegExp(`^${name}\\{service="gate"\\} (.*)$`, 'm').exec(await pool.text())?.[1];
  return { timers, lines, events, metrics, workers, pool, value };
}

/** All workers have started. */
async function running(count = 2) {
  const set = setUp(count);
  const starting = set.pool.start();
  set.workers[0]!.start();
  await settled();
  for (const worker of set.workers.slice(1)) worker.start();
  await starting;
  return set;
}

describe('a pool of workers', () => {
  it('starts the first alone, then the others, and is ready when all have started', async () => {
    const { pool, workers } = setUp(3);
    const starting = pool.start();
    await settled();
    expect(workers.map(({ number }) => number)).toEqual([1]);
    expect(await pool.startup()).toEqual({ ok: false, body: { status: 'starting' } });
    workers[0]!.start();
    await settled();
    expect(workers.map(({ number }) => number)).toEqual([1, 2, 3]);
    expect(await pool.ready()).toEqual({ ok: false, body: { status: 'starting' } });
    for (const worker of workers) worker.start();
    expect((await starting).publicUrl).toBe('http://127.0.0.1:1/1');
    expect(await pool.startup()).toEqual({ ok: true });
    const body = { status: 'ready', limits: 'shared', workers: { running: 3, wanted: 3 } };
    expect(await pool.readyInDetail()).toEqual({ ok: true, body });
    expect(await pool.ready()).toEqual({ ok: true, body: { status: 'ready', limits: 'shared' } });
  });

  it.each([1, 2])('fails to start, without retry, when worker %i exits before all have started', async (number) => {
    const { pool, workers, timers } = setUp();
    const starting = pool.start();
    if (number === 2) workers[0]!.start();
    await settled();
    workers[number - 1]!.end(1);
    await expect(starting).rejects.toThrow(`Worker ${number} ended with 1 before it had started.`);
    await timers.pass(60_000);
    expect(workers).toHaveLength(number);
    await pool.kill();
    expect(workers.map(({ killed }) => killed)).toEqual(number === 1 ? [0] : [1, 0]);
  });

  it('restarts an exited worker with backoff, and counts it', async () => {
    const { pool, workers, timers, lines, value } = await running();
    const waits = [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000];
    for (const [index, waitMs] of waits.entries()) {
      workers.at(-1)!.end(null, 'SIGKILL');
      await settled();
      const fields = { worker: 2, pid: 101 + index, code: null, signal: 'SIGKILL', restartAfterMs: waitMs };
      expect(lines.at(-1)).toEqual({ level: 'error', event: 'worker_ended', fields });
      await timers.pass(waitMs - 1);
      expect(workers).toHaveLength(2 + index);
      await timers.pass(1);
      expect(workers).toHaveLength(3 + index);
    }
    expect(workers.at(-1)).toMatchObject({ number: 2 });
    expect(await value('worker_restarts_total')).toBe('11');
    workers.at(-1)!.start();
    await settled();
    expect((await pool.ready()).ok).toBe(true);
    await timers.pass(60_000);
    workers.at(-1)!.end(1);
    await settled();
    expect(lines.at(-1)?.fields).toMatchObject({ code: 1, restartAfterMs: 100 });
  });

  it('stays ready while a worker restarts, and reports it', async () => {
    const { pool, workers, value } = await running();
    workers[1]!.end(1);
    await settled();
    const workersSaid = { running: 1, wanted: 2 };
    const body = { problem: '1 of 2 workers run', status: 'ready', limits: 'shared', workers: workersSaid };
    expect(await pool.readyInDetail()).toEqual({ ok: true, body });
    expect([await value('workers_running'), await value('workers_wanted')]).toEqual(['1', '2']);
    workers[0]!.end(1);
    await settled();
    const none = { status: 'not ready', problem: 'no worker runs', workers: { running: 0, wanted: 2 } };
    expect(await pool.readyInDetail()).toEqual({ ok: false, body: none });
  });

  it('is not ready if a running worker is not, or does not answer', async () => {
    const { pool, workers } = await running();
    workers[1]!.health = { ok: false, body: { status: 'not ready', problem: 'no database' } };
    const counts = { running: 2, wanted: 2 };
    const body = { status: 'not ready', problem: 'no database', workers: counts };
    expect(await pool.readyInDetail()).toEqual({ ok: false, body });
    workers[1]!.isStuck = true;
    const silent = { status: 'not ready', problem: 'worker 2 does not answer', workers: counts };
    expect(await pool.readyInDetail()).toEqual({ ok: false, body: silent });
    workers[1]!.isStuck = false;
    workers[1]!.health = { ok: true, body: { status: 'ready', problem: 'demo.main is halted' } };
    const halted = { status: 'ready', problem: 'demo.main is halted', workers: counts };
    expect(await pool.readyInDetail()).toEqual({ ok: true, body: halted });
  });

  it('kills and replaces a worker that does not respond', async () => {
    const { workers, timers, events } = await running();
    await timers.pass(5_000);
    await timers.pass(5_000);
    expect(workers.map(({ killed }) => killed)).toEqual([0, 0]);
    workers[0]!.isStuck = true;
    await timers.pass(5_000);
    expect(workers.map(({ killed }) => killed)).toEqual([1, 0]);
    expect(events()).toEqual(['worker_stuck', 'worker_ended']);
    await timers.pass(100);
    expect(workers.map(({ number }) => number)).toEqual([1, 2, 1]);
  });

  it('adds up metrics, including those of exited workers', async () => {
    const { workers, value } = await running();
    const counted = (requests: number) => [
      {
        ...{ name: 'requests_total', help: 'Requests.', type: 'counter', aggregator: 'sum' },
        values: [{ value: requests, labels: { service: 'gate' } }],
      },
    ];
    workers[0]!.snapshot = counted(3);
    workers[1]!.snapshot = counted(4);
    expect(await value('requests_total')).toBe('7');
    // A worker that does not answer counts with its last metrics.
    workers[1]!.isStuck = true;
    workers[0]!.snapshot = counted(5);
    expect(await value('requests_total')).toBe('9');
    workers[1]!.end(1);
    await settled();
    expect(await value('requests_total')).toBe('9');
  });

  it('stops every worker without restarts, and reports whether all stopped cleanly', async () => {
    const { pool, workers, timers } = await running(3);
    workers[2]!.end(1);
    await settled();
    const stopping = pool.stop();
    expect(workers.map(({ notices }) => notices)).toEqual([['stop'], ['stop'], []]);
    expect(await pool.ready()).toEqual({ ok: false, body: { status: 'draining' } });
    workers[0]!.end(0);
    workers[1]!.end(0);
    expect(await stopping).toBe(true);
    await timers.pass(60_000);
    expect(workers).toHaveLength(3);
  });

  it.each([
    ['exits with an error', (worker: FakeWorker) => worker.end(1), 0],
    ['times out and is killed', () => undefined, 1],
  ])('has not stopped cleanly if a worker %s', async (_what, act, killed) => {
    const { pool, workers, timers } = await running();
    const stopping = pool.stop();
    workers[0]!.end(0);
    act(workers[1]!);
    await settled();
    await timers.pass(20_000);
    expect(await stopping).toBe(false);
    expect(workers.map((worker) => worker.killed)).toEqual([0, killed]);
  });
});
