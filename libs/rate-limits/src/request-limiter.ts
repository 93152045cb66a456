import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Request, Response } from 'express';
import { rateLimit, type IncrementResponse, type Store } from 'express-rate-limit';
import { rateLimitHeaders, type LimitState, type LimitStore, type Policy, type RateLimitHeaders } from './limits.ts';

/** A request and its response, of Express or of Node. */
export interface HttpPair {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Outcome of a charge in the form the guards return. */
export interface Admission {
  readonly admitted: boolean;
  readonly headers: RateLimitHeaders;
  /** Seconds until the same charge could be admitted; 0 if it was. */
  readonly retryAfterSeconds: number;
}

/** The `resetTime` of a charge with its whole state: express-rate-limit passes nothing else of a store's answer. */
class ChargedDate extends Date {
  readonly state: LimitState;

  constructor(epochMs: number, state: LimitState) {
    super(epochMs);
    this.state = state;
  }
}

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
    return { totalHits, resetTime: new ChargedDate(this.#now() + state.resetSeconds * 1000, state) };
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

interface RequestLimiter {
  /** Charges 1 to a bucket. Rejects as the limits do. */
  charge(bucket: string, exchange: HttpPair): Promise<LimitState>;
  /** As `charge`, in the form a guard returns. */
  admit(bucket: string, exchange: HttpPair): Promise<Admission>;
  /** Headers of a full bucket, for an answer to an authenticated caller that was not charged. */
  readonly fullHeaders: RateLimitHeaders;
}

/**
 * express-rate-limit over `GcraStore`, for requests that each cost 1 token of one bucket.
 *
 * It runs after authentication and leaves the answer to its caller, so that the order of refusals stays in one place.
 * Its own headers are off: they follow an older draft and hash the key per request. So are its validations: they
 * concern `request.ip` and a store created per request.
 * @param now milliseconds since the epoch.
 */
export function requestLimiter(limits: LimitStore, policy: Policy, now: () => number): RequestLimiter {
  const buckets = new WeakMap<IncomingMessage, string>();
  const limiter = rateLimit({
    store: new GcraStore(limits, policy, now),
    limit: policy.burst,
    keyGenerator: (request) => buckets.get(request) ?? '',
    handler: (_request, _response, next) => next(),
    standardHeaders: false,
    legacyHeaders: false,
    validate: false,
  });
  const charge = (bucket: string, { request, response }: HttpPair): Promise<LimitState> => {
    buckets.set(request, bucket);
    return new Promise((resolve, reject) => {
      void limiter(request as Request, response as Response, (error?: unknown) => {
        if (error === undefined) resolve(stateOf(request));
        else reject(error);
      });
    });
  };
  return {
    charge,
    async admit(bucket, exchange) {
      const state = await charge(bucket, exchange);
      return { admitted: state.admitted, headers: rateLimitHeaders(state), retryAfterSeconds: state.retryAfterSeconds };
    },
    fullHeaders: rateLimitHeaders({
      admitted: true,
      policy,
      remaining: policy.burst,
      resetSeconds: 0,
      retryAfterSeconds: 0,
    }),
  };
}

/** The state that the library put on the request under its default name. */
function stateOf(request: IncomingMessage & { readonly rateLimit?: { readonly resetTime?: Date } }): LimitState {
  const charged = request.rateLimit?.resetTime;
  if (charged instanceof ChargedDate) return charged.state;
  throw new Error('express-rate-limit kept no state of the charge.');
}
