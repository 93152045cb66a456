import { isIP } from 'node:net';
import { AppError } from '@sealgate/errors';
import { ipKeyGenerator } from 'express-rate-limit';
import { rateLimitHeaders, type Charge, type LimitStore, type Policy } from './limit-store.ts';
import { memoryLimits } from './memory-limits.ts';
import { requestLimiter, type HttpPair } from './request-limiter.ts';

/** Failed authentications of one client address. */
const ADDRESS_POLICY: Policy = { name: 'address', ratePerSecond: 20, burst: 100 };

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

export interface AddressLimiter {
  /**
   * Counts one failed authentication against an address. Settles as the limits do; a malformed key settles at once.
   * @param malformed no key could have this form, so it was refused without I/O and is counted in this process alone.
   * @returns the refusal to answer in place of the 401, where the address has failed too often.
   */
  refuse(exchange: HttpPair, address: string | undefined, malformed: boolean): Promise<AppError | undefined>;
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
  const wellFormed = requestLimiter(both, policy, now);
  const malformed = requestLimiter(inProcess, policy, now);
  return {
    async refuse(exchange, address, isMalformed) {
      const bucket = `${listener}:address:${clientNetwork(address)}`;
      const state = await (isMalformed ? malformed : wellFormed).charge(bucket, exchange);
      if (state.admitted) return undefined;
      const refusal = { retryAfterSeconds: state.retryAfterSeconds, headers: { ...rateLimitHeaders(state) } };
      return new AppError('RATE_LIMITED', 'Too many failed authentications from this address.', refusal);
    },
  };
}

/**
 * What one client can be taken to own: an IPv4 address, written as IPv6 or not, or the /64 of an IPv6 address.
 * Whatever is no address (a socket that is gone has none) shares one bucket.
 */
export function clientNetwork(address: string | undefined): string {
  return address === undefined || isIP(address) === 0 ? 'unknown' : ipKeyGenerator(address, 64);
}
