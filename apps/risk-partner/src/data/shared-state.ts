import type { Log, Metrics } from '@sealgate/observability';
import { memoryLimits, redisLimits, sharedLimits, type SharedLimits } from '@sealgate/rate-limits';
import { openRedis } from '@sealgate/storage';

export interface SharedState {
  readonly limits: SharedLimits;
  close(): Promise<void>;
}

export interface SharedStateOptions {
  /** Undefined: there is no Redis, and this process decides alone. */
  readonly url: string | undefined;
  readonly replicas: number;
  readonly now: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
}

const CONNECT_WITHIN_MS = 1000;
const COMMAND_WITHIN_MS = 150;

/** What replicas share through Redis: limits. Losing it loses nothing else. */
export function openShared({ url, replicas, now, log, metrics }: SharedStateOptions): SharedState {
  const gauge = metrics.gauge({
    name: 'limits_shared',
    help: '1 while Redis decides the limits of all replicas.',
    labels: {},
  });
  const local = memoryLimits({ now, replicas, startEmpty: true });
  const onStateChange = (state: SharedLimits['state']) => gauge.set({}, state === 'shared' ? 1 : 0);
  if (url === undefined) {
    const limits = sharedLimits({ local, now, log, onStateChange });
    return { limits, close: async () => limits.close() };
  }
  const redis = openRedis({
    url,
    name: 'risk-partner',
    connectTimeoutMs: CONNECT_WITHIN_MS,
    commandTimeoutMs: COMMAND_WITHIN_MS,
    onStateChange: (state, cause) =>
      log.info('redis_state', { state, ...(cause === undefined ? {} : { reason: cause.message }) }),
  });
  const limits = sharedLimits({
    redis: redisLimits({ client: redis.client, prefix: 'risk:' }),
    local,
    now,
    log,
    onStateChange,
  });
  return {
    limits,
    async close() {
      limits.close();
      await redis.close();
    },
  };
}
