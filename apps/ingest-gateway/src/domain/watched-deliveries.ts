import { AppError } from '@sealgate/errors';
import { StaleGuardError } from '@sealgate/ledger-port';
import type { LiveSource } from './source.ts';
import type { DeliveryAnswer, DeliveryRequest, TakeDelivery } from './take-delivery.ts';

/** What became of a delivery: its answer, or the refusal. */
export type DeliveryEnd = DeliveryAnswer['outcome'] | 'unsigned' | 'flooded' | 'limited' | 'refused' | 'failed';

export interface DeliveryReport {
  readonly source: LiveSource;
  readonly requestId: string;
  readonly end: DeliveryEnd;
  /** Of a refusal. */
  readonly code?: string;
}

/** The same, with each end told once. What is served again because its source has changed has not ended. */
export function watchedDeliveries(take: TakeDelivery, onEnd: (report: DeliveryReport) => void): TakeDelivery {
  return async (request) => {
    try {
      const answer = await take(request);
      onEnd({ ...aboutOf(request), end: answer.outcome });
      return answer;
    } catch (error) {
      if (error instanceof StaleGuardError) throw error;
      const code = error instanceof AppError ? error.code : 'INTERNAL';
      onEnd({ ...aboutOf(request), end: endOf(error), code });
      throw error;
    }
  };
}

const aboutOf = ({ caller: { source }, requestId }: DeliveryRequest) => ({ source, requestId });

function endOf(error: unknown): DeliveryEnd {
  if (!(error instanceof AppError) || error.status >= 500) return 'failed';
  if (error.code === 'UNAUTHENTICATED') return 'unsigned';
  return error.code === 'RATE_LIMITED' ? 'limited' : 'refused';
}

const MOST_FAILING = 1000;
/** A source that nobody sends to any more does not fail. */
const FORGOTTEN_AFTER_MS = 900_000;

/**
 * Which sources have had nothing but bad signatures lately, as far as this process has seen: a secret was exchanged at one end
 * alone, or somebody guesses. Bounded, and kept in memory.
 */
export class FailingSources {
  /** When the signature of a source failed last. */
  readonly #failing = new Map<string, number>();
  readonly #now: () => number;
  readonly #onFailing: (source: LiveSource) => void;

  /** `onFailing` is told the first time that a source fails after it did not. */
  constructor({ now, onFailing }: { readonly now: () => number; readonly onFailing: (source: LiveSource) => void }) {
    this.#now = now;
    this.#onFailing = onFailing;
  }

  vouched(source: LiveSource, holds: boolean): void {
    const { sourceId } = source;
    if (holds) {
      if (this.#failing.size > 0) this.#failing.delete(sourceId);
      return;
    }
    const nowMs = this.#now();
    const known = this.#failing.get(sourceId);
    if (known === undefined && this.#failing.size >= MOST_FAILING)
      this.#failing.delete(this.#failing.keys().next().value!);
    this.#failing.set(sourceId, nowMs);
    if (known === undefined || nowMs - known >= FORGOTTEN_AFTER_MS) this.#onFailing(source);
  }

  /** How many fail now. */
  count(): number {
    const nowMs = this.#now();
    for (const [sourceId, lastMs] of this.#failing) {
      if (nowMs - lastMs >= FORGOTTEN_AFTER_MS) this.#failing.delete(sourceId);
    }
    return this.#failing.size;
  }
}
