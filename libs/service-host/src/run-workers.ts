import cluster, { type Worker } from 'node:cluster';
import type { Readable } from 'node:stream';
import { buildInfo } from '@sealgate/observability';
import { listen } from './listener.ts';
import { runProcess, type ProcessOptions, type RunOptions } from './run-service.ts';
import { startService, tlsFor, type HostChecks, type ServiceOptions } from './start-service.ts';
import { startTimer, WorkerLink } from './worker-link.ts';
import { WorkerPool, type WorkerAddresses, type WorkerEnd, type WorkerProcess } from './worker-pool.ts';

/** How a worker is told which of them it is. Only the first has the admin listener, and signs checkpoints. */
const NUMBER_VARIABLE = 'WORKER_NUMBER';

/** Which worker this process is, from 1; undefined in the primary process, and where there are none. */
export function workerNumber(): number | undefined {
  return cluster.isPrimary ? undefined : Number(process.env[NUMBER_VARIABLE]);
}

export interface PrimaryOptions extends Omit<ProcessOptions, 'start' | 'stopAsked'> {
  readonly workers: number;
  readonly checkTimeoutMs: number;
  readonly now: () => number;
  readonly opsApp: (pool: WorkerPool) => ReturnType<RunOptions['opsApp']>;
}

/** Beyond what a worker may take to drain: its releases have deadlines of their own. */
const RELEASE_ALL_WITHIN_MS = 30_000;
/** A check of the host is answered before whoever asks gives it up. */
const ANSWER_BEFORE_MS = 25;

/**
 * The primary process of several workers: holds the ops listener, hands out connections, and ends when all have ended. It
 * opens nothing else, so it can lose nothing.
 */
