import { randomUUID } from 'node:crypto';
import type { Charge, LimitState, Policy } from './limits.ts';

/** Lifetime of a lease, from its request. Redis counts longer: see `CHARGE_SCRIPT`. */
export const LEASE_MS = 1000;
/** Delay before the next request after a grant of 0: the bucket is nearly empty, or others hold what may be leased. */
const DENIED_MS = 100;
/** Two generations of buckets are kept; they rotate after this time, */
const FORGET_MS = 2000;
/** or once the newer one holds this many buckets. */
const MAX_BUCKETS = 25_000;
/** Maximum lease requests per call. */
const MAX_LEASE_REQUESTS = 256;
/** Interval of counting use. A lease is sized by the use of the previous interval, half of its own lifetime. */
const INTERVAL_MS = 500;
/** A bucket is leased only with at least this many requests per interval, and if a lease can hold as many. */
const MIN_REQUESTS = 10;
/** A lease is at most a twentieth of the burst. */
const BURST_PER_LEASE = 20;

/** Whether leases of a bucket are worthwhile: a twentieth of a small burst is no more than a few requests. */
export const mayBeLeased = ({ burst }: Policy): boolean => burst >= MIN_REQUESTS * BURST_PER_LEASE;

/** This process's counters and leased tokens of a bucket. Times are of a monotonic clock. */
interface Lease {
  readonly bucket: string;
  policy: Policy;
  /** The first bucket of its charges: the hash tag on a cluster. */
  first: string;
  intervalStartMs: number;
  requests: number;
  tokens: number;
  lastRequests: number;
  lastTokens: number;
  /** Unspent tokens, valid before `untilMs`. */
  left: number;
  untilMs: number;
  /** Tokens reserved by charges in flight to Redis: spent if those are admitted. */
  reserved: number;
  /** Incremented when a lease expired with nothing carried over. */
  number: number;
  /** The shared bucket when the lease was granted: its use in microtokens, and the tokens held by all replicas. */
  sharedUsed: number;
  sharedLeased: number;
  sharedAtMs: number;
  isRequested: boolean;
  nextRequestMs: number;
}

/** A lease request: `held` tokens are still valid, `want` is the requested total. */
export interface LeaseRequest {
  readonly bucket: string;
  readonly first: string;
  readonly policy: Policy;
  readonly held: number;
  readonly want: number;
  /** Start of the lease's lifetime. */
  readonly requestedAtMs: number;
  readonly lease: Lease;
}

/** Leased tokens reserved by a charge that asks Redis for the rest. */
export interface LeasePart {
  readonly tokens: number;
  readonly lease: Lease | undefined;
  readonly number: number;
}

/**
 * Tokens that this process has leased from shared buckets ahead of the requests that will spend them.
 *
 * A bucket in use is leased in the background, again once half of its lease is spent: as much as the last interval
 * used, at most a twentieth of the burst. Tokens unspent after a second are lost. Nothing here waits or fails.
 */
export class Leases {
  readonly #now: () => number;
  readonly #onDue: () => void;
  /** Buckets charged since `#turnedAtMs`, and in the generation before. */
  #recent = new Map<string, Lease>();
  #older = new Map<string, Lease>();
  #turnedAtMs: number;
  #due: Lease[] = [];
  #holder = randomUUID();
  /** False after a failed call, until one succeeds. */
  #mayRequest = true;
  /** Leases of the charge that is being decided; reused to save allocations. */
  readonly #current: Lease[] = [];

  /**
   * @param now milliseconds of a monotonic clock.
   * @param onDue called when `leaseRequests` has some to send.
   */
  constructor(now: () => number, onDue: () => void) {
    this.#now = now;
    this.#onDue = onDue;
    this.#turnedAtMs = now();
  }

  /** Name of this holder in Redis. */
  get holder(): string {
    return this.#holder;
  }

