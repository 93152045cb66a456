import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { locateCluster, trueDirectoryOf } from './cluster-location.ts';
import { freePort, isPortFree } from './free-port.ts';
import { guard } from './guardian.ts';
import { LocalServiceError, withFileErrorsExplained } from './local-service-error.ts';
import { postgresBinaries, type PostgresBinaries } from './postgres-binaries.ts';
import { prepareCluster } from './postgres-cluster.ts';
import { commandLineOf, endProcess, isAlive } from './processes.ts';
import { postgresUser, runAs, type SystemUser } from './system-user.ts';

export interface LocalPostgres {
  /** The superuser's URL of the database `postgres`. It contains the password: must not be logged. */
  readonly url: string;
  readonly port: number;
  /** The postmaster's process id, for tests that kill it. */
  readonly pid: number;
  /** The actual folder of the cluster; under root it may differ from the requested one. */
  readonly dataDirectory: string;
  /** The exit code, or null if a signal ended it. Never rejects. */
  readonly exited: Promise<number | null>;
  /**
   * `fast` (the default) is a clean shutdown; `immediate` is like a crash, so that the next start recovers. Idempotent.
   */
  stop(mode?: 'fast' | 'immediate'): Promise<void>;
}

interface PostgresOptions {
  /** Kept between starts; created on the first, with its parent. */
  readonly dataDirectory: string;
  /** On 127.0.0.1. Default: a free one. */
  readonly port?: number;
  /** Server settings of this start, such as `{ max_connections: '50' }`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** `.../bin` of another installation instead of the one from npm. */
  readonly binFolder?: string;
  /** Receives a line for each slow step. */
  readonly log?: (line: string) => void;
  /** The server's log of this start. Default: `<dataDirectory>.log`. */
  readonly logFile?: string;
  /**
   * Kills the server and removes this folder and the cluster once the process that started it is gone, also by SIGKILL.
   */
  readonly removeWithOwner?: string;
}

const readyTimeoutMs = 120_000;
const portTries = 3;

const fixedSettings: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  logging_collector: 'off',
  log_destination: 'stderr',
  log_checkpoints: 'off',
  // The log is one file for the whole run: client errors are not logged, so it stays small.
  log_min_messages: 'log',
  log_timezone: 'UTC',
  timezone: 'UTC',
};

/**
 * Starts a PostgreSQL and waits until it answers a query (at most two minutes: a crash may need recovery).
 * @throws LocalServiceError for what a user can fix: a taken port, a full disk, a folder that is not writable or
 *   broken, a cluster of another version, a server that already runs on it.
 */
export async function startPostgres(options: PostgresOptions): Promise<LocalPostgres> {
  const log = options.log ?? (() => undefined);
  const user = postgresUser();
  const binaries = await postgresBinaries(user, options.binFolder);
  const directory = locateCluster(options.dataDirectory, user);
  clearStalePidFile(directory);
  const sync = options.settings?.['fsync'] !== 'off';
  const password = await prepareCluster({ directory, binaries, user, sync, log });
  for (let left = portTries; ; left -= 1) {
    const port = options.port ?? (await freePort());
    if (!(await isPortFree(port))) {
      if (options.port === undefined && left > 1) continue;
      throw new LocalServiceError(`The port ${port} is taken. PostgreSQL needs it.`);
    }
    const server = launch({ options, binaries, directory, user, password, port });
    try {
      await waitUntilReady(server);
      return server.handle;
    } catch (error) {
      await server.handle.stop('immediate');
      if (options.port !== undefined || left <= 1 || !/in use/i.test(readLog(server.logFile))) throw error;
    }
  }
}

interface Launch {
  readonly options: PostgresOptions;
  readonly binaries: PostgresBinaries;
  readonly directory: string;
  readonly user: SystemUser | undefined;
  readonly password: string;
  readonly port: number;
}

interface Launched {
  readonly handle: LocalPostgres;
  readonly child: ChildProcess;
  readonly logFile: string;
}

