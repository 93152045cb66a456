import { randomUUID } from 'node:crypto';
import type { Lease } from './lease.ts';
import { countUse, heldOf, isDue, isSame, mayBeLeased, newLease, wantOf } from './lease.ts';
import type { Charge, LimitState, Policy } from './limit-store.ts';

/** How long a lease may be spent, counted from when it was asked for. Redis counts it for longer: see `CHARGE_SCRIPT`. */
export const LEASE_MS = 1000;
/** How long a bucket is left alone that would give nothing: it is nearly empty, or others hold what may be leased. */
const DENIED_MS = 100;
/** Buckets that nobody charged for one to two of these are forgotten, */
const FORGET_MS = 2000;
/** as are those of before once this many were charged. */
const MOST_BUCKETS = 25_000;
/** What one call takes at most. */
const MOST_ASKS = 256;

/** A lease to be taken: `held` tokens that are there still, and `want` with those that are asked for. */
export interface LeaseAsk {
  readonly bucket: string;
  readonly first: string;
  readonly policy: Policy;
  readonly held: number;
  readonly want: number;
  /** When it was asked for, from which its time counts. */
  readonly askedAtMs: number;
  readonly lease: Lease;
}

/** What Redis gave, and the shared bucket after it. */
export interface LeaseGrant {
  readonly granted: number;
  readonly sharedUsed: number;
  readonly sharedLeased: number;
}

/** Tokens of a lease that go with a request which asks Redis for the rest. */
export interface LeasePart {
  readonly tokens: number;
  readonly lease: Lease | undefined;
  readonly number: number;
}

export interface LeasesOptions {
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  /** Called when a lease is to be taken, which `asks` gives out. */
  readonly onDue: () => void;
}

/**
 * The tokens that this process has taken from shared buckets ahead of the requests that will spend them.
 *
 * A bucket is leased while it is in use, in the background, once half of its lease is spent: as much as was used in the
 * last interval, at most a twentieth of the burst. What is not spent within a second is lost. Nothing here waits or fails.
 */
export class Leases {
  readonly #now: () => number;
  readonly #onDue: () => void;
  /** Charged since `#turnedAtMs`, and in the time before that. */
  #recent = new Map<string, Lease>();
  #older = new Map<string, Lease>();
  #turnedAtMs: number;
  #due: Lease[] = [];
  #holder = randomUUID();
  /** Off after a call that failed, until one succeeds. */
  #mayAsk = true;
  /** Of the charge that is being decided. */
  readonly #met: Lease[] = [];

  constructor({ now, onDue }: LeasesOptions) {
    this.#now = now;
    this.#onDue = onDue;
    this.#turnedAtMs = now();
  }

  /** By what name Redis knows what is held here. */
  get holder(): string {
    return this.#holder;
  }

