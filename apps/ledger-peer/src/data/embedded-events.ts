import type { EmbeddedLedger } from '@sealgate/ledger-embedded';
import { backgroundLoop, type BackgroundLoop } from '@sealgate/storage';
import { BEGINNING, type EventPosition } from '../domain/event-cursor.ts';
import type { EventSource } from '../domain/event-source.ts';
import type { Mappings } from '../domain/mapping.ts';

interface EmbeddedEventsOptions {
  readonly ledger: Pick<EmbeddedLedger, 'size' | 'commits'>;
  readonly mappings: Mappings;
  /** Interval of looking for new records of a channel, while somebody follows it. */
  readonly everyMs: number;
  readonly onFailure: (error: unknown) => void;
}

/** One look at the size of a channel serves all who follow it. */
interface Followed {
  readonly loop: BackgroundLoop;
  readonly waiting: Set<() => void>;
  followers: number;
  size: number;
}

/**
 * The transactions of the embedded ledger as events. The position of a transaction is its first index, and the number of
 * its records after that one.
 */
export function embeddedEvents({ ledger, mappings, everyMs, onFailure }: EmbeddedEventsOptions): EventSource {
  const followed = new Map<string, Followed>();
  const begin = (channel: string): Followed => {
    const one: Followed = {
      waiting: new Set(),
      followers: 0,
      size: 0,
      loop: backgroundLoop({
        async work() {
          one.size = (await ledger.size(channel)) ?? 0;
          for (const look of [...one.waiting]) look();
        },
        pauseMs: everyMs,
        onFailure,
      }),
    };
    followed.set(channel, one);
    return one;
  };
  return {
    async newest(channel) {
      const size = (await ledger.size(channel)) ?? 0;
      return size === 0 ? BEGINNING : { block: size - 1, index: 0 };
    },
    async read(channel, after) {
      const commits = await ledger.commits(channel, nextOf(after));
      const chaincode = mappings.targets.find((target) => target.channel === channel)?.chaincode ?? '';
      const events = commits.map(({ transactionId, first, records, at }) => ({
        kind: 'commit' as const,
        position: { block: first, index: records.length - 1 },
        blockNumber: first,
        ...{ transactionId, chaincode, at },
        code: 'VALID',
        assets: records,
      }));
      return { events, position: events.at(-1)?.position ?? after };
    },
    arrival(channel, after, signal) {
      return new Promise((resolve) => {
        const one = followed.get(channel);
        const look = (): void => {
          if (!signal.aborted && one !== undefined && one.size <= nextOf(after)) return;
          one?.waiting.delete(look);
          signal.removeEventListener('abort', look);
          resolve();
        };
        one?.waiting.add(look);
        signal.addEventListener('abort', look);
        look();
      });
    },
    follow(channel) {
      const one = followed.get(channel) ?? begin(channel);
      one.followers += 1;
      return () => {
        one.followers -= 1;
        if (one.followers > 0) return;
        followed.delete(channel);
        void one.loop.stop();
      };
    },
    behind: (channel, after) => Math.max(0, (followed.get(channel)?.size ?? 0) - nextOf(after)),
    reaches: (newest, position) => nextOf(position) <= nextOf(newest),
  };
}

/** The first index after a position. */
const nextOf = ({ block, index }: EventPosition): number => block + index + 1;
