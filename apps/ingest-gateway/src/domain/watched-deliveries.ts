import { AppError } from '@sealgate/errors';
import { StaleGuardError } from '@sealgate/ledger-port';
import type { LiveSource } from './source.ts';
import type { DeliveryAnswer, DeliveryRequest, TakeDelivery } from './take-delivery.ts';

/** The result of a delivery: the outcome of its answer, or the kind of refusal. */
export type DeliveryEnd = DeliveryAnswer['outcome'] | 'unsigned' | 'flooded' | 'limited' | 'refused' | 'failed';

export interface DeliveryReport {
  readonly source: LiveSource;
  readonly requestId: string;
  readonly end: DeliveryEnd;
  /** Set for refusals. */
  readonly code?: string;
}

/**
 * Wraps `take` and reports each result once. A delivery that is served again because its source has changed is not
 * reported.
 */
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
/** A source without a bad signature for this long no longer counts as failing. */
const FORGOTTEN_AFTER_MS = 900_000;

/**
 * Sources whose recent signatures were all invalid, as seen by this process: a secret was replaced at one end only, or
 * somebody is guessing. Bounded, in memory.
 */
export class FailingSources {
  /** Time of the last invalid signature by source. */
  readonly #failing = new Map<string, number>();
  readonly #now: () => number;
  readonly #onFailing: (source: LiveSource) => void;

  /** `onFailing` is called when a source starts to fail. */
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

  /** Number of sources that fail now. */
  count(): number {
    const nowMs = this.#now();
    for (const [sourceId, lastMs] of this.#failing) {
      if (nowMs - lastMs >= FORGOTTEN_AFTER_MS) this.#failing.delete(sourceId);
    }
    return this.#failing.size;
  }
}
