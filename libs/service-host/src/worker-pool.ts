import type { Log, Metrics, MetricsSnapshot } from '@sealgate/observability';
import { WorkerMetrics } from '@sealgate/observability';
import { StartError } from './start-error.ts';
import type { HealthCheck, ServiceHealth } from './start-service.ts';
import type { StartTimer, WorkerLink } from './worker-link.ts';

/** Where a worker listens. */
export interface WorkerAddresses {
  readonly publicUrl: string;
  readonly adminUrl: string | undefined;
}

export interface WorkerEnd {
  readonly code: number | null;
  readonly signal: string | null;
}

/** One process that answers requests. */
export interface WorkerProcess {
  readonly pid: number;
  readonly link: Pick<WorkerLink, 'ask' | 'notify'>;
  /** Resolves once its listeners are open; stays open where it ends before. */
  readonly started: Promise<WorkerAddresses>;
  /** Resolves once it has ended and all that it logged was taken. */
  readonly ended: Promise<WorkerEnd>;
  /** Ends it without giving it a chance to do anything. */
  kill(): void;
}

export interface WorkerPoolOptions {
  readonly count: number;
  /** Starts worker `number`, from 1 to `count`. */
  readonly fork: (number: number) => WorkerProcess;
  readonly log: Log;
  /** Of the primary process; how many workers run is counted there too. */
  readonly metrics: Metrics;
  /** How long a worker may take to say whether it is ready. */
  readonly checkTimeoutMs: number;
  /** How long workers that were told to stop may take, before they are killed. */
  readonly stopTimeoutMs: number;
  /** Milliseconds, of a clock that never goes back. */
  readonly now: () => number;
  readonly startTimer: StartTimer;
}

interface Running {
  readonly process: WorkerProcess;
  /** Never given twice, unlike the number. */
  readonly id: number;
  readonly forkedAtMs: number;
  isStarted: boolean;
}

/** A first restart comes soon, each further one after twice as long, up to this. */
const FIRST_RESTART_MS = 100;
const LONGEST_RESTART_MS = 30_000;
/** A worker that lived this long has not failed again. */
const STEADY_AFTER_MS = 60_000;
/** How often a worker is asked for a sign of life, and after how long without one it is killed. */
const SIGN_OF_LIFE_EVERY_MS = 5_000;
const SIGN_OF_LIFE_WITHIN_MS = 30_000;
const METRICS_WITHIN_MS = 2_000;

/**
 * Keeps `count` workers running and speaks for all of them: health, metrics, stop.
 *
 * The first worker starts alone, so that what is wrong with the settings is said once. Until all have started, an end of one
 * is the end of all. After that it is started again, the sooner the longer it had lived, for as long as the pool is.
 */
