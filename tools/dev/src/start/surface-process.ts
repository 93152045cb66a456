import { spawn } from 'node:child_process';
import { closeSync, copyFileSync, openSync, readSync, statSync, truncateSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { endProcess, explainFileError } from '@sealgate/local-services';
import { NODE_OPTIONS } from '@sealgate/service-host';
import { Interrupted, UserError } from './user-error.ts';

interface SurfaceProcess {
  readonly name: string;
  readonly pid: number;
  readonly logFile: string;
  /** How it exited, in words such as "exit code 1" or "SIGKILL". Never rejects. */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
}

interface SurfaceCommand {
  readonly name: string;
  /** The bundle that Node runs. */
  readonly program: string;
  /** Node options in addition to those of every service. */
  readonly nodeOptions?: readonly string[] | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly logFile: string;
}

const logCheckMs = 10_000;

/** Only these of our own variables are passed to a surface: it rejects unknown variables that look like settings. */
const passedOn = ['PATH', 'HOME', 'TMPDIR', 'TZ', 'LANG', 'LC_ALL', 'NODE_EXTRA_CA_CERTS'];

export function cleanEnv(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(passedOn.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
}

/**
 * Starts a bundle in its own process group, appending its output to the log file. The child writes the file itself, so
 * it survives a kill of this process. The log is truncated above 64 MiB; one older part is kept.
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

/** Waits until the surface is ready. @throws UserError if it exits first, or takes more than a minute. */
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
    return false; // Not listening yet. The caller checks for exit and timeout.
  }
}

const readBytes = 8_192;

/** The last line of a log with content; of a JSON line, its error. */
export function lastWords(logFile: string): string {
  const line = tail(logFile).trim().split('\n').at(-1) ?? '';
  const message = messageOf(line) ?? line;
  return message === '' ? 'no output.' : `${message.slice(0, 600).replace(/[.\s]*$/, '')}.`;
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
    return undefined; // Not a JSON line: printed unchanged.
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

const logMaxBytes = 64 * 1024 * 1024;

/** Opens a log for appending, readable only by the owner. It is truncated first if it has grown too long. */
export function openLog(file: string): number {
  try {
    cutLog(file);
    return openSync(file, 'a', 0o600);
  } catch (error) {
    throw explainFileError(error, file);
  }
}

/**
 * Truncates a log above 64 MiB; one older part is kept. The writer appends, so after truncation it continues at the new
 * end. Lines written during the copy may be lost.
 */
function cutLog(file: string): void {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= logMaxBytes) return;
  copyFileSync(file, `${file}.1`);
  truncateSync(file);
}
