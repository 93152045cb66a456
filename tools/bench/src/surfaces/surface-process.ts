import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '@sealgate/local-services';
import { NODE_OPTIONS } from '@sealgate/service-host';
import type { ReleaseStack } from '../bench-context.ts';
import type { ProbeAnswer, ProbeRequest } from './probe.ts';

/** A running process of a surface. */
export interface Surface {
  readonly pid: number;
  readonly port: number;
  readonly adminUrl: string;
  readonly adminToken: string;
  readonly opsUrl: string;
  /** Time from the start of the process to its first healthy answer. */
  readonly readyAfterMs: number;
  /** Runs `work`; with the longest event-loop stall meanwhile. */
  watchStalls<Result>(work: () => Promise<Result>): Promise<{ readonly result: Result; readonly stallMs: number }>;
  /** Stops it and waits for its exit. Idempotent. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

interface SurfaceCommand {
  readonly program: string;
  /** With `PORT` where it takes the place of another process; default: a free one. */
  readonly env: Readonly<Record<string, string>>;
  readonly adminToken: string;
  readonly logFile: string;
  /** Added after the options of every service, so these take precedence. */
  readonly nodeOptions: readonly string[];
  readonly stack: ReleaseStack;
}

const probe = join(import.meta.dirname, 'probe.ts');
const readyWithinMs = 60_000;
const stopWithinMs = 60_000;

/** Starts the bundle as an operator would, logging to a file, and waits until it is ready. */
export async function startSurface(command: SurfaceCommand): Promise<Surface> {
  const port = Number(command.env['PORT'] ?? (await freePort()));
  const [opsPort, adminPort] = [await freePort(), await freePort()];
  const ports = { PORT: port, OPS_PORT: opsPort, ADMIN_PORT: adminPort };
  const hosts = { HOST: '127.0.0.1', OPS_HOST: '127.0.0.1', ADMIN_HOST: '127.0.0.1' };
  const output = openSync(command.logFile, 'a', 0o600);
  const startedAt = performance.now();
  const child = spawn(process.execPath, [...NODE_OPTIONS, ...command.nodeOptions, '--import', probe, command.program], {
    env: {
      PATH: process.env['PATH'] ?? '',
      NODE_ENV: 'production',
      ...command.env,
      ...hosts,
      ...Object.fromEntries(Object.entries(ports).map(([name, value]) => [name, String(value)])),
    },
    stdio: ['ignore', output, output, 'ipc'],
    detached: true, // A terminal's Ctrl-C reaches only this process, which stops it in order.
  });
  closeSync(output);
  const stop = stopper(child);
  command.stack.own('a surface', () => stop());
  await waitUntilReady(child, opsPort, command.logFile);
  const readyAfterMs = performance.now() - startedAt;
  return {
    pid: child.pid ?? 0,
    port,
    readyAfterMs,
    stop,
    adminToken: command.adminToken,
    adminUrl: `http://127.0.0.1:${adminPort}`,
    opsUrl: `http://127.0.0.1:${opsPort}`,
    ...probeOf(child),
  };
}

/** One request at a time: replies carry no id and come in order. */
function probeOf(child: ChildProcess): Pick<Surface, 'watchStalls'> {
  const ask = (request: ProbeRequest): Promise<ProbeAnswer> =>
    new Promise((resolve, reject) => {
      const died = (): void => reject(new Error('The surface died while it was watched.'));
      child.once('exit', died);
      child.once('message', (answer: ProbeAnswer) => {
        child.off('exit', died);
        resolve(answer);
      });
      child.send(request, (error) => error !== null && reject(error));
    });
  return {
    async watchStalls(work) {
      await ask('watch stalls');
      const result = await work();
      return { result, stallMs: await ask('tell stalls') };
    },
  };
}

function stopper(child: ChildProcess): Surface['stop'] {
  const exited = new Promise<void>((done) => {
    child.once('exit', () => done());
    child.once('error', () => done());
  });
  return async (signal = 'SIGTERM') => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    const hang = setTimeout(() => child.kill('SIGKILL'), stopWithinMs);
    await exited;
    clearTimeout(hang);
  };
}

async function waitUntilReady(child: ChildProcess, opsPort: number, logFile: string): Promise<void> {
  const endAt = performance.now() + readyWithinMs;
  while (!(await isReady(opsPort))) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`The surface ended before it was ready. The end of its log:\n${tailOf(logFile)}`);
    if (performance.now() > endAt) throw new Error(`The surface was not ready in time.\n${tailOf(logFile)}`);
    await delay(5);
  }
}

async function isReady(opsPort: number): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${opsPort}/health/ready`, { signal: AbortSignal.timeout(2_000) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false; // Not listening yet. The caller checks whether it lives, and the timeout.
  }
}

const tailOf = (file: string): string => readFileSync(file, 'utf8').slice(-2_000);
