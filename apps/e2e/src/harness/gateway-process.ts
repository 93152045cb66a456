import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { until } from '@sealgate/testing';
import { gatewayProgram, nodeOptionsOf } from './bundle.ts';
import { guard } from './guardian.ts';
import { httpClient, type HttpClient } from './http-client.ts';
import { boundMs } from './scale.ts';

/** One process of the gateway; it keeps its addresses over restarts. */
export interface Gateway {
  readonly public: HttpClient;
  readonly ops: HttpClient;
  readonly admin: HttpClient;
  readonly pid: number;
  readonly isRunning: boolean;
  /** The processes that answer requests, where there are several; Linux only. */
  workerPids(): number[];
  /** Starts it, and resolves once it is ready. Rejects with its output when it exits instead. */
  start(): Promise<void>;
  /** Kills it with SIGKILL, like a crash of the machine. */
  kill(): Promise<void>;
  /**
   * Asks it to stop, and returns its exit code once it has (null: it had to be killed). Rejects as
   * `expectDeclaredCodes` throws.
   */
  stop(): Promise<number | null>;
  /** Throws where it has sent a code that its description does not list for that route. */
  expectDeclaredCodes(): void;
  /** Its log over all its starts. */
  logText(): string;
  /** Closes the connections to it. */
  release(): void;
}

const readyTimeoutMs = boundMs(30_000);
const stopTimeoutMs = 30_000;

/** A gateway on free ports, not yet started. */
export async function prepareGateway({
  env,
  logFile,
  program = gatewayProgram('main'),
  scheme = 'http',
  ca,
}: {
  readonly env: Readonly<Record<string, string>>;
  readonly logFile: string;
  /** The program to run; default the gateway. */
  readonly program?: string;
  readonly scheme?: 'http' | 'https';
  /** The certificate to trust, for https. */
  readonly ca?: string;
}): Promise<Gateway> {
  const [port, opsPort, adminPort] = [await quietPort(), await quietPort(), await quietPort()];
  const ports = { PORT: String(port), OPS_PORT: String(opsPort), ADMIN_PORT: String(adminPort) };
  const clients = {
    public: httpClient(`${scheme}://127.0.0.1:${port}`, ca === undefined ? {} : { ca }),
    ops: httpClient(`http://127.0.0.1:${opsPort}`),
    admin: httpClient(`http://127.0.0.1:${adminPort}`),
  };
  let child: ChildProcess | undefined;
  const isRunning = (): boolean => child !== undefined && child.exitCode === null && child.signalCode === null;
  const logText = (): string => readFileSync(logFile, 'utf8');

  const expectDeclaredCodes = (): void => {
    const undeclared = logText().match(/.*"undeclared_error_code".*/g);
    if (undeclared !== null) throw new Error(`It sent codes that it does not declare:\n${undeclared.join('\n')}`);
  };

  const isReady = async (): Promise<boolean> => {
    const { status } = await clients.ops.send({ path: '/health/ready', timeoutMs: 2_000 });
    return status === 200;
  };
  return {
    ...clients,
    get pid() {
      return child?.pid ?? 0;
    },
    get isRunning() {
      return isRunning();
    },
    workerPids() {
      const pid = String(child?.pid);
      return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
    },
    async start() {
      const log = openSync(logFile, 'a');
      // Nothing of this process's environment is inherited: the gateway gets only these variables.
      child = spawn(process.execPath, [...nodeOptionsOf(program), program], {
        env: { ...env, ...ports },
        stdio: ['ignore', log, log],
      });
      closeSync(log);
      // A shared process outlives the file of tests that started it.
      child.unref();
      guard(child);
      await until(async () => !isRunning() || (await isReady()), {
        timeoutMs: readyTimeoutMs,
        what: 'a ready gateway',
      });
      if (!isRunning()) throw new Error(`The gateway did not start:\n${logText().slice(-4_000)}`);
    },
    async kill() {
      await ended(child, 'SIGKILL');
    },
    async stop() {
      const timer = setTimeout(() => child?.kill('SIGKILL'), stopTimeoutMs);
      await ended(child, 'SIGTERM');
      clearTimeout(timer);
      expectDeclaredCodes();
      return child?.exitCode ?? null;
    },
    expectDeclaredCodes,
    logText,
    release: () => {
      for (const client of Object.values(clients)) client.close();
    },
  };
}

/**
 * The errors in a log. On a busy machine a check of the database may time out, which says nothing about the process.
 */
export const errorsIn = (log: string): readonly string[] =>
  (log.match(/.*"level":"error".*/g) ?? []).filter((line) => !line.includes('"the database does not answer"'));

/** Ends a process, and resolves once it has ended; at once where there is none. */
export function ended(child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill(signal);
  });
}

/** Below the ephemeral port ranges of systems (from 32768 on Linux, 49152 elsewhere). */
const first = 12_000;
const blockSize = 20;
const blocks = 1_000;
const tries = 100;

/** Ports of the blocks that this process has claimed and not given out. */
const claimed: number[] = [];

/**
 * A free loopback port outside the ephemeral range: a server that is killed and restarted finds it free, however many
 * outgoing connections were opened meanwhile. No other test process gives it out, or probes it while the server is
 * down: each takes its ports from blocks that it has claimed.
 */
export async function quietPort(): Promise<number> {
  for (let left = tries; left > 0; left -= 1) {
    const port = claimed.pop();
    if (port === undefined) await claimBlock();
    else if (await listens(createServer(), port, (server) => server.close())) return port;
  }
  throw new Error(`No free port was found in ${tries} tries.`);
}

/** A block is claimed by listening on its first port until this process ends. */
async function claimBlock(): Promise<void> {
  const start = first + Math.floor(Math.random() * blocks) * blockSize;
  if (!(await listens(createServer(), start, (server) => server.unref()))) return;
  for (let port = start + 1; port < start + blockSize; port += 1) claimed.push(port);
}

/** Whether the server could listen on the port; `next` is called if so. */
function listens(server: Server, port: number, next: (server: Server) => void): Promise<boolean> {
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.once('close', () => resolve(true));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      next(server);
      if (server.listening) resolve(true);
    });
  });
}
