import type { Request, RequestHandler } from 'express';
import { GcraStore } from './gcra-store.ts';
import type { LimitStore, Policy } from './limit-store.ts';
import type { Refuse } from './limiting-middleware.ts';
import { limitingMiddleware } from './limiting-middleware.ts';

export interface KeyRateLimitOptions {
  readonly limits: LimitStore;
  readonly policy: Policy;
  /** Told apart from other surfaces that share the store: `case-gate`. */
  readonly surface: string;
  /** The id of the key that was authenticated, never the key; `undefined` lets the request pass uncharged. */
  readonly keyIdOf: (request: Request) => string | undefined;
  readonly refuse: Refuse;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * Charges each authenticated request 1 to its key and sets `RateLimit` and `RateLimit-Policy` on its answer.
 * To be mounted behind authentication. For surfaces whose every request costs one.
 */
export function keyRateLimit({ limits, policy, surface, keyIdOf, refuse, now }: KeyRateLimitOptions): RequestHandler {
  const store = new GcraStore({ limits, policy, prefix: `${surface}:key:`, now });
  return limitingMiddleware({ store, burst: policy.burst, keyOf: keyIdOf, refuse });
}
