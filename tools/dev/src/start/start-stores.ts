import { join } from 'node:path';
import { findRedisServer, startPostgres, startRedis } from '@sealgate/local-services';
import { type Database, openDatabase } from '@sealgate/storage';
import type { Secrets } from './secrets.ts';
import type { StartContext } from './start-context.ts';
import { postgresPort, redisPort } from './surface.ts';
import { UserError } from './user-error.ts';

export interface Stores {
  readonly database: LocalDatabase;
  /** For the screen: its address without a password. */
  readonly postgresPlace: string;
  readonly redisUrl: string | undefined;
  readonly redisPlace: string | undefined;
}

const settings = { max_connections: '200' };

/** Starts PostgreSQL and Redis, or uses the configured ones. */
export async function startStores(context: StartContext): Promise<Stores> {
  const database = await startDatabase(context);
  return { ...database, ...(await startCache(context)) };
}

/** Which of the two are started here, and so need a port. */
export function storesToStart({ options, env }: Pick<StartContext, 'options' | 'env'>): {
  postgres: boolean;
  redis: boolean;
} {
  return {
    postgres: env['DATABASE_URL'] === undefined,
    redis: options.redis && env['REDIS_URL'] === undefined && findRedisServer() !== undefined,
  };
}

async function startDatabase(context: StartContext): Promise<Pick<Stores, 'database' | 'postgresPlace'>> {
  const { env, options, data, tell } = context;
  const given = env['DATABASE_URL'];
  if (given !== undefined) {
    return {
      database: givenDatabase(given, env['MIGRATION_DATABASE_URL']),
      postgresPlace: `${placeOf(given, 'DATABASE_URL')} (DATABASE_URL)`,
    };
  }
  tell('Starting PostgreSQL');
  const server = await startPostgres({
    dataDirectory: data.postgres,
    port: postgresPort(options.portBase),
    settings,
    log: tell,
  });
  context.stack.own('PostgreSQL', () => server.stop());
  context.watch({
    name: 'PostgreSQL',
    logFile: `${data.postgres}.log`,
    ended: server.exited.then((code) => (code === null ? 'a signal' : `exit code ${code}`)),
  });
  const surfaces = context.surfaces.filter(({ isConsole }) => isConsole !== true).map(({ name }) => name);
  const database = await prepareDatabase(server.url, { surfaces, secrets: context.secrets });
  return { database, postgresPlace: `127.0.0.1:${server.port}, data in ${server.dataDirectory}` };
}

async function startCache(context: StartContext): Promise<Pick<Stores, 'redisUrl' | 'redisPlace'>> {
  const { env, options, data, tell } = context;
  const given = env['REDIS_URL'];
  if (!options.redis) return { redisUrl: undefined, redisPlace: undefined };
  if (given !== undefined) return { redisUrl: given, redisPlace: `${placeOf(given, 'REDIS_URL')} (REDIS_URL)` };
  if (!storesToStart(context).redis) {
    tell('No redis-server is on the PATH: continuing without Redis. Limits are per process.');
    return { redisUrl: undefined, redisPlace: undefined };
  }
  tell('Starting Redis');
  const server = await startRedis({ directory: data.redis, port: redisPort(options.portBase) });
  context.stack.own('Redis', () => server.stop());
  const shown = { name: 'Redis', logFile: join(data.redis, 'redis.log') };
  context.remember({ ...shown, pid: server.pid, mark: data.redis });
  context.watch({
    ...shown,
    ended: server.exited.then((code) => (code === null ? 'a signal' : `exit code ${code}`)),
  });
  return { redisUrl: server.url, redisPlace: `127.0.0.1:${server.port}` };
}

/** Host and port of a URL, without credentials. */
function placeOf(url: string, name: string): string {
  const [, hosts] = /^[a-z][a-z+-]*:\/\/(?:[^/?#]*@)?([^/?#]*)/i.exec(url) ?? [];
  if (hosts === undefined) throw new UserError(`${name} is not a URL.`);
  return hosts;
}

/** Database URLs: for migrations, and for the runtime role of each surface. */
interface LocalDatabase {
  readonly ownerUrl: string;
  runtimeUrl(surface: string): string;
  /** For the admin listeners' role in the ledger; undefined for an external database without one. */
  readonly operatorUrl: string | undefined;
}

const databaseName = 'sealgate';
/** The operator role: reads, audits and erases every channel for holders of an admin token. */
const OPERATOR = 'ledger-operator';

/**
 * Creates the database, a role without privileges for each surface, and one for operators, in the PostgreSQL started
 * here.
 */
async function prepareDatabase(
  superuserUrl: string,
  { surfaces, secrets }: { surfaces: readonly string[]; secrets: Secrets },
): Promise<LocalDatabase> {
  const database = openDatabase({
    url: superuserUrl,
    applicationName: 'sealgate-start',
    maxConnections: 1,
    connectTimeoutMs: 10_000,
    deadlineMs: 30_000,
  });
  try {
    await makeDatabase(database);
    for (const name of [...surfaces, OPERATOR]) await makeRole(database, roleOf(name), passwordOf(secrets, name));
  } finally {
    await database.close();
  }
  const urlOf = (name: string) =>
    withParts(superuserUrl, { username: roleOf(name), password: passwordOf(secrets, name) });
  return { ownerUrl: withParts(superuserUrl, {}), runtimeUrl: urlOf, operatorUrl: urlOf(OPERATOR) };
}

/** An external database: its owner decides the roles of migrations and services. */
function givenDatabase(databaseUrl: string, migrationUrl: string | undefined): LocalDatabase {
  return { ownerUrl: migrationUrl ?? databaseUrl, runtimeUrl: () => databaseUrl, operatorUrl: undefined };
}

const roleOf = (surface: string): string => surface.replaceAll('-', '_');
const passwordOf = (secrets: Secrets, surface: string): string => secrets.secret(`${surface}.databasePassword`);

async function makeDatabase(database: Database): Promise<void> {
  const found = await database.query({ text: 'SELECT 1 FROM pg_database WHERE datname = $1', values: [databaseName] });
  if (found.length === 0) await database.query({ text: `CREATE DATABASE ${databaseName} TEMPLATE template0` });
}

/** Not injectable: the name is ours and the password is base64url. */
async function makeRole(database: Database, role: string, password: string): Promise<void> {
  const found = await database.query({ text: 'SELECT 1 FROM pg_roles WHERE rolname = $1', values: [role] });
  const verb = found.length === 0 ? 'CREATE' : 'ALTER';
  await database.query({ text: `${verb} ROLE ${role} LOGIN PASSWORD '${password}'` });
}

function withParts(url: string, parts: { username?: string; password?: string }): string {
  const made = Object.assign(new URL(url), parts);
  made.pathname = `/${databaseName}`;
  return made.href;
}
