import type { EventPosition } from './event-cursor.ts';
import type { SourceEvent } from './ledger-event.ts';

/**
 * The events of channels, in order and without a gap. Every method ends within seconds, but `arrival`. They reject with
 * LedgerUnavailableError.
 */
export interface EventSource {
  /** The position after the newest event. */
  newest(channel: string): Promise<EventPosition>;
  /**
   * Some events after a position, oldest first, and the position up to which there are no others. A bounded step: none
   * does not mean that there are none.
   */
  read(channel: string, after: EventPosition, signal: AbortSignal): Promise<EventPage>;
  /**
   * Resolves once there may be something to read after a position, or the signal is aborted. Of use while somebody
   * follows.
   */
  arrival(channel: string, after: EventPosition, signal: AbortSignal): Promise<void>;
  /** Until the returned function is called, new events are noticed soon. Readers of a channel share the cost. */
  follow(channel: string): () => void;
  /** Blocks (of the embedded ledger: records) that are known to be there after a position. Does no I/O. */
  behind(channel: string, after: EventPosition): number;
  /** Whether a position can be one of this channel: beyond its end there is none in an authoritative ledger. */
  reaches(newest: EventPosition, position: EventPosition): boolean;
}

export interface EventPage {
  readonly events: readonly SourceEvent[];
  readonly position: EventPosition;
}
