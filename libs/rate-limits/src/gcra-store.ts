import type { IncrementResponse, Store } from 'express-rate-limit';
import type { LimitStore, Policy } from './limits.ts';

/**
 * GCRA as a store of express-rate-limit, whose `limit` must be the burst of the policy. The key is the bucket name.
 *
 * The library counts hits in a window and refuses above its limit. GCRA has no window, so the hits reported are the
 * tokens missing from the burst: at most the burst when admitted, one more when refused.
 */
export class GcraStore implements Store {
  readonly #limits: LimitStore;
  readonly #policy: Policy;
  readonly #now: () => number;

  /** @param now milliseconds since the epoch. */
  constructor(limits: LimitStore, policy: Policy, now: () => number) {
    this.#limits = limits;
    this.#policy = policy;
    this.#now = now;
  }

  /** Charges 1. Rejects as the limits do. */
  async increment(bucket: string): Promise<IncrementResponse> {
    const { burst } = this.#policy;
    const state = await this.#limits.charge([{ bucket, policy: this.#policy }], 1);
    const totalHits = state.admitted ? Math.max(1, burst - state.remaining) : burst + 1;
    return { totalHits, resetTime: new Date(this.#now() + state.resetSeconds * 1000) };
  }

  /** @throws Error always: charges are final, so options such as `skipSuccessfulRequests` cannot be used. */
  decrement(): never {
    throw new Error('A charge cannot be taken back.');
  }

  /** @throws Error always: a bucket fills by time only. */
  resetKey(): never {
    throw new Error('A bucket cannot be reset.');
  }
}
