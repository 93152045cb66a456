import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProgram, foldersOf, startPostgres, type LocalPostgres } from '@sealgate/local-services';
import pg from 'pg';

export interface ThrowawayPostgres {
  /** The superuser's URL of a fresh, empty database. */
  readonly url: string;
  /** The postmaster's pid. Kill only your own server: see `own`. */
  readonly pid: number;
  readonly port: number;
  /** Creates another database on the same server; returns its URL. */
  newDatabase(): Promise<string>;
  /** Drops the created databases, or stops an own server and removes its data. Idempotent. */
  stop(): Promise<void>;
}

export interface OwnPostgres extends ThrowawayPostgres {
  /** Stops the server and keeps its data; `immediate` is like a crash. */
  halt(mode?: 'fast' | 'immediate'): Promise<void>;
  /** Restarts it at the same address with its data. */
  restart(): Promise<void>;
}

interface ThrowawayPostgresOptions {
  /** A server for this test only, which it may halt or kill. Implied by any other option. */
  readonly own?: true;
  /** Writes are flushed to disk before they are acknowledged, as in production. */
  readonly durable?: true;
  readonly settings?: Readonly<Record<string, string>>;
  /** `.../bin` of an installed PostgreSQL; see `installedPostgres`. */
  readonly binFolder?: string;
}

/**
 * The programs of an installed PostgreSQL, for tests of client tools (`pg_dump`) that the npm package lacks. Undefined
 * if there is none.
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
 * A real PostgreSQL for tests. Without options all test files of a process share one server, each with a fresh
 * database; with options the test has its own server. The server ends with the process that started it, even by
 * SIGKILL. An already running server is never used.
 */
export function throwawayPostgres(): Promise<ThrowawayPostgres>;
export function throwawayPostgres(options: ThrowawayPostgresOptions): Promise<OwnPostgres>;
export async function throwawayPostgres(options?: ThrowawayPostgresOptions): Promise<ThrowawayPostgres> {
  return options === undefined ? onSharedServer() : ownServer(options);
}

/**
 * A database of the shared server as `prepare` makes it. `prepare` runs once in each process, on an empty database named
 * by `name`; every further database is a copy, which takes a fraction of a migration.
 */
export async function preparedPostgres(
  name: string,
  prepare: (url: string) => Promise<unknown>,
): Promise<ThrowawayPostgres> {
  const { url } = await sharedServer();
  let template = templates.get(name);
  if (template === undefined) {
    template = createDatabase(url).then(async (made) => (await prepare(made), made));
    templates.set(name, template);
  }
  return onSharedServer(databaseOf(await template));
}

const templates = new Map<string, Promise<string>>();

async function onSharedServer(template?: string): Promise<ThrowawayPostgres> {
  const server = await sharedServer();
  const made: string[] = [];
  const create = async (from?: string): Promise<string> => {
    const url = await createDatabase(server.url, from);
    made.push(url);
    return url;
  };
  const stop = async (): Promise<void> => {
    for (const url of made.splice(0)) await dropDatabase(server.url, url);
  };
  return { url: await create(template), pid: server.pid, port: server.port, newDatabase: () => create(), stop };
}

let shared: Promise<LocalPostgres> | undefined;

const sharedServer = (): Promise<LocalPostgres> => (shared ??= startIn(testFolder(), { ...small, ...fast }));

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
  chmodSync(folder, 0o711); // Under root the server runs as another user, who must reach its data.
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

async function createDatabase(adminUrl: string, template = 'template0'): Promise<string> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await executeSql(adminUrl, `CREATE DATABASE ${name} TEMPLATE ${template}`);
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return url.href;
}

const dropDatabase = (adminUrl: string, url: string): Promise<void> =>
  executeSql(adminUrl, `DROP DATABASE IF EXISTS ${databaseOf(url)} WITH (FORCE)`);

const databaseOf = (url: string): string => new URL(url).pathname.slice(1);

/** Runs one statement on a new connection. */
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
 * Copies a whole database. The returned function restores the copy, like a restored dump or a failover to a lagging
 * server. Connections are cut both times.
 */
export async function copyDatabase(url: string, suffix = 'copy'): Promise<() => Promise<void>> {
  const name = databaseOf(url);
  const copy = `${name}_${suffix}`;
  const maintenance = Object.assign(new URL(url), { pathname: '/postgres' }).href;
  const replace = async (from: string, to: string): Promise<void> => {
    // Connected clients would block the copy, and reconnect at once.
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

/** A concurrent transaction that holds the locks of its statement. */
interface HeldLock {
  /** Number of sessions of this database that wait for a lock. */
  waiting(): Promise<number>;
  release(): Promise<void>;
}

/** Runs one statement in a transaction that stays open, with its locks, until released. */
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
