import { execFileSync, spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { commandLineOf, endProcess, isAlive, startOfProcess } from '@sealgate/local-services';
import { DevnetError } from './devnet-error.ts';
import type { Role } from './network-plan.ts';

export interface ProcessSpec {
  readonly role: Role;
  readonly program: string;
  readonly parameters: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const tailBytes = 16_384;

/** The long-running processes of a network, which later commands can find. */
export interface NodeProcesses {
  /** Starts it in the background, detached from this process. Does nothing if it is running. */
  start(spec: ProcessSpec): void;
  /** The current process of the role; undefined if there is none. */
  pidOf(role: Role): number | undefined;
  signal(role: Role, name: 'SIGTERM' | 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void;
  /** SIGTERM, then SIGKILL; returns once it has exited. False if it was not running. */
  end(role: Role): Promise<boolean>;
  /** SIGKILL; returns once it has exited. */
  kill(role: Role): Promise<boolean>;
  logFile(role: Role): string;
  /** The end of its log; empty if there is none. */
  lastOutput(role: Role): string;
}

/**
 * Pids are reused, so a pid file alone proves nothing. A process is ours only if its command line begins with a path in
 * our folder (`argv[0]`, which the programs ignore) and its start time matches the file. A start that was killed
 * between spawning and writing the file leaves a process that is found by the path alone.
 */
export function nodeProcesses(folders: { readonly run: string; readonly logs: string }): NodeProcesses {
  const pidFile = (role: Role): string => join(folders.run, `${role}.pid`);
  const nameOf = (role: Role): string => join(folders.run, role);
  const logFile = (role: Role): string => join(folders.logs, `${role}.log`);

  const pidOf = (role: Role): number | undefined => {
    const noted = readPidFile(pidFile(role));
    const isOurs = (pid: number): boolean => isAlive(pid) && `${commandLineOf(pid)} `.startsWith(`${nameOf(role)} `);
    if (noted !== undefined && isOurs(noted.pid) && startOfProcess(noted.pid) === noted.started) return noted.pid;
    return existsSync(folders.run) ? processesNamed(nameOf(role)).find(isOurs) : undefined;
  };

  const end = async (role: Role, steps: Parameters<typeof endProcess>[1]): Promise<boolean> => {
    const pid = pidOf(role);
    if (pid !== undefined) await endProcess(pid, steps);
    if (pid !== undefined && isAlive(pid)) throw new DevnetError(`${role} (process ${pid}) cannot be stopped.`);
    rmSync(pidFile(role), { force: true });
    return pid !== undefined;
  };

  return {
    start(spec) {
      if (pidOf(spec.role) !== undefined) return;
      for (const folder of [folders.run, folders.logs]) mkdirSync(folder, { recursive: true });
      const pid = launch(spec, nameOf(spec.role), logFile(spec.role));
      writeFileSync(pidFile(spec.role), `${JSON.stringify({ pid, started: startOfProcess(pid) })}\n`);
    },
    pidOf,
    signal(role, name) {
      const pid = pidOf(role);
      if (pid === undefined) throw new DevnetError(`${role} is not running.`);
      process.kill(pid, name);
    },
    end: (role) =>
      end(role, [
        { name: 'SIGTERM', waitMs: 20_000 },
        { name: 'SIGKILL', waitMs: 10_000 },
      ]),
    kill: (role) => end(role, [{ name: 'SIGKILL', waitMs: 10_000 }]),
    logFile,
    lastOutput: (role) =>
      existsSync(logFile(role)) ? readFileSync(logFile(role)).subarray(-tailBytes).toString('utf8') : '',
  };
}

function launch({ program, parameters, env, role }: ProcessSpec, argv0: string, logFile: string): number {
  // The previous log is kept: it shows why the last process ended.
  if (existsSync(logFile)) renameSync(logFile, `${logFile}.1`);
  const log = openSync(logFile, 'a', 0o600);
  try {
    // In its own process group, so that Ctrl-C in a terminal does not reach it.
    const child = spawn(program, parameters, { argv0, env, cwd: '/', detached: true, stdio: ['ignore', log, log] });
    child.on('error', () => undefined); // It has no pid then; reported below.
    child.unref();
    if (child.pid === undefined) throw new DevnetError(`${role} could not be started: ${program} cannot be run.`);
    return child.pid;
  } finally {
    closeSync(log);
  }
}

function readPidFile(file: string): { pid: number; started: string | undefined } | undefined {
  try {
    const { pid, started }: Record<string, unknown> = JSON.parse(readFileSync(file, 'utf8'));
    if (typeof pid !== 'number' || !Number.isInteger(pid) || pid <= 1) return undefined;
    return { pid, started: typeof started === 'string' ? started : undefined };
  } catch {
    return undefined; // Missing, or truncated.
  }
}

/** Processes whose command line begins with that name. */
function processesNamed(name: string): readonly number[] {
  if (existsSync('/proc/self/cmdline')) {
    const pids = readdirSync('/proc')
      .filter((entry) => /^\d+$/.test(entry))
      .map(Number);
    return pids.filter((pid) => `${commandLineOf(pid)} `.startsWith(`${name} `));
  }
  const listed = execFileSync('ps', ['-A', '-o', 'pid=,args='], { encoding: 'utf8', timeout: 10_000 });
  return listed
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(.*)$/.exec(line))
    .filter((match) => match !== null && `${match[2]} `.startsWith(`${name} `))
    .map((match) => Number(match![1]));
}