  /**
   * Admits a charge (valid per `faultOfCharges`) from the leases of all its buckets; else returns undefined. Counts it
   * as use, so it must be called first and once for every charge.
   */
  take(charges: readonly Charge[], cost: number): LimitState | undefined {
    if (cost === 0) return undefined;
    // If one bucket is never leased, leases of the others are useless to this charge.
    for (const { policy } of charges) if (!mayBeLeased(policy)) return undefined;
    const nowMs = this.#now();
    const isHeld = this.#countAll(charges, cost, nowMs);
    if (isHeld) for (let index = 0; index < charges.length; index += 1) this.#current[index]!.left -= cost;
    if (this.#mayRequest) this.#requestIfDue(charges.length, nowMs);
    return isHeld ? this.#stateOf(charges.length, nowMs) : undefined;
  }

  /**
   * Reserves leased tokens for a charge that goes to Redis, which is then charged the rest only: tokens held here must
   * not get it refused. Undefined if nothing is leased.
   */
  part(charges: readonly Charge[], cost: number): LeasePart[] | undefined {
    if (cost === 0 || (this.#recent.size === 0 && this.#older.size === 0)) return undefined;
    // Never admitted; Redis must see the whole cost to say so.
    for (const { policy } of charges) if (cost > policy.burst) return undefined;
    const nowMs = this.#now();
    let parts: LeasePart[] | undefined;
    for (const [index, { bucket }] of charges.entries()) {
      const lease = this.#find(bucket);
      const tokens = lease === undefined ? 0 : Math.min(cost, heldOf(lease, nowMs));
      if (lease === undefined || tokens === 0) continue;
      lease.left -= tokens;
      lease.reserved += tokens;
      parts ??= charges.map(() => NO_PART);
      parts[index] = { tokens, lease, number: lease.number };
    }
    return parts;
  }

  /** Settles a charge with reserved parts. If refused, the parts return to their lease unless it has expired. */
  settlePart(parts: readonly LeasePart[], isAdmitted: boolean): void {
    for (const { tokens, lease, number } of parts) {
      if (lease === undefined || lease.number !== number) continue;
      lease.reserved -= tokens;
      if (!isAdmitted) lease.left += tokens;
    }
  }

  /** The lease requests for the next call. Each must be settled by `granted`, or all by `failed`. */
  leaseRequests(): LeaseRequest[] {
    if (this.#due.length === 0) return [];
    const requestedAtMs = this.#now();
    const leaseRequests = this.#due.splice(0, MAX_LEASE_REQUESTS).map((lease): LeaseRequest => {
      if (requestedAtMs >= lease.untilMs) {
        lease.left = 0;
        lease.reserved = 0;
        lease.number += 1;
      }
      const { bucket, first, policy } = lease;
      return { bucket, first, policy, held: lease.left + lease.reserved, want: wantOf(lease), requestedAtMs, lease };
    });
    if (this.#due.length > 0) this.#onDue();
    return leaseRequests;
  }

  /** Redis granted `tokens`; the other numbers are of the shared bucket afterwards. */
  granted(request: LeaseRequest, tokens: number, sharedUsed: number, sharedLeased: number): void {
    const { lease, requestedAtMs, policy } = request;
    lease.isRequested = false;
    const nowMs = this.#now();
    // An operator has changed the limits meanwhile: not spent.
    if (tokens === 0 || !isSame(policy, lease.policy)) {
      lease.nextRequestMs = nowMs + DENIED_MS;
      return;
    }
    lease.left += tokens;
    lease.untilMs = requestedAtMs + LEASE_MS;
    lease.sharedUsed = sharedUsed;
    lease.sharedLeased = sharedLeased;
    lease.sharedAtMs = nowMs;
  }

  /**
   * The outcome of the requests is unknown. Held tokens stay valid for their time: Redis counts them under the old
   * holder name, whatever it did with the failed call, and new ones under a new name.
   */
  failed(leaseRequests: readonly LeaseRequest[]): void {
    this.#mayRequest = false;
    this.#holder = randomUUID();
    for (const { lease } of leaseRequests) lease.isRequested = false;
    for (const lease of this.#due.splice(0)) lease.isRequested = false;
  }

  /** Redis has answered: leases may be requested again. */
  answered(): void {
    this.#mayRequest = true;
  }

  /** Finds the leases of a charge, counts it, and returns whether each holds its cost. */
  #countAll(charges: readonly Charge[], cost: number, nowMs: number): boolean {
    let isHeld = true;
    for (let index = 0; index < charges.length; index += 1) {
      const lease = this.#of(charges[index]!, nowMs);
      lease.first = charges[0]!.bucket;
      countUse(lease, cost, nowMs);
      if (heldOf(lease, nowMs) < cost) isHeld = false;
      this.#current[index] = lease;
    }
    return isHeld;
  }

  /** Requests leases for all buckets of a charge or for none: it needs tokens of each. */
  #requestIfDue(count: number, nowMs: number): void {
    let dueCount = 0;
    for (let index = 0; index < count; index += 1) {
      const lease = this.#current[index]!;
      if (wantOf(lease) === 0) return;
      if (isDue(lease, nowMs)) dueCount += 1;
    }
    if (dueCount === 0) return;
    for (let index = 0; index < count; index += 1) {
      const lease = this.#current[index]!;
      if (!isDue(lease, nowMs)) continue;
      lease.isRequested = true;
      this.#due.push(lease);
    }
    this.#onDue();
  }

  /** State as of the last grant: what other replicas took since then is known at the next one only. */
  #stateOf(count: number, nowMs: number): LimitState {
    let [remaining, resetSeconds] = [Infinity, 0];
    let tightest = this.#current[0]!;
    for (let index = 0; index < count; index += 1) {
      const lease = this.#current[index]!;
      const { ratePerSecond, burst } = lease.policy;
      const filled = lease.sharedUsed - (nowMs - lease.sharedAtMs) * 1000 * ratePerSecond;
      const used = Math.max(lease.sharedLeased * 1_000_000, filled) / 1_000_000 - lease.left;
      const left = Math.max(0, Math.floor(burst - used));
      if (left >= remaining) continue;
      tightest = lease;
      remaining = left;
      resetSeconds = Math.ceil(used / ratePerSecond);
    }
    return { admitted: true, policy: tightest.policy, remaining, resetSeconds, retryAfterSeconds: 0 };
  }

  #find(bucket: string): Lease | undefined {
    return this.#recent.get(bucket) ?? this.#older.get(bucket);
  }