/** In its own process group: a terminal's Ctrl-C reaches only this process, which stops it in order. */
function launch({ options, binaries, directory, user, password, port }: Launch): Launched {
  const logFile = resolve(options.logFile ?? `${options.dataDirectory}.log`);
  const settings = { ...options.settings, ...fixedSettings, port: String(port) };
  const parameters = [
    '-D',
    directory,
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ];
  const output = withFileErrorsExplained(logFile, () => {
    mkdirSync(dirname(logFile), { recursive: true });
    return openSync(logFile, 'w', 0o600);
  });
  const child = spawn(binaries.postgres, parameters, {
    ...runAs(user),
    cwd: '/',
    env: { ...process.env, LC_ALL: 'C', PGDATA: '' },
    detached: true,
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  child.unref();
  const exited = new Promise<number | null>((done) => {
    child.once('exit', (code) => done(code));
    child.once('error', () => done(null));
  });
  const pid = child.pid ?? 0;
  const guardian =
    options.removeWithOwner === undefined || pid === 0
      ? undefined
      : guard({ pid, mark: directory, folders: [options.removeWithOwner, directory] });
  const stop = async (mode: 'fast' | 'immediate' = 'fast'): Promise<void> => {
    if (pid !== 0 && child.exitCode === null && child.signalCode === null) {
      child.ref(); // Keeps this process alive until it has ended.
      await endProcess(pid, stopSteps(mode));
    }
    await exited;
    guardian?.dismiss();
  };
  const url = `postgresql://postgres:${password}@127.0.0.1:${port}/postgres`;
  return { handle: { url, port, pid, dataDirectory: directory, exited, stop }, child, logFile };
}

async function waitUntilReady({ handle, child, logFile }: Launched): Promise<void> {
  const end = performance.now() + readyTimeoutMs;
  for (;;) {
    if (child.exitCode !== null || child.signalCode !== null || handle.pid === 0) throw startFault(handle, logFile);
    if (await answers(handle.url)) return;
    if (performance.now() > end) {
      throw new LocalServiceError(
        `PostgreSQL did not answer within ${readyTimeoutMs / 1_000} seconds; its log is ${logFile}.`,
      );
    }
    await delay(25);
  }
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000, query_timeout: 2_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('SELECT 1');
    return true;
  } catch {
    return false; // Still starting or recovering. The caller checks the process and the timeout.
  } finally {
    await client.end().catch(() => undefined);
  }
}

const smallestFreeBytes = 1024 * 1024;

function startFault({ dataDirectory, port }: LocalPostgres, logFile: string): LocalServiceError {
  const said = readLog(logFile);
  const disk = statfsSync(dataDirectory);
  if (/no space left/i.test(said) || disk.bavail * disk.bsize < smallestFreeBytes) {
    return new LocalServiceError(`The disk that holds ${dataDirectory} is full. Free some space and start again.`);
  }
  if (/in use/i.test(said) && /bind|address/i.test(said))
    return new LocalServiceError(`The port ${port} is taken. PostgreSQL needs it.`);
  const lines = said.split('\n').filter((line) => /(FATAL|PANIC):/.test(line));
  const reason = (lines[0] ?? said.split('\n')[0] ?? '').replace(/^.*?(FATAL|PANIC):\s*/, '').trim();
  return new LocalServiceError(
    `PostgreSQL does not start on ${dataDirectory}: ${reason || 'it logged nothing'}. Its log is ${logFile}.`,
  );
}

function readLog(file: string): string {
  try {
    return readFileSync(file, 'utf8').slice(0, 65_536);
  } catch {
    return ''; // The folder may have been removed with the server's data.
  }
}

/** The pid of the PostgreSQL that runs on this cluster; undefined if none does. The pid file alone is not trusted. */
function runningPostmaster(clusterDirectory: string): number | undefined {
  const file = join(clusterDirectory, 'postmaster.pid');
  const pid = withFileErrorsExplained(clusterDirectory, () =>
    existsSync(file) ? Number(readFileSync(file, 'utf8').split('\n', 1)[0]) : Number.NaN,
  );
  if (!Number.isInteger(pid) || pid <= 1 || !isAlive(pid)) return undefined;
  const command = commandLineOf(pid);
  return command.includes('postgres') && command.includes(clusterDirectory) ? pid : undefined;
}

/**
 * Throws if a server runs on the cluster, and removes the pid file of a killed server: PostgreSQL refuses to start if
 * another process of the same user has that pid by now.
 */
function clearStalePidFile(clusterDirectory: string): void {
  const pid = runningPostmaster(clusterDirectory);
  if (pid !== undefined) {
    throw new LocalServiceError(`A PostgreSQL (process ${pid}) already runs on ${clusterDirectory}. Stop it first.`);
  }
  withFileErrorsExplained(clusterDirectory, () => rmSync(join(clusterDirectory, 'postmaster.pid'), { force: true }));
}

/**
 * Stops the server that a killed owner left running on this folder, after verifying that the process is that server.
 * Returns whether there was one. The caller must hold the lock on the data, so that no owner is alive.
 */
export async function stopOrphanedPostgres(requested: string): Promise<boolean> {
  const pid = runningPostmaster(trueDirectoryOf(requested));
  if (pid === undefined) return false;
  await endProcess(pid, stopSteps('fast'));
  return true;
}

/** SIGINT is a fast shutdown without waiting for clients, SIGQUIT an immediate one (recovery follows). */
function stopSteps(mode: 'fast' | 'immediate'): { name: NodeJS.Signals; waitMs: number }[] {
  const immediate: { name: NodeJS.Signals; waitMs: number }[] = [
    { name: 'SIGQUIT', waitMs: 5_000 },
    { name: 'SIGKILL', waitMs: 5_000 },
  ];
  return mode === 'immediate' ? immediate : [{ name: 'SIGINT', waitMs: 30_000 }, ...immediate];
}
