import type { Policy } from './limit-store.ts';

/** How long use is counted for: a lease holds what was used in the interval before, half of what it has time for. */
const INTERVAL_MS = 500;
/** Fewer requests than this in an interval ask Redis, and so do those of which a lease could not hold as many. */
const LEAST_REQUESTS = 10;
/** A lease is at most this part of a burst: a twentieth. */
const BURST_PER_LEASE = 20;

/** Whether leases of a bucket are worth their name: a twentieth of a small burst is no more than a few requests. */
export const mayBeLeased = ({ burst }: Policy): boolean => burst >= LEAST_REQUESTS * BURST_PER_LEASE;

/** What this process knows of a bucket and holds of it. Times are of a clock that never goes back. */
export interface Lease {
  readonly bucket: string;
  policy: Policy;
  /** The first bucket of its charges, which decides where on a cluster it lies. */
  first: string;
  intervalStartMs: number;
  requests: number;
  tokens: number;
  lastRequests: number;
  lastTokens: number;
  /** Tokens not spent, good before `untilMs`. */
  left: number;
  untilMs: number;
  /** Tokens that requests which ask Redis have taken along: spent if they are admitted. */
  alongside: number;
  /** Tells apart leases with nothing carried over between them. */
  number: number;
  /** The shared bucket when the lease was taken: what is used, in microtokens, and what all replicas hold, in tokens. */
  sharedUsed: number;
  sharedLeased: number;
  sharedAtMs: number;
  isAsked: boolean;
  askAgainMs: number;
}

/** Of a bucket that nobody has charged yet. */
export function newLease(bucket: string, policy: Policy, nowMs: number): Lease {
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
    alongside: 0,
    number: 0,
    sharedUsed: 0,
    sharedLeased: 0,
    sharedAtMs: 0,
    isAsked: false,
    askAgainMs: 0,
  };
}

/** Counts a charge of now. */
export function countUse(lease: Lease, cost: number, nowMs: number): void {
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

/** Tokens that can be spent now. */
export const heldOf = (lease: Lease, nowMs: number): number => (nowMs < lease.untilMs ? lease.left : 0);

/** How large the lease of a bucket should be: 0 for one that is hardly used, or whose requests take much of its burst. */
export function wantOf(lease: Lease): number {
  const isRising = lease.tokens > lease.lastTokens;
  const tokens = isRising ? lease.tokens : lease.lastTokens;
  const requests = isRising ? lease.requests : lease.lastRequests;
  const most = Math.floor(lease.policy.burst / BURST_PER_LEASE);
  return requests < LEAST_REQUESTS || most * requests < LEAST_REQUESTS * tokens ? 0 : Math.min(most, tokens);
}

/** Whether more should be asked for, which is so once half is spent. */
export const isDue = (lease: Lease, nowMs: number): boolean =>
  !lease.isAsked && nowMs >= lease.askAgainMs && heldOf(lease, nowMs) * 2 < wantOf(lease);

export const isSame = (one: Policy, other: Policy): boolean =>
  one === other || (one.ratePerSecond === other.ratePerSecond && one.burst === other.burst);
