import { isIP } from 'node:net';
import type { Request, RequestHandler } from 'express';
import { ipKeyGenerator } from 'express-rate-limit';
import { GcraStore } from './gcra-store.ts';
import type { Charge, LimitState, LimitStore, Policy } from './limit-store.ts';
import type { Refuse } from './limiting-middleware.ts';
import { limitingMiddleware } from './limiting-middleware.ts';
import { memoryLimits } from './memory-limits.ts';

/** Failed authentications of one client address. */
export const ADDRESS_POLICY: Policy = { name: 'address', ratePerSecond: 20, burst: 100 };

export interface AddressLimiterOptions {
  /** Shared by all replicas. */
  readonly limits: LimitStore;
  /** Told apart from other listeners that share the store: `ingest`, `ingest-admin`. */
  readonly listener: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** `ADDRESS_POLICY` unless said otherwise. */
  readonly policy?: Policy;
  /** Addresses remembered in this process. 50,000 unless said otherwise. */
  readonly maxAddresses?: number;
}

export interface FailedAuthentication {
  /** The key was malformed, so it was refused without I/O: it is counted in this process alone, without I/O too. */
  readonly malformed?: boolean;
}

export interface AddressLimiter {
  /**
   * Counts one failed authentication against an address. Not admitted: answer 429 in place of 401.
   * Settles as the limits do; a malformed key settles at once.
   */
  failedAuthentication(address: string | undefined, how?: FailedAuthentication): Promise<LimitState>;
  /** The same as a middleware, to be run where authentication has failed: `next()` is for the 401. */
  middleware(options: { addressOf: (request: Request) => string | undefined; refuse: Refuse }): RequestHandler;
}

/**
 * Slows down whoever guesses keys from one address. A valid key is never refused for its address: only failures come here.
 *
 * Every failure is counted in this process first and, where the key was well formed, then in the shared limits. So a flood
 * from one address is stopped here and costs the shared store no more than the rate.
 */
export function addressLimiter(options: AddressLimiterOptions): AddressLimiter {
  const { limits, listener, now, policy = ADDRESS_POLICY, maxAddresses = 50_000 } = options;
  const inProcess = memoryLimits({ now, maxBuckets: maxAddresses });
  const both: LimitStore = {
    charge: (charges: readonly Charge[], cost: number) => {
      const state = inProcess.decide(charges, cost);
      return state.admitted ? limits.charge(charges, cost) : Promise.resolve(state);
    },
  };
  const prefix = `${listener}:address:`;
  const wellFormed = new GcraStore({ limits: both, policy, prefix, now });
  const malformed = new GcraStore({ limits: inProcess, policy, prefix, now });
  return {
    failedAuthentication: (address, how) =>
      (how?.malformed === true ? malformed : wellFormed).charge(clientNetwork(address)),
    middleware: ({ addressOf, refuse }) =>
      limitingMiddleware({
        store: wellFormed,
        burst: policy.burst,
        keyOf: (request) => clientNetwork(addressOf(request)),
        refuse,
      }),
  };
}

/**
 * What one client can be taken to own: an IPv4 address, written as IPv6 or not, or the /64 of an IPv6 address.
 * Whatever is no address (a socket that is gone has none) shares one bucket.
 */
export function clientNetwork(address: string | undefined): string {
  return address === undefined || isIP(address) === 0 ? 'unknown' : ipKeyGenerator(address, 64);
}
