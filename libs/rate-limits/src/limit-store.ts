/**
 * How much a bucket admits: `burst` at once, refilled at `ratePerSecond`. Both are whole numbers from 1 to 1,000,000.
 */
export interface Policy {
  readonly name: 'network' | 'key' | 'address';
  readonly ratePerSecond: number;
  readonly burst: number;
}

/** One bucket to charge. Its name is unique among all surfaces that share a store: `ingest:key:key_01...`. */
export interface Charge {
  readonly bucket: string;
  readonly policy: Policy;
}

/** Outcome of a charge. */
export interface LimitState {
  readonly admitted: boolean;
  /** The policy of the bucket with the least remaining; on a tie, the first charged. */
  readonly policy: Policy;
  /** Whole tokens that this bucket would still admit at once. */
  readonly remaining: number;
  /** Admitted: seconds until this bucket is full again. Refused: the same as `retryAfterSeconds`. Rounded up. */
  readonly resetSeconds: number;
  /**
   * 0 if admitted. Refused: seconds, at least 1, until every bucket would admit the same charge without other traffic.
   * A cost above a burst is never admitted; then it is the time that bucket takes to fill.
   */
  readonly retryAfterSeconds: number;
}

export interface LimitStore {
  /**
   * Takes `cost` from every bucket, or from none if one of them refuses. A cost of 0 takes nothing and reports the
   * state.
   *
   * Settles in bounded time (each store documents which). Rejects with a RangeError for an invalid charge (see
   * `faultOfCharges`), and with another error if the store cannot decide.
   */
  charge(charges: readonly Charge[], cost: number): Promise<LimitState>;
}

/** A store that leases tokens ahead of the charges that will spend them. */
export interface LeasingStore extends LimitStore {
  /**
   * Admits a valid charge at once from the leases of all its buckets; undefined: `charge` must decide. Must be called
   * once for every charge, since leases are sized by it.
   */
  takeLeased(charges: readonly Charge[], cost: number): LimitState | undefined;
}

/** Bounds that keep every number of the arithmetic whole and below 2^53. */
const MAX_RATE_PER_SECOND = 1_000_000;
const MAX_BURST = 1_000_000;
export const MAX_REPLICAS = 1000;

/** More buckets than this in one charge are a bug. */
const MAX_CHARGES = 8;

/** Why a charge is invalid, which is a bug of the caller and not a failure of the store; undefined if it is valid. */
export function faultOfCharges(charges: readonly Charge[], cost: number): RangeError | undefined {
  if (charges.length === 0 || charges.length > MAX_CHARGES) return new RangeError('A charge names 1 to 8 buckets.');
  if (!isWholeWithin(cost, 0, MAX_BURST)) {
    return new RangeError('A cost is a whole number from 0 to 1,000,000.');
  }
  for (let index = 0; index < charges.length; index += 1) {
    const charge = charges[index];
    if (charge === undefined || !isValidPolicy(charge.policy)) {
      return new RangeError('Rate and burst of a policy are whole numbers from 1 to 1,000,000.');
    }
    if (isNamedBefore(charges, index)) return new RangeError('A charge names each bucket once.');
  }
  return undefined;
}

function isNamedBefore(charges: readonly Charge[], index: number): boolean {
  for (let earlier = 0; earlier < index; earlier += 1) {
    if (charges[earlier]?.bucket === charges[index]?.bucket) return true;
  }
  return false;
}

function isValidPolicy({ ratePerSecond, burst }: Policy): boolean {
  return isWholeWithin(ratePerSecond, 1, MAX_RATE_PER_SECOND) && isWholeWithin(burst, 1, MAX_BURST);
}

function isWholeWithin(value: number, least: number, most: number): boolean {
  return Number.isInteger(value) && value >= least && value <= most;
}

/** For `writeHead`. `Retry-After` is present if the charge was refused. */
export interface RateLimitHeaders {
  readonly 'RateLimit-Policy': string;
  readonly RateLimit: string;
  readonly 'Retry-After'?: string;
}

/** Cached policy headers, by name, then by rate and burst in one number. */
const cachedHeaders: Readonly<Record<Policy['name'], Map<number, string>>> = {
  network: new Map(),
  key: new Map(),
  address: new Map(),
};
const MAX_CACHED = 1000;

/** Larger than any burst, so that each pair of rate and burst makes a distinct number. */
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
 * rate. `RateLimit: "key";r=99;t=1`: r would be admitted at once; t is the seconds until the bucket is full again or,
 * after a refusal, until the same request would be admitted, which `Retry-After` repeats.
 */
export function rateLimitHeaders(state: LimitState): RateLimitHeaders {
  const policyText = policyHeader(state.policy);
  const limitText = `${OPENINGS[state.policy.name]}${state.remaining};t=${state.resetSeconds}`;
  if (state.admitted) return { 'RateLimit-Policy': policyText, RateLimit: limitText };
  return { 'RateLimit-Policy': policyText, RateLimit: limitText, 'Retry-After': String(state.retryAfterSeconds) };
}

function policyHeader({ name, ratePerSecond, burst }: Policy): string {
  const texts = cachedHeaders[name];
  const pair = ratePerSecond * RATE_FACTOR + burst;
  const known = texts.get(pair);
  if (known !== undefined) return known;
  const text = `"${name}";q=${burst};w=${Math.ceil(burst / ratePerSecond)}`;
  if (texts.size >= MAX_CACHED) texts.clear();
  texts.set(pair, text);
  return text;
}
