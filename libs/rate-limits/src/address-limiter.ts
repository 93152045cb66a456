import { isIP } from 'node:net';
import { AppError } from '@sealgate/errors';
import { ipKeyGenerator } from 'express-rate-limit';
import { rateLimitHeaders, type Charge, type LimitStore, type Policy } from './limits.ts';
import { memoryLimits } from './memory-limits.ts';
import { requestLimiter, type HttpPair } from './request-limiter.ts';

/** Limit on failed authentications per client address. */
const ADDRESS_POLICY: Policy = { name: 'address', ratePerSecond: 20, burst: 100 };

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
  /** Default: `ADDRESS_POLICY`. */
  readonly policy?: Policy;
  /** Maximum addresses kept in this process. Default: 50,000. */
  readonly maxAddresses?: number;
}): AddressLimiter {
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
 * The network counted as one client: an IPv4 address (also IPv4-mapped IPv6), or the /64 of an IPv6 address. Everything
 * that is not an address (a closed socket has none) shares one bucket.
 */
export function clientNetwork(address: string | undefined): string {
  return address === undefined || isIP(address) === 0 ? 'unknown' : ipKeyGenerator(address, 64);
}
