import type { Log } from '@sealgate/observability';

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

/** In-process limits. Nothing here waits or fails. */
export interface LocalLimits extends LimitStore {
  /** `charge` without a promise. @throws RangeError for an invalid charge. */
  decide(charges: readonly Charge[], cost: number): LimitState;
  /** Drops every bucket. */
  reset(): void;
  /** Number of buckets. */
  readonly size: number;
}

/** A store that leases tokens ahead of the charges that will spend them. */
export interface LeasingStore extends LimitStore {
  /**
   * Admits a valid charge at once from the leases of all its buckets; undefined: `charge` must decide. Must be called
   * once for every charge, since leases are sized by it.
   */
  takeLeased(charges: readonly Charge[], cost: number): LimitState | undefined;
  /**
   * Resolves if a charge would be decided, also where the last ones failed: on a cluster that may be one node of many.
   * Settles in bounded time.
   */
  probe(): Promise<unknown>;
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

/** Outcome of a charge in the form that guards return. */
interface Admission {
  readonly admitted: boolean;
  readonly headers: RateLimitHeaders;
  /** Seconds until the same charge could be admitted; 0 if it was. */
  readonly retryAfterSeconds: number;
}

export function admissionOf(state: LimitState): Admission {
  return {
    admitted: state.admitted,
    headers: rateLimitHeaders(state),
    retryAfterSeconds: state.retryAfterSeconds,
  };
}

/** The state of a full bucket, for the headers of an answer to a known caller that was not charged. */
export const fullState = (policy: Policy): LimitState => ({
  admitted: true,
  policy,
  remaining: policy.burst,
  resetSeconds: 0,
  retryAfterSeconds: 0,
});

/** `shared`: Redis decides for all replicas. `local`: this process decides, at its share of the rate. */
type LimitsState = 'shared' | 'local';

interface SharedLimitsOptions {
  /** Must settle within its own timeout, as `redisLimits` does. Absent: this process always decides. */
  readonly redis?: LeasingStore;
  /** `memoryLimits({ now, replicas, startEmpty: true })`. Must not be shared. */
  readonly local: LocalLimits;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Called on every change, and at the start with `local`, since Redis has not answered yet. */
  readonly onStateChange?: (state: LimitsState) => void;
  /** A sentence for an error of Redis. Default: its message. */
  readonly explain?: (error: unknown) => string;
  /** Whether an error lasts until somebody acts, so that it is logged where it follows an outage. Default: none does. */
  readonly isRefusal?: (error: unknown) => boolean;
  /** Delay of a probe after a failed probe. Default: 250; at most 25 until the limits are settled. */
  readonly probeDelayMs?: number;
  /** Interval of probes while no request is answered by Redis. Default: 5,000. */
  readonly idleProbeMs?: number;
  /** Runs `work` once after `delayMs`. Default: a timer that does not keep the process alive. */
  readonly schedule?: (work: () => void, delayMs: number) => void;
}

export interface SharedLimits extends LimitStore {
  /** `shared` only if the last call to Redis was answered; probes keep it current in a process without requests. */
  readonly state: LimitsState;
  /**
   * False while Redis has not answered yet and the process is young: a request would be decided here, from buckets that
   * start empty. A process is not ready before. True after 1.5 s in any case, and without Redis from the start.
   */
  readonly isSettled: boolean;
  /** Why Redis did not decide the last time that it was asked, as a sentence; undefined while it does, or without it. */
  readonly problem: string | undefined;
  /** Stops probing. */
  close(): void;
}

/** How long a starting process waits for Redis. */
const SETTLED_WITHIN_MS = 1500;
const UNSETTLED_PROBE_MS = 25;

/**
 * Circuit breaker over Redis: leased tokens first, then Redis while it answers, else the local store.
 *
 * The request that hits the failure is decided locally at once; later ones do not call Redis until a background probe
 * succeeds. So no request waits longer than the timeout of the Redis store, and no failure of a store becomes a 429.
 *
 * Before its first answer Redis is called, but the state is `local`. It is probed soon after the start and whenever no
 * request has called it for a while, so that the state of an idle process is true.
 *
 * Each loss resets the local store: its buckets are empty except for one request each. When Redis is back, the local
 * state is dropped.
 */
export function sharedLimits(options: SharedLimitsOptions): SharedLimits {
  return new FallbackLimits(options);
}

function scheduleTimer(work: () => void, delayMs: number): void {
  setTimeout(work, delayMs).unref();
}

class FallbackLimits implements SharedLimits {
  readonly #options: SharedLimitsOptions;
  readonly #redis: LeasingStore | undefined;
  readonly #local: LocalLimits;
  /** Which store decides. */
  #decides: LimitsState;
  /** The reported state: `shared` needs an answer of Redis. */
  #state: LimitsState = 'local';
  readonly #startedAtMs: number;
  #isSettled: boolean;
  #lostAtMs = 0;
  #closed = false;
  /** Counts probes: of two scheduled ones only the later runs. */
  #probes = 0;
  /** Whether Redis has answered a request since the last probe. */
  #answered = false;
  #problem: string | undefined;
  /** Incremented when Redis comes back, so that the outcome of an older call is ignored. */
  #era = 0;

