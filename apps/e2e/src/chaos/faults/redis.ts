import { until, throwawayRedis } from '@sealgate/testing';
import { redisCommand } from '../../harness/redis-control.ts';
import type { Random } from '../random.ts';
import type { Site } from '../site.ts';
import { last, onLinux, type Done, type FaultKind } from './fault.ts';

const command = ({ redis }: Site, ...words: readonly string[]): Promise<string> => redisCommand(redis.url, ...words);

/** Breaks Redis, which no request may notice: each is decided in time. */
const fault = (
  name: string,
  {
    begin,
    end,
    ...rest
  }: Pick<FaultKind, 'missing'> & {
    readonly begin: (site: Site) => unknown;
    readonly end?: (site: Site) => unknown;
  },
): FaultKind => ({
  name: `redis-${name}`,
  isAlone: true,
  isBounded: true,
  ...rest,
  async run({ site }, random: Random): Promise<Done> {
    await begin(site);
    await last(random, 500, 2_500);
    await end?.(site);
    return { hit: 'redis', did: {} };
  },
});

export const redisFaults: readonly FaultKind[] = [
  fault('killed', {
    begin: ({ redis }) => process.kill(redis.pid, 'SIGKILL'),
    end: ({ redis }) => redis.restart(),
  }),
  fault('frozen', {
    missing: onLinux,
    begin: ({ redis }) => process.kill(redis.pid, 'SIGSTOP'),
    end: ({ redis }) => process.kill(redis.pid, 'SIGCONT'),
  }),
  fault('flushed', { begin: (site) => Promise.all([command(site, 'FLUSHALL'), command(site, 'SCRIPT', 'FLUSH')]) }),
  fault('readonly', {
    begin: (site) => command(site, 'REPLICAOF', '127.0.0.1', '1'),
    end: (site) => command(site, 'REPLICAOF', 'NO', 'ONE'),
  }),
  fault('full', {
    begin: (site) => command(site, 'CONFIG', 'SET', 'maxmemory', '1'),
    end: (site) => command(site, 'CONFIG', 'SET', 'maxmemory', '0'),
  }),
  fault('failed-over', { begin: failOver }),
];

/** A replica has the data when the server dies, and gives it to the one that takes the address. */
async function failOver(site: Site): Promise<void> {
  const { redis } = site;
  const replica = await throwawayRedis();
  const follow = async (at: string, source: string): Promise<void> => {
    const { hostname, port, password } = new URL(source);
    await redisCommand(source, 'CONFIG', 'SET', 'repl-diskless-sync-delay', '0');
    await redisCommand(at, 'CONFIG', 'SET', 'masterauth', password);
    await redisCommand(at, 'REPLICAOF', hostname, port);
    const isSynced = async (): Promise<boolean> => (await redisCommand(source, 'WAIT', '1', '1000')) === ':1';
    await until(isSynced, { timeoutMs: 10_000, what: 'a synchronised replica' });
  };
  try {
    await follow(replica.url, redis.url);
    process.kill(redis.pid, 'SIGKILL');
    await redisCommand(replica.url, 'REPLICAOF', 'NO', 'ONE');
    await redis.restart();
    await follow(redis.url, replica.url);
    await redisCommand(redis.url, 'REPLICAOF', 'NO', 'ONE');
  } finally {
    await replica.stop();
  }
}
