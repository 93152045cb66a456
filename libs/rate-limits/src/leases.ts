import { randomUUID } from 'node:crypto';
import type { Lease } from './lease.ts';
import { countUse, heldOf, isDue, isSame, mayBeLeased, newLease, wantOf } from './lease.ts';
import type { Charge, LimitState, Policy } from './limit-store.ts';

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

/** Tokens granted by Redis, and the shared bucket afterwards. */
export interface LeaseGrant {
  readonly granted: number;
  readonly sharedUsed: number;
  readonly sharedLeased: number;
}

/** Leased tokens reserved by a charge that asks Redis for the rest. */
export interface LeasePart {
  readonly tokens: number;
  readonly lease: Lease | undefined;
  readonly number: number;
}

export interface LeasesOptions {
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
  /** Called when `leaseRequests` has some to send. */
  readonly onDue: () => void;
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

  constructor({ now, onDue }: LeasesOptions) {
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

  granted({ lease, requestedAtMs, policy }: LeaseRequest, { granted, sharedUsed, sharedLeased }: LeaseGrant): void {
    lease.isRequested = false;
    const nowMs = this.#now();
    // An operator has changed the limits meanwhile: not spent.
    if (granted === 0 || !isSame(policy, lease.policy)) {
      lease.nextRequestMs = nowMs + DENIED_MS;
      return;
    }
    lease.left += granted;
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
