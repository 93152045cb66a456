import { backgroundLoop, openRedis, redisRefusal } from '@sealgate/storage';
import type { Log } from '@sealgate/observability';
import type { SharedSessions } from '../domain/session-liveness.ts';

const CONNECT_TIMEOUT_MS = 1_000;
const COMMAND_TIMEOUT_MS = 300;
const RETRY_MS = 1_000;
/** Sign-outs that wait for Redis; the oldest is dropped, and then the provider's revocation alone ends it elsewhere. */
const MAX_WAITING = 10_000;

/**
 * How long a confirmed session needs no other proof. Bounded, since Redis may lose its newest writes alone (a failover,
 * an old snapshot): then the mark is still there and the sign-out is not.
 */
const CONFIRMED_MS = 900_000;

/**
 * Sessions in Redis: ended ones, each until the session would have ended anyway, and confirmed ones. Without a mark
 * nothing is known, so that Redis may lose its data, or evict some, without bringing a session back.
 */
export function endedSessions({
  url,
  now,
  log,
}: {
  readonly url: string;
  readonly now: () => number;
  readonly log: Pick<Log, 'info' | 'warn'>;
}): SharedSessions & { readonly problem: string | undefined; close(): Promise<void> } {
  const redis = openRedis({
    url,
    name: 'console',
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    commandTimeoutMs: COMMAND_TIMEOUT_MS,
    onStateChange: (state, reason) => log.info('redis_state', { state, ...(reason === undefined ? {} : { reason }) }),
  });
  /** What Redis refuses, by command: a user may lack one right of two. */
  const refused = new Map<string, string>();
  const told = async <Answer>(command: string, answer: Promise<Answer>): Promise<Answer> => {
    try {
      const settled = await answer;
      refused.delete(command);
      return settled;
    } catch (error) {
      const reason = redisRefusal(error);
      if (reason !== undefined && refused.get(command) !== reason) {
        refused.set(command, reason);
        log.warn('redis_refused', { reason });
      }
      throw error;
    }
  };
  const waiting = new Map<string, number>();
  const keyOf = (id: string) => `console:session:${id}`;
  const flush = async (): Promise<void> => {
    for (const [id, untilMs] of waiting) {
      const ms = Math.ceil(untilMs - now());
      if (ms > 0) await told('set', redis.client.set(keyOf(id), 'ended', 'PX', ms));
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
    get problem() {
      return redis.problem ?? [...refused.values()][0];
    },
    async end(id, untilMs) {
      waiting.set(id, untilMs);
      const [oldest] = waiting.size > MAX_WAITING ? waiting.keys() : [];
      if (oldest !== undefined) waiting.delete(oldest);
      await flush().catch(() => undefined);
    },
    async confirm(id, untilMs) {
      const ms = Math.min(CONFIRMED_MS, Math.ceil(untilMs - now()));
      // Never over the mark of an ended one. Redis is away: the provider is asked again instead.
      if (ms > 0) await told('set', redis.client.set(keyOf(id), 'live', 'PX', ms, 'NX')).catch(() => undefined);
    },
    async find(id) {
      const mark = await told('get', redis.client.get(keyOf(id)));
      return mark === 'live' || mark === 'ended' ? mark : undefined;
    },
    async close() {
      await retrying.stop();
      await redis.close();
    },
  };
}
