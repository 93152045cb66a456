import { LedgerUnavailableError } from '@sealgate/ledger-port';
import type { EventSource } from '../domain/event-source.ts';
import type { SourceEvent } from '../domain/ledger-event.ts';

/** A channel of blocks with one event each, in memory. */
export interface MemoryEvents extends EventSource {
  /** Adds a block. */
  commit(more?: Partial<SourceEvent>): SourceEvent;
  /** Every call is refused from now on, or no longer. */
  isAway: boolean;
  /** Those that follow. */
  readonly followers: number;
  /** Blocks that a read returns at most. */
  readonly reads: number[];
}

export function memoryEvents(): MemoryEvents {
  const events: SourceEvent[] = [];
  const waiting = new Set<() => void>();
  const wake = (): void => {
    for (const look of [...waiting]) look();
  };
  const source = {
    followers: 0,
    isAway: false,
    reads: [] as number[],
    commit(more: Partial<SourceEvent> = {}): SourceEvent {
      const block = events.length;
      const event: SourceEvent = {
        kind: 'commit',
        position: { block, index: 0 },
        blockNumber: block,
        transactionId: `tx-${block}`,
        chaincode: 'records',
        code: 'VALID',
        at: '2030-01-02T03:04:05.678Z',
        assets: [{ id: `a-${block}`, type: 'asset' }],
        ...more,
      };
      events.push(event);
      wake();
      return event;
    },
    newest: () => answer(() => ({ block: events.length - 1, index: 0 })),
    read: (_channel: string, after: { readonly block: number }) =>
      answer(() => {
        source.reads.push(after.block);
        const read = events.slice(after.block + 1, after.block + 3);
        return { events: read, position: read.at(-1)?.position ?? { block: after.block, index: 0 } };
      }),
    arrival: (_channel: string, after: { readonly block: number }, signal: AbortSignal) =>
      new Promise<void>((resolve) => {
        const look = (): void => {
          if (!signal.aborted && events.length - 1 <= after.block) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        signal.addEventListener('abort', look);
        look();
      }),
    follow() {
      source.followers += 1;
      return () => void (source.followers -= 1);
    },
    behind: (_channel: string, after: { readonly block: number }) => Math.max(0, events.length - 1 - after.block),
    reaches: (newest: { readonly block: number }, position: { readonly block: number }) =>
      position.block <= newest.block,
  };
  async function answer<Value>(value: () => Value): Promise<Value> {
    if (source.isAway) throw new LedgerUnavailableError('The ledger is away.');
    return value();
  }
  return source;
}
