import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProgram, foldersOf, isAlive, startPostgres, type LocalPostgres } from '@sealgate/local-services';
import pg from 'pg';

export interface ThrowawayPostgres {
  /** The superuser's URL of a fresh, empty database. */
  readonly url: string;
  /** The postmaster's process id. Kill only a server of your own: see `own`. */
  readonly pid: number;
  readonly port: number;
  /** Makes another fresh database on the same server; gives its URL. */
  newDatabase(): Promise<string>;
  /** Lets go: drops the databases made, or ends the server and removes its data when it is an own one. Idempotent. */
  stop(): Promise<void>;
}

export interface OwnPostgres extends ThrowawayPostgres {
  /** Ends the server and leaves its data; `immediate` is what a crash does. */
  halt(mode?: 'fast' | 'immediate'): Promise<void>;
  /** Starts it again, at the same address, on the data it had. */
  restart(): Promise<void>;
}

export interface ThrowawayPostgresOptions {
  /** A server that this test alone has, so that it may halt or kill it. Any other option implies it. */
  readonly own?: true;
  /** Writes reach the disk before they are acknowledged, as in production. */
  readonly durable?: true;
  readonly settings?: Readonly<Record<string, string>>;
  /** `.../bin` of an installation of this machine; see `installedPostgres`. */
  readonly binFolder?: string;
}

/**
 * The programs of a PostgreSQL that is installed here, for tests of what comes beside a server (`pg_dump`), which the one from
 * npm has not got. Undefined where there is none.
 */
export function installedPostgres(): string | undefined {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [...versions.map((version) => join(debian, version, 'bin')), ...foldersOf(process.env['PATH'])];
  const whole = (folder: string) => ['initdb', 'postgres', 'pg_dump'].every((name) => findProgram(name, [folder]));
  return folders.find(whole);
}

const fast: Readonly<Record<string, string>> = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };
const small: Readonly<Record<string, string>> = {
  shared_buffers: '32MB',
  max_connections: '100',
  max_wal_size: '256MB',
};

/**
 * A real PostgreSQL for tests. Without options every test file of a jest worker shares one server and has a fresh
 * database; with options the test has a server of its own. The server ends with the process that started it, even
 * when that is killed. It never is the one that happens to run on this machine.
 */
export function throwawayPostgres(): Promise<ThrowawayPostgres>;
export function throwawayPostgres(options: ThrowawayPostgresOptions): Promise<OwnPostgres>;
export async function throwawayPostgres(options?: ThrowawayPostgresOptions): Promise<ThrowawayPostgres> {
  return options === undefined ? onSharedServer() : ownServer(options);
}

/** What the test files of one process know of the server they share: jest gives each file fresh modules, so a file tells. */
interface SharedServer {
  readonly url: string;
  readonly pid: number;
  readonly port: number;
}

async function onSharedServer(): Promise<ThrowawayPostgres> {
  const server = readShared() ?? (await startShared());
  const made: string[] = [];
  const newDatabase = async (): Promise<string> => {
    const url = await createDatabase(server.url);
    made.push(url);
    return url;
  };
  const stop = async (): Promise<void> => {
    for (const url of made.splice(0)) await dropDatabase(server.url, url);
  };
  return { url: await newDatabase(), pid: server.pid, port: server.port, newDatabase, stop };
}

const sharedFolder = (): string => join(tmpdir(), `sealgate-test-${process.getuid?.() ?? 0}-${process.pid}`);

function readShared(): SharedServer | undefined {
  const file = join(sharedFolder(), 'server.json');
  try {
    // The name can be guessed: what somebody else put there is not ours to believe.
    if (lstatSync(file).uid !== (process.getuid?.() ?? 0)) return undefined;
    const server: SharedServer = JSON.parse(readFileSync(file, 'utf8'));
    return isAlive(server.pid) ? server : undefined;
  } catch {
    return undefined; // Not started yet in this process.
  }
}

let starting: Promise<SharedServer> | undefined;

