import { join } from 'node:path';
import { findRedisServer, startPostgres, startRedis } from '@sealgate/local-services';
import { givenDatabase, prepareDatabase, type LocalDatabase } from './database.ts';
import { postgresPort, redisPort } from './ports.ts';
import type { StartContext } from './start-context.ts';
import { UserError } from './user-error.ts';

export interface Stores {
  readonly database: LocalDatabase;
  /** For the screen: where it is, without any password. */
  readonly postgresPlace: string;
  readonly redisUrl: string | undefined;
  readonly redisPlace: string | undefined;
}

const settings = { max_connections: '200' };

/** Starts PostgreSQL and Redis, or takes those that were given. */
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
    tell('No redis-server is on the PATH: going on without Redis. Limits then hold per process only.');
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

/** Where it says that the server is, or the servers are; never who asks. */
function placeOf(url: string, name: string): string {
  const [, hosts] = /^[a-z][a-z+-]*:\/\/(?:[^/?#]*@)?([^/?#]*)/i.exec(url) ?? [];
  if (hosts === undefined) throw new UserError(`${name} is not a URL.`);
  return hosts;
}
