import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findProgram, foldersOf } from './find-program.ts';
import { freePort, isPortFree } from './free-port.ts';
import { guard } from './guardian.ts';
import { LocalServiceError, withFileErrorsExplained } from './local-service-error.ts';
import { endProcess } from './processes.ts';

export interface LocalRedis {
  /** With user and password, as `redis-cli -u` takes it: must not be logged. Stable for the same folder and port. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly exited: Promise<number | null>;
  stop(): Promise<void>;
}

interface RedisOptions {
  /** Stores the password and the log. Redis persists nothing. */
  readonly directory: string;
  readonly port?: number;
  /** Further arguments, such as `['--maxmemory', '1mb']`. */
  readonly args?: readonly string[];
  readonly removeWithOwner?: string;
}

const readyTimeoutMs = 10_000;

/** Folder of a Redis built from source if the PATH has none. */
export const builtRedisFolder = resolve(import.meta.dirname, '../../../node_modules/.cache/sealgate-redis');

/** The `redis-server` on the PATH, else one built for the tests; undefined if there is neither. */
export function findRedisServer(path = process.env['PATH'] ?? ''): string | undefined {
  return findProgram('redis-server', [...foldersOf(path), join(builtRedisFolder, 'stable')]);
}

/**
 * Starts a Redis on 127.0.0.1 and waits until it answers. It requires a password, since any user of this machine can
 * reach the port. @throws LocalServiceError if there is no `redis-server`, the port is taken, or it does not start.
 */
export async function startRedis(options: RedisOptions): Promise<LocalRedis> {
  const program = findRedisServer();
  if (program === undefined)
    throw new LocalServiceError('There is no redis-server on the PATH. Install Redis, or continue without it.');
  const directory = resolve(options.directory);
  const password = withFileErrorsExplained(directory, () => readOrMakePassword(directory));
  const port = options.port ?? (await freePort());
  if (!(await isPortFree(port))) throw new LocalServiceError(`The port ${port} is taken. Redis needs it.`);
  const logFile = join(directory, 'redis.log');
  const child = launch({ program, directory, args: options.args ?? [], logFile, settings: settings(port, password) });
  const { pid = 0 } = child;
  const ended = (): boolean => pid === 0 || child.exitCode !== null || child.signalCode !== null;
  const exited = new Promise<number | null>((done) => {
    child.once('exit', (code) => done(code));
    child.once('error', () => done(null));
  });
  const removed = options.removeWithOwner;
  const guardian = removed === undefined || ended() ? undefined : guard({ pid, mark: directory, folders: [removed] });
  const stop = async (): Promise<void> => {
    if (!ended()) {
      child.ref(); // Keeps this process alive until it has ended.
      await endProcess(pid, stopSteps);
    }
    await exited;
    guardian?.dismiss();
  };
  try {
    await waitUntilReady({ port, password, ended, logFile });
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: `redis://default:${password}@127.0.0.1:${port}`, port, pid, exited, stop };
}

interface Launch {
  readonly program: string;
  readonly directory: string;
  readonly args: readonly string[];
  readonly logFile: string;
  readonly settings: string;
}

/** Settings are passed on standard input: other users can read the arguments of any process. */
function launch({ program, directory, args, logFile, settings: text }: Launch): ChildProcess {
  const output = withFileErrorsExplained(directory, () => openSync(logFile, 'w', 0o600));
  const child = spawn(program, ['-', '--dir', directory, ...args], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', output, output],
  });
  closeSync(output);
  child.stdin?.on('error', () => undefined); // It may end before it has read them; waitUntilReady detects that.
  child.stdin?.end(text);
  child.unref();
  return child;
}

const stopSteps: { name: NodeJS.Signals; waitMs: number }[] = [
  { name: 'SIGTERM', waitMs: 3_000 },
  { name: 'SIGKILL', waitMs: 5_000 },
];

const settings = (port: number, password: string): string =>
  [
    `port ${port}`,
    'bind 127.0.0.1',
    `requirepass ${password}`,
    'save ""',
    'appendonly no',
    'set-proc-title no',
    'daemonize no',
    '',
  ].join('\n');

function readOrMakePassword(directory: string): string {
  mkdirSync(directory, { recursive: true });
  const file = join(directory, 'redis-password');
  if (!existsSync(file)) writeFileSync(file, randomBytes(24).toString('base64url'), { mode: 0o600 });
  return readFileSync(file, 'utf8').trim();
}

interface Waiting {
  readonly port: number;
  readonly password: string;
  readonly ended: () => boolean;
  readonly logFile: string;
}

async function waitUntilReady({ port, password, ended, logFile }: Waiting): Promise<void> {
  const end = performance.now() + readyTimeoutMs;
  while (!(await answers(port, password))) {
    if (ended() || performance.now() > end) {
      const said = readFileSync(logFile, 'utf8').trim().split('\n').at(-1) ?? '';
      throw new LocalServiceError(`Redis does not start on port ${port}: ${said}`);
    }
    await delay(20);
  }
}

/** Two inline commands, so no client library is needed. */
function answers(port: number, password: string): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect({ port, host: '127.0.0.1' });
    const finish = (answer: boolean): void => {
      socket.destroy();
      done(answer);
    };
    let said = '';
    socket.setTimeout(1_000, () => finish(false));
    socket.on('error', () => finish(false));
    socket.on('close', () => finish(false));
    socket.on('connect', () => socket.write(`AUTH ${password}\r\nPING\r\n`));
    socket.on('data', (chunk) => {
      said += chunk.toString('latin1');
      if (said.includes('+PONG')) finish(true);
      else if (said.includes('-')) finish(false);
    });
  });
}
