import assert from 'node:assert/strict';
import cluster, { type Worker } from 'node:cluster';
import type { Readable } from 'node:stream';
import { buildInfo } from '@sealgate/observability';
import { listen } from './listener.ts';
import { type ProcessOptions, type RunOptions, runProcess } from './run-service.ts';
import { type HostChecks, type ServiceOptions, startService, tlsFor } from './start-service.ts';
import { type WorkerAddresses, type WorkerEnd, WorkerPool, type WorkerProcess } from './worker-pool.ts';

/** Tells a worker its number. Only worker 1 has the admin listener and signs checkpoints. */
const NUMBER_VARIABLE = 'WORKER_NUMBER';

/** Number of this worker, from 1; undefined in the primary process and without workers. */
export function workerNumber(): number | undefined {
  return cluster.isPrimary ? undefined : Number(process.env[NUMBER_VARIABLE]);
}

interface PrimaryOptions extends Omit<ProcessOptions, 'start' | 'stopAsked'> {
  readonly workers: number;
  readonly checkTimeoutMs: number;
  readonly now: () => number;
  readonly opsApp: (pool: WorkerPool) => ReturnType<RunOptions['opsApp']>;
}

/** Time beyond the drain timeout of a worker: its releases have their own timeouts. */
const RELEASE_ALL_WITHIN_MS = 30_000;
/** Margin by which a check of workers times out before the probe's own timeout. */
const ANSWER_BEFORE_MS = 25;

/**
 * The primary process of several workers: it serves the ops listener, distributes connections, and exits when all
 * workers have exited. It opens nothing else, so it has nothing to lose.
 */
export function runPrimary(options: PrimaryOptions): Promise<void> {
  const { name, config, log, metrics, now, workers: count, checkTimeoutMs } = options;
  // Round robin on every platform: left to the system, connections go to a few of the processes.
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
  // Each worker exports its own spans.
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
  // A broken channel is followed by the exit of the process.
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
 * Forwards a log by whole lines, since several processes writing to one pipe may interleave within a line. An
 * incomplete last line of a process that exited is completed with a line feed.
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

/** Health and metrics of all workers, requested from the primary process. */
interface WholeService extends HostChecks {
  readonly text: () => Promise<string>;
}

/** The worker's end of the channel to the primary process. */
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

  /** Registers answers to requests of the primary process. */
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
 * Runs a worker: the same service without an ops listener. It stops when the primary process requests it, and exits at
 * once when that process is gone; signals are left to the primary, since a terminal sends them to both.
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

/** Calls `work` once after `ms`, unless the returned function is called first. */
export type StartTimer = (work: () => void, ms: number) => () => void;

const startTimer: StartTimer = (work, ms) => {
  const timer = setTimeout(work, ms);
  return () => clearTimeout(timer);
};

export interface LinkOptions {
  /** Sends a message to the other process. Never throws: messages to a closed channel are lost. */
  readonly send: (message: object) => void;
  /** Request handlers, by name. */
  readonly answers: Readonly<Record<string, () => unknown>>;
  /** Notice handlers, by name. */
  readonly notices: Readonly<Record<string, (value: unknown) => void>>;
  readonly startTimer: StartTimer;
}

/** The messages. Other libraries may use the same channel, so ours have a marker. */
type LinkMessage = { readonly link: 'sealgate'; readonly value?: unknown } & (
  | { readonly kind: 'ask'; readonly id: number; readonly name: string }
  | { readonly kind: 'answer'; readonly id: number; readonly error?: string }
  | { readonly kind: 'notice'; readonly name: string }
);

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly endTimer: () => void;
}

/** One end of the channel between the primary process and a worker: requests with a deadline, and notices. */
export class WorkerLink {
  readonly #options: LinkOptions;
  readonly #waiting = new Map<number, Waiting>();
  #asked = 0;
  #isClosed = false;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  /** @throws Error when the other process fails, has exited, or does not answer within `withinMs`. */
  ask(name: string, withinMs: number): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(new Error('The other process has ended.'));
    this.#asked += 1;
    const id = this.#asked;
    return new Promise((resolve, reject) => {
      const endTimer = this.#options.startTimer(() => {
        this.#waiting.delete(id);
        reject(new Error(`The other process did not answer within ${withinMs} ms.`));
      }, withinMs);
      this.#waiting.set(id, { resolve, reject, endTimer });
      this.#send({ link: 'sealgate', kind: 'ask', id, name });
    });
  }

  notify(name: string, value?: unknown): void {
    this.#send({ link: 'sealgate', kind: 'notice', name, value });
  }

  /** Handles a message of the channel; messages of other libraries are ignored. */
  receive(message: unknown): void {
    if (!isOurs(message)) return;
    if (message.kind === 'notice') return this.#options.notices[message.name]?.(message.value);
    if (message.kind === 'ask') return void this.#answer(message.id, message.name);
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    waiting?.endTimer();
    if (message.error === undefined) waiting?.resolve(message.value);
    else waiting?.reject(new Error(message.error));
  }

  /** The other process has exited: rejects all pending and later requests. */
  close(): void {
    this.#isClosed = true;
    for (const { reject, endTimer } of this.#waiting.values()) {
      endTimer();
      reject(new Error('The other process has ended.'));
    }
    this.#waiting.clear();
  }

  async #answer(id: number, name: string): Promise<void> {
    const answer = this.#options.answers[name];
    try {
      assert(answer !== undefined, `Nothing answers ${name}.`);
      this.#send({ link: 'sealgate', kind: 'answer', id, value: await answer() });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#send({ link: 'sealgate', kind: 'answer', id, error: reason });
    }
  }

  #send(message: LinkMessage): void {
    this.#options.send(message);
  }
}

function isOurs(message: unknown): message is LinkMessage {
  return typeof message === 'object' && message !== null && 'link' in message && message.link === 'sealgate';
}
