import type { IncrementResponse, Store } from 'express-rate-limit';
import type { LimitState, LimitStore, Policy } from './limit-store.ts';

/**
 * The moment express-rate-limit keeps of a charge, with all that came of it.
 *
 * The library hands on nothing else of a store's answer, and asking the store again would tell of somebody else's charge.
 */
export class ChargedMoment extends Date {
  readonly state: LimitState;

  constructor(epochMs: number, state: LimitState) {
    super(epochMs);
    this.state = state;
  }
}

export interface GcraStoreOptions {
  readonly limits: LimitStore;
  readonly policy: Policy;
  /** Put before the key of a client to name its bucket. */
  readonly prefix: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * Our limits as a store of express-rate-limit, whose `limit` must be the burst of the policy.
 *
 * The library counts hits in a window and refuses above its limit. GCRA has no window, so the hits reported are the
 * tokens missing from the burst: at most the burst when admitted, one more when refused.
 */
export class GcraStore implements Store {
  readonly prefix: string;
  readonly #limits: LimitStore;
  readonly #policy: Policy;
  readonly #now: () => number;

  constructor({ limits, policy, prefix, now }: GcraStoreOptions) {
    this.prefix = prefix;
    this.#limits = limits;
    this.#policy = policy;
    this.#now = now;
  }

  /** Charges 1. Rejects as the limits do. */
  charge(key: string): Promise<LimitState> {
    return this.#limits.charge([{ bucket: this.prefix + key, policy: this.#policy }], 1);
  }

  async increment(key: string): Promise<IncrementResponse> {
    const state = await this.charge(key);
    const { burst } = this.#policy;
    const totalHits = state.admitted ? Math.max(1, burst - state.remaining) : burst + 1;
    return { totalHits, resetTime: new ChargedMoment(this.#now() + state.resetSeconds * 1000, state) };
  }

  /** @throws Error always: what was charged stays charged, so `skipSuccessfulRequests` and its like cannot be used. */
  decrement(): never {
    throw new Error('A charge cannot be taken back.');
  }

  /** @throws Error always: a bucket fills by time alone. */
  resetKey(): never {
    throw new Error('A bucket cannot be reset.');
  }
}
