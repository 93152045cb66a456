import { backgroundLoop, openRedis } from '@sealgate/storage';
import type { Log } from '@sealgate/observability';
import type { EndedSessions } from '../domain/session-liveness.ts';

const CONNECT_TIMEOUT_MS = 1_000;
const COMMAND_TIMEOUT_MS = 300;
const RETRY_MS = 1_000;
/** Sign-outs that wait for Redis; the oldest is dropped, and then the provider's revocation alone ends it elsewhere. */
const MAX_WAITING = 10_000;

/** Ended sessions in Redis, each until the session would have ended anyway. */
export function endedSessions({
  url,
  now,
  log,
}: {
  readonly url: string;
  readonly now: () => number;
  readonly log: Pick<Log, 'info'>;
}): EndedSessions & { close(): Promise<void> } {
  const redis = openRedis({
    url,
    name: 'console',
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    commandTimeoutMs: COMMAND_TIMEOUT_MS,
    onStateChange: (state, cause) =>
      log.info('redis_state', { state, ...(cause === undefined ? {} : { reason: cause.message }) }),
  });
  const waiting = new Map<string, number>();
  const keyOf = (id: string) => `console:ended:${id}`;
  const flush = async (): Promise<void> => {
    for (const [id, untilMs] of waiting) {
      const ms = Math.ceil(untilMs - now());
      if (ms > 0) await redis.client.set(keyOf(id), '1', 'PX', ms);
      waiting.delete(id);
    }
  };
  // Redis is away: tried again. The state is logged as it changes.
  const retrying = backgroundLoop({
    work: flush,
    pauseMs: RETRY_MS,
    firstAfterMs: RETRY_MS,
    onFailure: () => undefined,
  });
  return {
    async add(id, untilMs) {
      waiting.set(id, untilMs);
      const [oldest] = waiting.size > MAX_WAITING ? waiting.keys() : [];
      if (oldest !== undefined) waiting.delete(oldest);
      await flush().catch(() => undefined);
    },
    has: async (id) => (await redis.client.exists(keyOf(id))) === 1,
    async close() {
      await retrying.stop();
      await redis.close();
    },
  };
}