export function runPrimary(options: PrimaryOptions): Promise<void> {
  const { name, config, log, metrics, now, workers: count, checkTimeoutMs } = options;
  // In turn, whatever the machine: connections that the system hands out go to a few of the processes.
  cluster.schedulingPolicy = cluster.SCHED_RR;
  cluster.setupPrimary({ stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  const pool: WorkerPool = new WorkerPool({
    ...{ count, log, metrics, now, startTimer },
    checkTimeoutMs: checkTimeoutMs - ANSWER_BEFORE_MS,
    stopTimeoutMs: config.drainDelayMs + config.drainTimeoutMs + RELEASE_ALL_WITHIN_MS,
    fork: (number) =>
      fork(number, { ready: () => pool.ready(), startup: () => pool.startup(), metrics: () => pool.text() }),
  });
  const start = async () => {
    const { version, commit } = buildInfo;
    log.info('service_starting', { name, version, commit, workers: count });
    await tlsFor(config);
    const { opsHost: host, opsPort: port } = config;
    const ops = await listen({ app: options.opsApp(pool), host, port, portVariable: 'OPS_PORT' });
    const { publicUrl, adminUrl } = await pool.start().catch(async (error: unknown) => {
      await pool.kill();
      throw error;
    });
    log.info('service_started', { name, publicUrl, opsUrl: ops.url, adminUrl });
    let isClean = true;
    return {
      hasFailed: () => !isClean,
      async stop() {
        isClean = await pool.stop();
        await ops.close(0);
        log.info('service_stopped', { name });
      },
    };
  };
  // Each worker sends its own spans.
  const untraced = { ...config, otlpEndpoint: undefined };
  return runProcess({ name, config: untraced, log, metrics, start });
}

function fork(number: number, answers: Readonly<Record<string, () => unknown>>): WorkerProcess {
  const worker = cluster.fork({ [NUMBER_VARIABLE]: String(number) });
  const { process: child } = worker;
  let onStarted: (addresses: WorkerAddresses) => void;
  const started = new Promise<WorkerAddresses>((resolve) => (onStarted = resolve));
  const notices = { started: (addresses: unknown) => onStarted(addresses as WorkerAddresses) };
  const link = new WorkerLink({ send: sendTo(worker), answers, notices, startTimer });
  worker.on('message', (message: unknown) => link.receive(message));
  // A channel that breaks is followed by the end of the process.
  worker.on('error', () => undefined);
  if (child.stdout !== null) forwardLines(child.stdout, process.stdout);
  const ended = new Promise<WorkerEnd>((resolve) =>
    child.once('close', (code, signal) => {
      link.close();
      resolve({ code, signal });
    }),
  );
  return { pid: child.pid ?? 0, link, started, ended, kill: () => void child.kill('SIGKILL') };
}

const sendTo = (worker: Worker) => (message: object) => {
  if (worker.isConnected()) worker.send(message, () => undefined);
};

/**
 * Passes a log on by whole lines: what several processes write to one pipe may be mixed within a line. What follows the last
 * line feed of a process that ended is written as a line of its own.
 */
export function forwardLines(from: Readable, to: NodeJS.WritableStream): void {
  let held: Buffer = Buffer.alloc(0);
  const write = (text: Buffer) => {
    if (text.length === 0 || to.write(text)) return;
    from.pause();
    to.once('drain', () => from.resume());
  };
  from.on('data', (chunk: Buffer) => {
    const end = chunk.lastIndexOf('\n') + 1;
    if (end === 0) {
      held = Buffer.concat([held, chunk]);
      return;
    }
    write(Buffer.concat([held, chunk.subarray(0, end)]));
    held = Buffer.from(chunk.subarray(end));
  });
  from.on('end', () => write(held.length === 0 ? held : Buffer.concat([held, Buffer.from('\n')])));
}

/** What a worker knows of the whole: asked of the primary process. */
export interface WholeService extends HostChecks {
  readonly text: () => Promise<string>;
}

/** The end of a worker's channel to the primary process. */
export class PrimaryLink implements WholeService {
  readonly #link: WorkerLink;
  readonly #answers: Record<string, () => unknown> = { alive: () => true };
  readonly #checkTimeoutMs: number;
  readonly stopAsked: Promise<void>;

  constructor(checkTimeoutMs: number) {
    this.#checkTimeoutMs = checkTimeoutMs;
    let onStop: () => void;
    this.stopAsked = new Promise((resolve) => (onStop = resolve));
    const send = (message: object) => void process.send?.(message, undefined, undefined, () => undefined);
    const notices = { stop: () => onStop() };
    this.#link = new WorkerLink({ send, answers: this.#answers, notices, startTimer });
    process.on('message', (message) => this.#link.receive(message));
  }

  readonly ready = () => this.#ask('ready') as Promise<Awaited<ReturnType<HostChecks['ready']>>>;
  readonly startup = () => this.#ask('startup') as Promise<Awaited<ReturnType<HostChecks['startup']>>>;
  readonly text = () => this.#ask('metrics') as Promise<string>;

  /** What this process answers the primary with. */
  answer(answers: Readonly<Record<string, () => unknown>>): void {
    Object.assign(this.#answers, answers);
  }

  started(addresses: WorkerAddresses): void {
    this.#link.notify('started', addresses);
  }

  #ask(name: string): Promise<unknown> {
    return this.#link.ask(name, this.#checkTimeoutMs);
  }
}

/**
 * A worker: the same service without an ops listener. It stops when the primary process says so, and ends at once when that
 * is gone; signals are for the primary, since a terminal sends them to both.
 */
export function runWorker(options: RunOptions & { readonly primary: PrimaryLink }): Promise<void> {
  const { primary, metrics } = options;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => undefined);
  const openOps: ServiceOptions['openOps'] = async (checks) => {
    primary.answer({ ready: checks.ready, startup: checks.startup, metrics: () => metrics.snapshot() });
    return { url: '', close: async () => undefined };
  };
  const start = async () => {
    const running = await startService({ ...options, openOps, wholeChecks: primary });
    primary.started(running);
    return running;
  };
  return runProcess({ ...options, start, stopAsked: primary.stopAsked });
}
