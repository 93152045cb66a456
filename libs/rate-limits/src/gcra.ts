import type { LimitState, Policy } from './limits.ts';

/**
 * State of a bucket after its last charge. Used 0 means full.
 *
 * ITU-T I.371 defines GCRA in two equivalent forms: virtual scheduling, which keeps a theoretical arrival time, and the
 * continuous-state leaky bucket, used here. Only the latter stays in whole numbers: an interval of a third of a second
 * is no whole number of microseconds, a drain of 3 units per microsecond is exact.
 */
export interface Bucket {
  /** In units of the meter: a microtoken, or a fraction of one if replicas share a rate. */
  readonly used: number;
  /** Microseconds since the epoch. */
  readonly atMicros: number;
}

/** A policy in whole numbers. `used` drains by `drainPerMicro` every microsecond. */
export interface Meter {
  readonly policy: Policy;
  readonly unitsPerToken: number;
  readonly drainPerMicro: number;
  readonly capacity: number;
}

/**
 * The meter of a policy, or of one replica's share of its rate. The rate is divided, the burst is not: a batch that
 * fits the burst must not be refused for ever because a store was lost.
 */
export function meterOf(policy: Policy, replicas = 1): Meter {
  const unitsPerToken = 1_000_000 * replicas;
  return { policy, unitsPerToken, drainPerMicro: policy.ratePerSecond, capacity: policy.burst * unitsPerToken };
}

/**
 * How much of a bucket is used now. A clock that went backwards counts as no elapsed time: nothing drains, and the
 * bucket does not wait for a time far ahead.
 */
export function usedAt(bucket: Bucket, meter: Meter, nowMicros: number): number {
  const elapsedMicros = Math.max(0, nowMicros - bucket.atMicros);
  return Math.max(0, bucket.used - elapsedMicros * meter.drainPerMicro);
}

/** Microseconds until a bucket is full again, rounded up. */
export function microsUntilFull(used: number, meter: Meter): number {
  return Math.ceil(used / meter.drainPerMicro);
}

/** A bucket at the moment of a charge. */
export interface Level {
  readonly meter: Meter;
  readonly used: number;
}

/**
 * Decides one charge of several buckets: admitted if every one has room for the cost, in exact arithmetic.
 *
 * Pure: the caller drains first (`usedAt`) and, if admitted, adds `cost * unitsPerToken` to each. In any window of T
 * seconds a bucket admits at most burst + rate * T.
 */
export function gcra(levels: readonly Level[], cost: number): LimitState {
  let waitSeconds = 0;
  for (const level of levels) waitSeconds = Math.max(waitSeconds, refusalSeconds(level, cost));
  const admitted = waitSeconds === 0;
  const taken = admitted ? cost : 0;
  let tightest: Level | undefined;
  let remaining = Infinity;
  for (const level of levels) {
    const left = remainingOf(level, taken);
    if (left >= remaining) continue;
    tightest = level;
    remaining = left;
  }
  if (tightest === undefined) throw new RangeError('A charge names at least one bucket.');
  const { meter } = tightest;
  const resetSeconds = admitted ? secondsToDrain(tightest.used + taken * meter.unitsPerToken, meter) : waitSeconds;
  return { admitted, policy: meter.policy, remaining, resetSeconds, retryAfterSeconds: waitSeconds };
}

/** 0 if there is room, else at least 1. */
function refusalSeconds({ meter, used }: Level, cost: number): number {
  const excess = used + cost * meter.unitsPerToken - meter.capacity;
  if (excess <= 0 || cost === 0) return 0;
  return secondsToDrain(cost > meter.policy.burst ? meter.capacity : excess, meter);
}

function remainingOf({ meter, used }: Level, taken: number): number {
  return Math.max(0, Math.floor((meter.capacity - used) / meter.unitsPerToken) - taken);
}

function secondsToDrain(units: number, meter: Meter): number {
  return Math.ceil(units / (meter.drainPerMicro * 1_000_000));
}