function startShared(): Promise<SharedServer> {
  starting ??= (async () => {
    const folder = sharedFolder();
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { mode: 0o711 });
    const { url, pid, port } = await startIn(folder, { ...small, ...fast });
    writeFileSync(join(folder, 'server.json'), JSON.stringify({ url, pid, port }), { mode: 0o600 });
    return { url, pid, port };
  })();
  return starting;
}

async function ownServer({ durable, settings, binFolder }: ThrowawayPostgresOptions): Promise<OwnPostgres> {
  const folder = testFolder();
  const all = { ...small, ...(durable === true ? {} : fast), ...settings };
  let server = await startIn(folder, all, { binFolder });
  const { port, url: adminUrl } = server;
  const newDatabase = (): Promise<string> => createDatabase(adminUrl);
  const url = await newDatabase();
  return {
    url,
    port,
    get pid() {
      return server.pid;
    },
    newDatabase,
    halt: (mode) => server.stop(mode),
    restart: async () => {
      await server.stop('immediate');
      server = await startIn(folder, all, { port, binFolder });
    },
    stop: async () => {
      await server.stop('immediate');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function testFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sealgate-test-'));
  chmodSync(folder, 0o711); // Under root the server is another user, who must pass through to its data.
  return folder;
}

function startIn(
  folder: string,
  settings: Readonly<Record<string, string>>,
  { port, binFolder }: { port?: number; binFolder?: string | undefined } = {},
): Promise<LocalPostgres> {
  return startPostgres({
    dataDirectory: join(folder, 'data'),
    settings,
    removeWithOwner: folder,
    ...(port === undefined ? {} : { port }),
    ...(binFolder === undefined ? {} : { binFolder }),
  });
}

async function createDatabase(adminUrl: string): Promise<string> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await executeSql(adminUrl, `CREATE DATABASE ${name} TEMPLATE template0`);
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return url.href;
}

const dropDatabase = (adminUrl: string, url: string): Promise<void> =>
  executeSql(adminUrl, `DROP DATABASE IF EXISTS ${new URL(url).pathname.slice(1)} WITH (FORCE)`);

/** Runs one statement on a connection of its own. */
export async function executeSql(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000, query_timeout: 60_000 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/**
 * A copy of a whole database as it is now. What is given back puts the database back to it: as a restored dump, or a
 * failover to a server that was behind, would. Connections are cut both times.
 */
export async function copyDatabase(url: string, suffix = 'copy'): Promise<() => Promise<void>> {
  const name = new URL(url).pathname.slice(1);
  const copy = `${name}_${suffix}`;
  const maintenance = Object.assign(new URL(url), { pathname: '/postgres' }).href;
  const replace = async (from: string, to: string): Promise<void> => {
    // Whoever is connected would be in the way of the copy, and comes back at once.
    await executeSql(maintenance, `ALTER DATABASE ${from} ALLOW_CONNECTIONS false`);
    await executeSql(
      maintenance,
      `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '${from}'`,
    );
    await executeSql(maintenance, `DROP DATABASE IF EXISTS ${to} WITH (FORCE)`);
    await executeSql(maintenance, `CREATE DATABASE ${to} TEMPLATE ${from}`);
    await executeSql(maintenance, `ALTER DATABASE ${from} ALLOW_CONNECTIONS true`);
  };
  await replace(name, copy);
  return () => replace(copy, name);
}

/** A transaction of somebody else that holds what its statement has locked. */
export interface HeldLock {
  /** How many others of this database wait for a lock. */
  waiting(): Promise<number>;
  release(): Promise<void>;
}

/** Runs one statement in a transaction that stays open until it is released, so that whoever needs the same must wait. */
export async function holdLock(url: string, statement: string): Promise<HeldLock> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('BEGIN');
  await client.query(statement);
  return {
    async waiting() {
      const text = `SELECT count(*)::int AS count FROM pg_stat_activity
                     WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      const { rows } = await client.query<{ count: number }>(text);
      return rows[0]?.count ?? 0;
    },
    release: () => client.end(),
  };
}
