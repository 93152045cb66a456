import { spawn } from 'node:child_process';
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { endProcess } from '@sealgate/local-services';
import { NODE_OPTIONS } from '@sealgate/service-host';
import { cutLog, openLog } from './log-file.ts';
import { Interrupted, UserError } from './user-error.ts';

export interface SurfaceProcess {
  readonly name: string;
  readonly pid: number;
  readonly logFile: string;
  /** How it ended, in words such as "exit code 1" or "SIGKILL". Never rejects. */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
}

export interface SurfaceCommand {
  readonly name: string;
  /** The bundle that Node runs. */
  readonly program: string;
  /** Of Node, besides those of every service. */
  readonly nodeOptions?: readonly string[] | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly logFile: string;
}

const logCheckMs = 10_000;

/** Only these of our own variables go on to a surface: it refuses variables that look like a setting and are none. */
const passedOn = ['PATH', 'HOME', 'TMPDIR', 'TZ', 'LANG', 'LC_ALL', 'NODE_EXTRA_CA_CERTS'];

export function cleanEnv(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(passedOn.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
}

/**
 * Starts a bundle in a process group of its own, its output at the end of the log file. The child writes the file
 * itself, so it goes on when we are killed. The log is cut when it passes 64 MiB; one older part is kept.
 */
export function startSurface({ name, program, nodeOptions = [], env, logFile }: SurfaceCommand): SurfaceProcess {
  const output = openLog(logFile);
  const child = spawn(process.execPath, [...NODE_OPTIONS, ...nodeOptions, program], {
    cwd: '/',
    env: { ...cleanEnv(process.env), ...env },
    detached: true,
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  const watch = setInterval(() => cutLog(logFile), logCheckMs).unref();
  const ended = new Promise<string>((done) => {
    child.once('exit', (code, signal) => done(signal ?? `exit code ${code ?? 0}`));
    child.once('error', (error) => done(error.message));
  });
  void ended.then(() => clearInterval(watch));
  const pid = child.pid ?? 0;
  const stop = async (): Promise<void> => {
    if (pid === 0 || child.exitCode !== null || child.signalCode !== null) return;
    await endProcess(pid, [
      { name: 'SIGTERM', waitMs: 40_000 },
      { name: 'SIGKILL', waitMs: 5_000 },
    ]);
    await ended;
  };
  return { name, pid, logFile, ended, stop };
}

const readyTimeoutMs = 60_000;

/** Waits until the surface says that it is ready. Throws UserError when it ends first, or takes more than a minute. */
export async function waitUntilReady(surface: SurfaceProcess, opsUrl: string, signal: AbortSignal): Promise<void> {
  const end = performance.now() + readyTimeoutMs;
  let endedWith: string | undefined;
  void surface.ended.then((how) => (endedWith = how));
  for (;;) {
    if (signal.aborted) throw new Interrupted();
    if (endedWith !== undefined) {
      throw new UserError(
        `${surface.name} did not start (${endedWith}): ${lastWords(surface.logFile)} Its log is ${surface.logFile}.`,
      );
    }
    if (await isReady(opsUrl)) return;
    if (performance.now() > end) {
      throw new UserError(
        `${surface.name} was not ready within ${readyTimeoutMs / 1_000} seconds. Its log is ${surface.logFile}.`,
      );
    }
    await delay(50);
  }
}

async function isReady(opsUrl: string): Promise<boolean> {
  try {
    const response = await fetch(`${opsUrl}/health/ready`, { signal: AbortSignal.timeout(2_000) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false; // It does not listen yet. The caller looks whether it lives, and at the clock.
  }
}

const readBytes = 8_192;

/** The last line of a log that says something, without the braces of a JSON line where it has an error of its own. */
export function lastWords(logFile: string): string {
  const line = tail(logFile).trim().split('\n').at(-1) ?? '';
  const message = messageOf(line) ?? line;
  return message === '' ? 'it said nothing.' : `${message.slice(0, 600).replace(/[.\s]*$/, '')}.`;
}

function messageOf(line: string): string | undefined {
  try {
    const fields: unknown = JSON.parse(line);
    if (typeof fields !== 'object' || fields === null) return undefined;
    for (const name of ['error', 'message', 'event']) {
      const value: unknown = Reflect.get(fields, name);
      if (typeof value === 'string') return value;
    }
  } catch {
    return undefined; // Not a JSON line: it is told as it is.
  }
  return undefined;
}

function tail(file: string): string {
  const handle = openSync(file, 'r');
  try {
    const { size } = statSync(file);
    const buffer = Buffer.alloc(Math.min(size, readBytes));
    readSync(handle, buffer, { position: size - buffer.length });
    return buffer.toString('utf8');
  } finally {
    closeSync(handle);
  }
}