export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  readonly #running = new Map<number, Running>();
  readonly #restarts = new Map<number, { delayMs: number; cancel: () => void }>();
  readonly #metrics = new WorkerMetrics();
  readonly #restarted;
  #phase: 'starting' | 'running' | 'draining' = 'starting';
  #ids = 0;
  #unclean = 0;

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
    const { metrics, count } = options;
    const help = 'Worker processes that answer requests; WORKERS says how many there should be.';
    const collect = (gauge: { set(labels: object, value: number): void }) => gauge.set({}, this.#started().length);
    metrics.gauge({ name: 'workers_running', help, aggregator: 'sum', collect });
    metrics
      .gauge({ name: 'workers_wanted', help: 'How many there should be.', aggregator: 'sum' })
      .child({})
      .set(count);
    const restarts = {
      name: 'worker_restarts_total',
      help: 'Workers that ended by themselves and were started again.',
    };
    this.#restarted = metrics.counter(restarts).child({});
  }

  /** @throws StartError when a worker ends before all have started. The others are killed then. */
  async start(): Promise<WorkerAddresses> {
    const addresses = await this.#startOne(1);
    const others = Array.from({ length: this.#options.count - 1 }, (_, index) => index + 2);
    await Promise.all(others.map((number) => this.#startOne(number)));
    this.#phase = 'running';
    return addresses;
  }

  /** Ready while each worker that runs is: one that is being started again takes no requests, and is told of. */
  readonly ready: HealthCheck = async () => {
    if (this.#phase !== 'running') return { ok: false, body: { status: this.#phase } };
    const { count, checkTimeoutMs } = this.#options;
    const started = this.#started();
    const healths = await Promise.all(started.map(([number, of]) => healthOf(number, of, checkTimeoutMs)));
    const worst = healths.find(({ ok }) => !ok) ?? healths.find(({ body }) => body !== undefined && 'problem' in body);
    const { ok, body } = worst ?? healths[0] ?? notReady('no worker runs');
    const lacking = ok && started.length < count ? { problem: `${started.length} of ${count} workers run` } : {};
    return { ok, body: { ...lacking, ...body } };
  };

  /** As `ready`, for operators: with how many workers run, and how many should. */
  readonly readyInDetail: HealthCheck = async () => {
    const { ok, body } = await this.ready();
    return { ok, body: { ...body, workers: { running: this.#started().length, wanted: this.#options.count } } };
  };

  readonly startup: HealthCheck = () =>
    this.#phase === 'starting' ? { ok: false, body: { status: 'starting' } } : { ok: true };

  /** The metrics of all workers and of this process. One that does not answer in time counts as when it last did. */
  readonly text = async (): Promise<string> => {
    const running = [...this.#running.values()].filter(({ isStarted }) => isStarted);
    await Promise.all(
      running.map(async ({ id, process }) => {
        const snapshot = await process.link.ask('metrics', METRICS_WITHIN_MS).catch(() => undefined);
        // One that ended meanwhile has been added up already.
        if (snapshot !== undefined && this.#isRunning(id)) this.#metrics.take(id, snapshot as MetricsSnapshot);
      }),
    );
    return this.#metrics.text(await this.#options.metrics.snapshot());
  };

  /** Tells each worker to stop as a process does, and waits for all. @returns whether all ended with 0 and in time. */
  async stop(): Promise<boolean> {
    const { log, stopTimeoutMs, startTimer } = this.#options;
    this.#phase = 'draining';
    for (const { cancel } of this.#restarts.values()) cancel();
    const running = [...this.#running.values()];
    const endTimer = startTimer(() => {
      log.error('workers_killed', { count: this.#running.size });
      for (const { process } of this.#running.values()) process.kill();
    }, stopTimeoutMs);
    for (const { process } of running) process.link.notify('stop');
    await Promise.all(running.map(({ process }) => process.ended));
    endTimer();
    return this.#unclean === 0;
  }

  /** Ends all at once, for a start that failed. */
  async kill(): Promise<void> {
    this.#phase = 'draining';
    const running = [...this.#running.values()];
    for (const { process } of running) process.kill();
    await Promise.all(running.map(({ process }) => process.ended));
  }

  async #startOne(number: number): Promise<WorkerAddresses> {
    const { process } = this.#fork(number);
    const ended = process.ended.then(({ code, signal }) => {
      throw new StartError(`Worker ${number} ended with ${signal ?? code} before it had started.`);
    });
    return Promise.race([process.started, ended]);
  }

  #fork(number: number): Running {
    const { fork, now, log } = this.#options;
    this.#ids += 1;
    const running: Running = { process: fork(number), id: this.#ids, forkedAtMs: now(), isStarted: false };
    this.#running.set(number, running);
    const { process } = running;
    void process.started.then(() => {
      running.isStarted = true;
      if (this.#phase === 'running') log.info('worker_started', { worker: number, pid: process.pid });
    });
    void process.ended.then((end) => this.#onEnd(number, running, end));
    this.#watch(number, running);
    return running;
  }

  #onEnd(number: number, { process, id, forkedAtMs }: Running, { code, signal }: WorkerEnd): void {
    const { log, now, startTimer } = this.#options;
    this.#running.delete(number);
    this.#metrics.end(id);
    if (this.#phase === 'draining' && code !== 0) this.#unclean += 1;
    if (this.#phase !== 'running') return;
    const lived = now() - forkedAtMs;
    const before = lived >= STEADY_AFTER_MS ? 0 : (this.#restarts.get(number)?.delayMs ?? 0);
    const delayMs = Math.min(LONGEST_RESTART_MS, Math.max(FIRST_RESTART_MS, 2 * before));
    log.error('worker_ended', { worker: number, pid: process.pid, code, signal, restartAfterMs: delayMs });
    const cancel = startTimer(() => {
      this.#restarted.inc();
      this.#fork(number);
    }, delayMs);
    this.#restarts.set(number, { delayMs, cancel });
  }

  /** A process whose event loop stands still would keep its share of the connections and answer none of them. */
  #watch(number: number, running: Running): void {
    const { log, startTimer } = this.#options;
    const { process, id } = running;
    startTimer(() => {
      if (!this.#isRunning(id)) return;
      process.link.ask('alive', SIGN_OF_LIFE_WITHIN_MS).then(
        () => this.#watch(number, running),
        () => {
          if (!this.#isRunning(id)) return;
          log.error('worker_stuck', { worker: number, pid: process.pid });
          process.kill();
        },
      );
    }, SIGN_OF_LIFE_EVERY_MS);
  }

  #isRunning(id: number): boolean {
    return [...this.#running.values()].some((running) => running.id === id);
  }

  #started(): [number, Running][] {
    return [...this.#running].filter(([, { isStarted }]) => isStarted);
  }
}

async function healthOf(number: number, { process }: Running, withinMs: number): Promise<ServiceHealth> {
  try {
    return (await process.link.ask('ready', withinMs)) as ServiceHealth;
  } catch {
    return notReady(`worker ${number} does not answer`);
  }
}

const notReady = (problem: string): ServiceHealth => ({ ok: false, body: { status: 'not ready', problem } });