  #of({ bucket, policy }: Charge, nowMs: number): Lease {
    if (nowMs - this.#turnedAtMs >= FORGET_MS || this.#recent.size >= MAX_BUCKETS) {
      this.#older = this.#recent;
      this.#recent = new Map();
      this.#turnedAtMs = nowMs;
    }
    let lease = this.#recent.get(bucket);
    if (lease === undefined) {
      lease = this.#older.get(bucket) ?? newLease(bucket, policy, nowMs);
      this.#recent.set(bucket, lease);
    }
    if (!isSame(policy, lease.policy)) {
      lease.policy = policy;
      // Tokens leased under other limits are not spent under these.
      lease.untilMs = 0;
    }
    return lease;
  }
}

const NO_PART: LeasePart = { tokens: 0, lease: undefined, number: 0 };

function newLease(bucket: string, policy: Policy, nowMs: number): Lease {
  return {
    bucket,
    policy,
    first: bucket,
    intervalStartMs: nowMs,
    requests: 0,
    tokens: 0,
    lastRequests: 0,
    lastTokens: 0,
    left: 0,
    untilMs: 0,
    reserved: 0,
    number: 0,
    sharedUsed: 0,
    sharedLeased: 0,
    sharedAtMs: 0,
    isRequested: false,
    nextRequestMs: 0,
  };
}

/** Counts a charge at `nowMs`. */
function countUse(lease: Lease, cost: number, nowMs: number): void {
  if (nowMs - lease.intervalStartMs >= INTERVAL_MS) turnInterval(lease, nowMs);
  lease.requests += 1;
  lease.tokens += cost;
}

function turnInterval(lease: Lease, nowMs: number): void {
  const isNext = nowMs - lease.intervalStartMs < 2 * INTERVAL_MS;
  lease.lastRequests = isNext ? lease.requests : 0;
  lease.lastTokens = isNext ? lease.tokens : 0;
  lease.requests = 0;
  lease.tokens = 0;
  lease.intervalStartMs = nowMs;
}

/** Tokens that can be spent at `nowMs`. */
const heldOf = (lease: Lease, nowMs: number): number => (nowMs < lease.untilMs ? lease.left : 0);

/** Target size of a lease: 0 for a bucket that is hardly used, or whose requests take much of its burst. */
function wantOf(lease: Lease): number {
  const isRising = lease.tokens > lease.lastTokens;
  const tokens = isRising ? lease.tokens : lease.lastTokens;
  const requests = isRising ? lease.requests : lease.lastRequests;
  const most = Math.floor(lease.policy.burst / BURST_PER_LEASE);
  return requests < MIN_REQUESTS || most * requests < MIN_REQUESTS * tokens ? 0 : Math.min(most, tokens);
}

/** Whether to request more: once half is spent. */
const isDue = (lease: Lease, nowMs: number): boolean =>
  !lease.isRequested && nowMs >= lease.nextRequestMs && heldOf(lease, nowMs) * 2 < wantOf(lease);

const isSame = (one: Policy, other: Policy): boolean =>
  one === other || (one.ratePerSecond === other.ratePerSecond && one.burst === other.burst);
