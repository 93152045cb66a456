import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { AppError } from '@sealgate/errors';
import type { Request, Response } from 'express';
import { ipKeyGenerator, rateLimit } from 'express-rate-limit';
import { GcraStore } from './gcra-store.ts';
import { rateLimitHeaders, type Charge, type LimitStore, type Policy } from './limits.ts';
import { memoryLimits } from './memory-limits.ts';

/** Limit on failed authentications per client address. */
const ADDRESS_POLICY: Policy = { name: 'address', ratePerSecond: 20, burst: 100 };
/** Maximum addresses kept in this process. */
const MAX_ADDRESSES = 50_000;

/** A request and its response, of Express or of Node. */
interface HttpPair {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export interface AddressLimiter {
  /**
   * Counts one failed authentication against an address. Settles as the limits do; a malformed key settles at once.
   * @param malformed the key was syntactically invalid: refused without I/O, and counted in this process only.
   * @returns the 429 to send instead of the 401 if the address has failed too often.
   */
  refuse(exchange: HttpPair, address: string | undefined, malformed: boolean): Promise<AppError | undefined>;
}

/**
 * Rate-limits guessing of keys per client address. A valid key is never refused for its address: only failures are
 * counted.
 *
 * Every failure is counted in this process first and then, if the key was well formed, in the shared limits. So a flood
 * from one address is stopped here and costs the shared store no more than the rate.
 */
export function addressLimiter(options: {
  /** Shared by all replicas. */
  readonly limits: LimitStore;
  /** Prefix of the buckets, unique among listeners that share the store: `ingest`, `ingest-admin`. */
  readonly listener: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}): AddressLimiter {
  const { limits, listener, now } = options;
  const inProcess = memoryLimits({ now, maxBuckets: MAX_ADDRESSES });
  const both: LimitStore = {
    charge: (charges: readonly Charge[], cost: number) => {
      const state = inProcess.decide(charges, cost);
      return state.admitted ? limits.charge(charges, cost) : Promise.resolve(state);
    },
  };
  const buckets = new WeakMap<IncomingMessage, string>();
  // The answer is left to the caller. The library's own headers follow an older draft and hash the address; its
  // validations concern `request.ip`, which is not used.
  const limiterOver = (counted: LimitStore) =>
    rateLimit({
      store: new GcraStore(counted, ADDRESS_POLICY, now),
      limit: ADDRESS_POLICY.burst,
      keyGenerator: (request) => buckets.get(request) ?? '',
      handler: (request: LimitedRequest, _response, next) => next(refusalUntil(request.rateLimit?.resetTime, now())),
      standardHeaders: false,
      legacyHeaders: false,
      validate: false,
    });
  const wellFormed = limiterOver(both);
  const malformed = limiterOver(inProcess);
  return {
    refuse({ request, response }, address, isMalformed) {
      buckets.set(request, `${listener}:address:${clientNetwork(address)}`);
      const limiter = isMalformed ? malformed : wellFormed;
      return new Promise((resolve, reject) => {
        void limiter(request as Request, response as Response, (error?: unknown) => {
          if (error === undefined || error instanceof AppError) resolve(error);
          else reject(error);
        });
      });
    },
  };
}

/** The request with what the library has put on it, under its default name. */
type LimitedRequest = Request & { readonly rateLimit?: { readonly resetTime?: Date } };

function refusalUntil(resetTime: Date | undefined, nowMs: number): AppError {
  const seconds = Math.max(1, Math.ceil(((resetTime?.getTime() ?? nowMs) - nowMs) / 1000));
  const state = { admitted: false, policy: ADDRESS_POLICY, remaining: 0, resetSeconds: seconds };
  return new AppError('RATE_LIMITED', 'Too many failed authentications from this address.', {
    retryAfterSeconds: seconds,
    headers: { ...rateLimitHeaders({ ...state, retryAfterSeconds: seconds }) },
  });
}

/**
 * The network counted as one client: an IPv4 address (also IPv4-mapped IPv6), or the /64 of an IPv6 address. Everything
 * that is not an address (a closed socket has none) shares one bucket.
 */
export function clientNetwork(address: string | undefined): string {
  return address === undefined || isIP(address) === 0 ? 'unknown' : ipKeyGenerator(address, 64);
}
