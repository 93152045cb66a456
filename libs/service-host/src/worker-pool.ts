import { type Log, type Metrics, type MetricsSnapshot, WorkerMetrics } from '@sealgate/observability';
import { StartError } from './load-config.ts';
import type { StartTimer, WorkerLink } from './run-workers.ts';
import type { HealthCheck, ServiceHealth } from './start-service.ts';

/** Addresses of a worker. */
export interface WorkerAddresses {
  readonly publicUrl: string;
  readonly adminUrl: string | undefined;
}

export interface WorkerEnd {
  readonly code: number | null;
  readonly signal: string | null;
}

/** A worker process. */
export interface WorkerProcess {
  readonly pid: number;
  readonly link: Pick<WorkerLink, 'ask' | 'notify'>;
  /** Resolves when its listeners are open; never settles if it exits before. */
  readonly started: Promise<WorkerAddresses>;
  /** Resolves when it has exited and its log output is read. */
  readonly ended: Promise<WorkerEnd>;
  /** Kills it at once (SIGKILL). */
  kill(): void;
}

interface WorkerPoolOptions {
  readonly count: number;
  /** Forks worker `number`, from 1 to `count`. */
  readonly fork: (number: number) => WorkerProcess;
  readonly log: Log;
  /** Metrics of the primary process, including the number of workers. */
  readonly metrics: Metrics;
  /** Timeout of a worker's readiness check. */
  readonly checkTimeoutMs: number;
  /** How long workers may take to stop before they are killed. */
  readonly stopTimeoutMs: number;
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
  readonly startTimer: StartTimer;
}

interface Running {
  readonly process: WorkerProcess;
  /** Unique, unlike the worker number. */
  readonly id: number;
  readonly forkedAtMs: number;
  isStarted: boolean;
}

/** Restart backoff: doubles from the first delay up to the maximum. */
const FIRST_RESTART_MS = 100;
const MAX_RESTART_MS = 30_000;
/** The backoff is reset for a worker that ran this long. */
const RESET_BACKOFF_AFTER_MS = 60_000;
/** Interval of liveness pings to a worker, and the timeout after which it is killed. */
const PING_INTERVAL_MS = 5_000;
const PING_TIMEOUT_MS = 30_000;
const METRICS_TIMEOUT_MS = 2_000;

/**
 * Keeps `count` workers running and aggregates their health and metrics.
 *
 * The first worker starts alone, so that faults of the settings are reported once. Until all have started, the exit of
 * one ends all. Afterwards an exited worker is restarted with backoff for as long as the pool runs.
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
    const help = 'Running worker processes; WORKERS is the wanted number.';
    const collect = (gauge: { set(labels: object, value: number): void }) => gauge.set({}, this.#started().length);
    metrics.gauge({ name: 'workers_running', help, aggregator: 'sum', collect });
    metrics
      .gauge({ name: 'workers_wanted', help: 'Wanted number of worker processes.', aggregator: 'sum' })
      .child({})
      .set(count);
    const restarts = {
      name: 'worker_restarts_total',
      help: 'Restarts of workers that exited unexpectedly.',
    };
    this.#restarted = metrics.counter(restarts).child({});
  }

  /** @throws StartError when a worker exits before all have started. The others are killed then. */
  async start(): Promise<WorkerAddresses> {
    const addresses = await this.#startOne(1);
    const others = Array.from({ length: this.#options.count - 1 }, (_, index) => index + 2);
    await Promise.all(others.map((number) => this.#startOne(number)));
    this.#phase = 'running';
    return addresses;
  }

  /** Ready while every running worker is ready. A restarting worker gets no requests; it is reported as a problem. */
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

  /** Like `ready`, with the number of running and wanted workers, for operators. */
  readonly readyInDetail: HealthCheck = async () => {
    const { ok, body } = await this.ready();
    return { ok, body: { ...body, workers: { running: this.#started().length, wanted: this.#options.count } } };
  };

  readonly startup: HealthCheck = () =>
    this.#phase === 'starting' ? { ok: false, body: { status: 'starting' } } : { ok: true };

  /**
   * The metrics of all workers and this process. For a worker that does not answer in time, its last metrics are used.
   */
  readonly text = async (): Promise<string> => {
    const running = [...this.#running.values()].filter(({ isStarted }) => isStarted);
    await Promise.all(
      running.map(async ({ id, process }) => {
        const snapshot = await process.link.ask('metrics', METRICS_TIMEOUT_MS).catch(() => undefined);
        // A worker that exited meanwhile is already added.
        if (snapshot !== undefined && this.#isRunning(id)) this.#metrics.take(id, snapshot as MetricsSnapshot);
      }),
    );
    return this.#metrics.text(await this.#options.metrics.snapshot());
  };

  /** Stops all workers and waits for them. @returns whether all exited with 0 in time. */
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

  /** Kills all workers, after a failed start. */
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
    const before = lived >= RESET_BACKOFF_AFTER_MS ? 0 : (this.#restarts.get(number)?.delayMs ?? 0);
    const delayMs = Math.min(MAX_RESTART_MS, Math.max(FIRST_RESTART_MS, 2 * before));
    log.error('worker_ended', { worker: number, pid: process.pid, code, signal, restartAfterMs: delayMs });
    const cancel = startTimer(() => {
      this.#restarted.inc();
      this.#fork(number);
    }, delayMs);
    this.#restarts.set(number, { delayMs, cancel });
  }

  /** A process with a blocked event loop would keep receiving connections without answering them. */
  #watch(number: number, running: Running): void {
    const { log, startTimer } = this.#options;
    const { process, id } = running;
    startTimer(() => {
      if (!this.#isRunning(id)) return;
      process.link.ask('alive', PING_TIMEOUT_MS).then(
        () => this.#watch(number, running),
        () => {
          if (!this.#isRunning(id)) return;
          log.error('worker_stuck', { worker: number, pid: process.pid });
          process.kill();
        },
      );
    }, PING_INTERVAL_MS);
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
