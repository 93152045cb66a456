import { spawn } from 'node:child_process';
import { chownSync, closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findProgram, foldersOf } from './find-program.ts';
import { freePort } from './free-port.ts';
import { guard } from './guardian.ts';
import { LocalServiceError } from './local-service-error.ts';
import { endProcess } from './processes.ts';
import { postgresUser, runAs } from './system-user.ts';

export interface LocalPgBouncer {
  /** The given URL, through the pooler. It contains the password: must not be logged. */
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

interface PgBouncerOptions {
  /** Of PostgreSQL, with the only user who may connect, and that user's password. */
  readonly url: string;
  /** Further settings, such as `{ default_pool_size: '20' }`. */
  readonly settings?: Readonly<Record<string, string>>;
}

const readyTimeoutMs = 10_000;

/** Debian installs it where only the PATH of root looks. */
const systemFolders = ['/usr/sbin', '/usr/local/sbin'];

/** The `pgbouncer` on the PATH or in a folder of system programs; undefined if there is none. */
export function findPgBouncer(folders = [...foldersOf(process.env['PATH']), ...systemFolders]): string | undefined {
  return findProgram('pgbouncer', folders);
}

/**
 * Starts a PgBouncer in transaction mode on 127.0.0.1 and waits until it takes connections. It is killed once this
 * process is gone. @throws LocalServiceError if there is no `pgbouncer`, or it does not start.
 */
export async function startPgBouncer({ url, settings = {} }: PgBouncerOptions): Promise<LocalPgBouncer> {
  const program = findPgBouncer();
  if (program === undefined)
    throw new LocalServiceError('There is no pgbouncer on the PATH. Install PgBouncer, or continue without it.');
  const folder = mkdtempSync(join(tmpdir(), 'sealgate-pgbouncer-'));
  const port = await freePort();
  const { file, logFile } = writeFiles(folder, url, { ...settings, listen_port: String(port) });
  const output = openSync(logFile, 'w', 0o600);
  const child = spawn(program, ['-q', file], {
    ...runAs(postgresUser()),
    cwd: '/',
    detached: true,
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  child.unref();
  const { pid = 0 } = child;
  const ended = (): boolean => pid === 0 || child.exitCode !== null || child.signalCode !== null;
  const exited = new Promise<void>((done) => {
    child.once('exit', () => done());
    child.once('error', () => done());
  });
  const guardian = guard({ pid, mark: file, folders: [folder] });
  const stop = async (): Promise<void> => {
    if (!ended()) {
      child.ref(); // Keeps this process alive until it has ended.
      await endProcess(pid, stopSteps);
    }
    await exited;
    guardian.dismiss();
    rmSync(folder, { recursive: true, force: true });
  };
  const end = performance.now() + readyTimeoutMs;
  while (!(await takesConnections(port))) {
    if (ended() || performance.now() > end) {
      const said = readFileSync(logFile, 'utf8').trim().split('\n').at(-1) ?? '';
      await stop();
      throw new LocalServiceError(`PgBouncer does not start on port ${port}: ${said}`);
    }
    await delay(20);
  }
  return { url: Object.assign(new URL(url), { port: String(port) }).href, pid, stop };
}

const stopSteps: { name: NodeJS.Signals; waitMs: number }[] = [
  { name: 'SIGTERM', waitMs: 3_000 },
  { name: 'SIGKILL', waitMs: 5_000 },
];

/** Under root PgBouncer runs as the user of PostgreSQL, and nobody else may read the password. */
function writeFiles(
  folder: string,
  url: string,
  settings: Readonly<Record<string, string>>,
): { readonly file: string; readonly logFile: string } {
  const { hostname, port, username, password } = new URL(url);
  const [file, users] = [join(folder, 'pgbouncer.ini'), join(folder, 'users.txt')];
  const all = {
    listen_addr: '127.0.0.1',
    unix_socket_dir: '',
    auth_type: 'scram-sha-256',
    auth_file: users,
    pool_mode: 'transaction',
    max_client_conn: '1000',
    ...settings,
  };
  const lines = [
    ...['[databases]', `* = host=${hostname} port=${port}`, '[pgbouncer]'],
    ...Object.entries(all).map(([name, value]) => `${name} = ${value}`),
  ];
  writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600 });
  writeFileSync(users, `"${decodeURIComponent(username)}" "${decodeURIComponent(password)}"\n`, { mode: 0o600 });
  const user = postgresUser();
  if (user !== undefined) for (const path of [folder, file, users]) chownSync(path, user.uid, user.gid);
  return { file, logFile: join(folder, 'pgbouncer.log') };
}

function takesConnections(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(port, '127.0.0.1', () => (socket.destroy(), done(true)));
    socket.on('error', () => done(false));
  });
}