  /**
   * Admits a charge, sound by `faultOfCharges`, from the leases of all its buckets, or says nothing of it. Counts it as
   * use, so it must be asked of every charge first, and once.
   */
  take(charges: readonly Charge[], cost: number): LimitState | undefined {
    if (cost === 0) return undefined;
    // A bucket that is never leased makes leases of the others useless to this charge.
    for (const { policy } of charges) if (!mayBeLeased(policy)) return undefined;
    const nowMs = this.#now();
    const isHeld = this.#meet(charges, cost, nowMs);
    if (isHeld) for (let index = 0; index < charges.length; index += 1) this.#met[index]!.left -= cost;
    if (this.#mayAsk) this.#askWhereDue(charges.length, nowMs);
    return isHeld ? this.#stateOf(charges.length, nowMs) : undefined;
  }

  /**
   * Takes along what is leased for a charge that asks Redis, which is then asked for the rest alone: what is held here is
   * no reason to refuse it. Undefined: nothing is.
   */
  part(charges: readonly Charge[], cost: number): LeasePart[] | undefined {
    if (cost === 0 || (this.#recent.size === 0 && this.#older.size === 0)) return undefined;
    // Never to be admitted, which Redis is to say by the whole cost.
    for (const { policy } of charges) if (cost > policy.burst) return undefined;
    const nowMs = this.#now();
    let parts: LeasePart[] | undefined;
    for (const [index, { bucket }] of charges.entries()) {
      const lease = this.#find(bucket);
      const tokens = lease === undefined ? 0 : Math.min(cost, heldOf(lease, nowMs));
      if (lease === undefined || tokens === 0) continue;
      lease.left -= tokens;
      lease.alongside += tokens;
      parts ??= charges.map(() => NO_PART);
      parts[index] = { tokens, lease, number: lease.number };
    }
    return parts;
  }

  /** What became of a charge with parts. Not admitted: the parts are held again while their lease is good. */
  settlePart(parts: readonly LeasePart[], isAdmitted: boolean): void {
    for (const { tokens, lease, number } of parts) {
      if (lease === undefined || lease.number !== number) continue;
      lease.alongside -= tokens;
      if (!isAdmitted) lease.left += tokens;
    }
  }

  /** The leases to be taken by the next call. Each must be told by `granted`, or all by `failed`. */
  asks(): LeaseAsk[] {
    if (this.#due.length === 0) return [];
    const askedAtMs = this.#now();
    const asks = this.#due.splice(0, MOST_ASKS).map((lease): LeaseAsk => {
      if (askedAtMs >= lease.untilMs) {
        lease.left = 0;
        lease.alongside = 0;
        lease.number += 1;
      }
      const { bucket, first, policy } = lease;
      return { bucket, first, policy, held: lease.left + lease.alongside, want: wantOf(lease), askedAtMs, lease };
    });
    if (this.#due.length > 0) this.#onDue();
    return asks;
  }

  granted({ lease, askedAtMs, policy }: LeaseAsk, { granted, sharedUsed, sharedLeased }: LeaseGrant): void {
    lease.isAsked = false;
    const nowMs = this.#now();
    // Given under limits that an operator has changed meanwhile: not spent.
    if (granted === 0 || !isSame(policy, lease.policy)) {
      lease.askAgainMs = nowMs + DENIED_MS;
      return;
    }
    lease.left += granted;
    lease.untilMs = askedAtMs + LEASE_MS;
    lease.sharedUsed = sharedUsed;
    lease.sharedLeased = sharedLeased;
    lease.sharedAtMs = nowMs;
  }

  /**
   * Whether Redis has taken what was asked for is not known. What is held stays good for its time; Redis counts it under
   * the name of before, whatever it does with that call, and what comes under a new one.
   */
  failed(asks: readonly LeaseAsk[]): void {
    this.#mayAsk = false;
    this.#holder = randomUUID();
    for (const { lease } of asks) lease.isAsked = false;
    for (const lease of this.#due.splice(0)) lease.isAsked = false;
  }

  /** Redis has answered. */
  answered(): void {
    this.#mayAsk = true;
  }

  /** Finds the leases of a charge, counts it, and tells whether every one of them holds its cost. */
  #meet(charges: readonly Charge[], cost: number, nowMs: number): boolean {
    let isHeld = true;
    for (let index = 0; index < charges.length; index += 1) {
      const lease = this.#of(charges[index]!, nowMs);
      lease.first = charges[0]!.bucket;
      countUse(lease, cost, nowMs);
      if (heldOf(lease, nowMs) < cost) isHeld = false;
      this.#met[index] = lease;
    }
    return isHeld;
  }

  /** A lease of one bucket is of no use to a charge whose other bucket has none. */
  #askWhereDue(count: number, nowMs: number): void {
    let areDue = 0;
    for (let index = 0; index < count; index += 1) {
      const lease = this.#met[index]!;
      if (wantOf(lease) === 0) return;
      if (isDue(lease, nowMs)) areDue += 1;
    }
    if (areDue === 0) return;
    for (let index = 0; index < count; index += 1) {
      const lease = this.#met[index]!;
      if (!isDue(lease, nowMs)) continue;
      lease.isAsked = true;
      this.#due.push(lease);
    }
    this.#onDue();
  }

  /** As far as Redis has told: what others took since is not known, and is told at the next lease. */
  #stateOf(count: number, nowMs: number): LimitState {
    let [remaining, resetSeconds] = [Infinity, 0];
    let tightest = this.#met[0]!;
    for (let index = 0; index < count; index += 1) {
      const lease = this.#met[index]!;
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
    if (nowMs - this.#turnedAtMs >= FORGET_MS || this.#recent.size >= MOST_BUCKETS) {
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
      // What was leased under other limits is not spent under these.
      lease.untilMs = 0;
    }
    return lease;
  }
}

const NO_PART: LeasePart = { tokens: 0, lease: undefined, number: 0 };
