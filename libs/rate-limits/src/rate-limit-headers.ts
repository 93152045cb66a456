import type { LimitState, Policy } from './limit-store.ts';

/** Ready for `writeHead`. `Retry-After` is there when the charge was refused. */
export interface RateLimitHeaders {
  readonly 'RateLimit-Policy': string;
  readonly RateLimit: string;
  readonly 'Retry-After'?: string;
}

/** Policies whose header was printed already, by name, then by rate and burst in one number. */
const printed: Readonly<Record<Policy['name'], Map<number, string>>> = {
  network: new Map(),
  key: new Map(),
  address: new Map(),
};
const MAX_PRINTED = 1000;

/** Larger than any burst, so that a rate and a burst make one number that no other pair makes. */
const RATE_FACTOR = 2 ** 21;

const OPENINGS: Readonly<Record<Policy['name'], string>> = {
  network: '"network";r=',
  key: '"key";r=',
  address: '"address";r=',
};

/**
 * The headers of draft-ietf-httpapi-ratelimit-headers (revision 11) for the policy with the least remaining.
 *
 * `RateLimit-Policy: "key";q=100;w=5`: q is the burst, w the seconds in which an empty bucket fills, so that q/w is the
 * rate. `RateLimit: "key";r=99;t=1`: r is what would be admitted at once, t the seconds until the bucket is full again or,
 * after a refusal, until the same request would be admitted: then `Retry-After` is the same number.
 */
export function rateLimitHeaders(state: LimitState): RateLimitHeaders {
  const policyText = policyHeader(state.policy);
  const limitText = `${OPENINGS[state.policy.name]}${state.remaining};t=${state.resetSeconds}`;
  if (state.admitted) return { 'RateLimit-Policy': policyText, RateLimit: limitText };
  return { 'RateLimit-Policy': policyText, RateLimit: limitText, 'Retry-After': String(state.retryAfterSeconds) };
}

function policyHeader({ name, ratePerSecond, burst }: Policy): string {
  const texts = printed[name];
  const pair = ratePerSecond * RATE_FACTOR + burst;
  const known = texts.get(pair);
  if (known !== undefined) return known;
  const text = `"${name}";q=${burst};w=${Math.ceil(burst / ratePerSecond)}`;
  if (texts.size >= MAX_PRINTED) texts.clear();
  texts.set(pair, text);
  return text;
}
