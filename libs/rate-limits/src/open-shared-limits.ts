import type { Log, Metrics } from '@sealgate/observability';
import { openRedis, redisProblem, redisRefusal, type RedisHandle } from '@sealgate/storage';
import { memoryLimits } from './memory-limits.ts';
import { redisLimits } from './redis-limits.ts';
import { sharedLimits, type SharedLimits } from './limits.ts';

interface OpenedLimits {
  readonly limits: SharedLimits;
  /** The connection, for other small uses. Undefined without Redis. */
  readonly redis: RedisHandle['client'] | undefined;
  /** Why Redis does not decide, or what it refuses; undefined if nothing is wrong, or without Redis. */
  redisProblem(): string | undefined;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 1000;
const COMMAND_TIMEOUT_MS = 150;

/** Opens the limits of a surface, over Redis if configured, with the gauge and log lines of their state. */
export function openSharedLimits(options: {
  /** Undefined: no Redis, this process decides alone. */
  readonly url: string | undefined;
  /** Client name of the surface in Redis. */
  readonly name: string;
  /** Prefix of the surface's keys: `ingest:`. */
  readonly prefix: string;
  readonly replicas: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
}): OpenedLimits {
  const { url, name, prefix, replicas, now, log, metrics } = options;
  const gauge = metrics.gauge({
    name: 'limits_shared',
    help: '1 while Redis decides the limits of all replicas, 0 while this process does.',
    labels: {},
  });
  const local = memoryLimits({ now, replicas, startEmpty: true });
  const onStateChange = (state: SharedLimits['state']) => gauge.set({}, state === 'shared' ? 1 : 0);
  if (url === undefined) {
    const limits = sharedLimits({ local, now, log, onStateChange });
    return { limits, redis: undefined, redisProblem: () => undefined, close: async () => limits.close() };
  }
  const redis = openRedis({
    url,
    name,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    commandTimeoutMs: COMMAND_TIMEOUT_MS,
    onStateChange: (state, reason) => log.info('redis_state', { state, ...(reason === undefined ? {} : { reason }) }),
  });
  const limits = sharedLimits({
    redis: redisLimits({ client: redis.client, prefix }),
    local,
    now,
    log,
    onStateChange,
    // What keeps the connection away says more than that a call found none.
    explain: (error) => (redis.state === 'away' ? redis.problem : undefined) ?? redisProblem(error),
    isRefusal: (error) => redisRefusal(error) !== undefined,
  });
  return {
    limits,
    redis: redis.client,
    redisProblem: () => limits.problem ?? redis.problem,
    async close() {
      limits.close();
      await redis.close();
    },
  };
}