  constructor(options: SharedLimitsOptions) {
    this.#options = options;
    this.#redis = options.redis;
    this.#local = options.local;
    this.#decides = options.redis === undefined ? 'local' : 'shared';
    this.#isSettled = options.redis === undefined;
    this.#startedAtMs = options.now();
    options.local.reset();
    options.onStateChange?.(this.#state);
    if (options.redis !== undefined) this.#probeLater();
  }

  get state(): LimitsState {
    return this.#state;
  }

  get isSettled(): boolean {
    this.#isSettled ||= this.#options.now() - this.#startedAtMs >= SETTLED_WITHIN_MS;
    return this.#isSettled;
  }

  get problem(): string | undefined {
    return this.#problem;
  }

  charge(charges: readonly Charge[], cost: number): Promise<LimitState> {
    if (this.#redis === undefined) return this.#local.charge(charges, cost);
    // Checked first: a bug of a caller must not open the breaker.
    const fault = faultOfCharges(charges, cost);
    if (fault !== undefined) return Promise.reject(fault);
    // Leased tokens stay valid for their time, whether Redis answers or not.
    const leased = this.#redis.takeLeased(charges, cost);
    if (leased !== undefined) return Promise.resolve(leased);
    if (this.#decides === 'local') return this.#local.charge(charges, cost);
    const era = this.#era;
    return this.#redis.charge(charges, cost).then(
      (state) => {
        if (this.#decides === 'shared' && era === this.#era) this.#hasAnswered();
        return state;
      },
      (error: unknown) => {
        if (this.#decides === 'shared' && era === this.#era) this.#goLocal(error);
        return this.#local.charge(charges, cost);
      },
    );
  }

  close(): void {
    this.#closed = true;
  }

  #hasAnswered(): void {
    this.#answered = true;
    this.#report('shared');
  }

  #goLocal(error: unknown): void {
    this.#lostAtMs = this.#options.now();
    this.#local.reset();
    this.#decides = 'local';
    this.#report('local');
    this.#problem = this.#explain(error);
    this.#options.log.warn('limits_local', { reason: this.#problem });
    this.#probeLater();
  }

  /** A probe has failed, too. */
  #stayLocal(error: unknown): void {
    const before = this.#problem;
    this.#problem = this.#explain(error);
    if (this.#problem !== before && this.#options.isRefusal?.(error) === true)
      this.#options.log.warn('limits_local', { reason: this.#problem });
    this.#probeLater();
  }

  #explain(error: unknown): string {
    const { explain } = this.#options;
    if (explain !== undefined) return explain(error);
    return error instanceof Error ? error.message : String(error);
  }

  #goShared(): void {
    this.#era += 1;
    this.#local.reset();
    this.#decides = 'shared';
    this.#report('shared');
    this.#options.log.info('limits_shared', { awayMs: this.#options.now() - this.#lostAtMs });
  }

  #report(state: LimitsState): void {
    if (state === 'shared') {
      this.#isSettled = true;
      this.#problem = undefined;
    }
    if (this.#state === state) return;
    this.#state = state;
    this.#options.onStateChange?.(state);
  }

  #probeLater(): void {
    const { schedule = scheduleTimer, probeDelayMs = 250, idleProbeMs = 5_000 } = this.#options;
    this.#answered = false;
    this.#probes += 1;
    const probe = this.#probes;
    const failedMs = this.isSettled ? probeDelayMs : Math.min(probeDelayMs, UNSETTLED_PROBE_MS);
    schedule(() => this.#probe(probe), this.#state === 'shared' ? idleProbeMs : failedMs);
  }

  #probe(probe: number): void {
    if (!this.#isNewest(probe) || this.#redis === undefined) return;
    if (this.#answered) return this.#probeLater();
    this.#redis.probe().then(
      () => {
        if (!this.#isNewest(probe)) return;
        if (this.#decides === 'local') this.#goShared();
        else this.#report('shared');
        this.#probeLater();
      },
      (error: unknown) => {
        if (!this.#isNewest(probe)) return;
        // A starting process is not connected yet.
        if (this.#decides === 'shared' && this.isSettled) return this.#goLocal(error);
        if (this.#decides === 'local') this.#stayLocal(error);
        else this.#probeLater();
      },
    );
  }

  /** False if a loss has started newer probes. */
  #isNewest(probe: number): boolean {
    return !this.#closed && probe === this.#probes;
  }
}
