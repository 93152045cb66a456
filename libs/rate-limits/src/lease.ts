import type { Policy } from './limit-store.ts';

/** Interval of counting use. A lease is sized by the use of the previous interval, half of its own lifetime. */
const INTERVAL_MS = 500;
/** A bucket is leased only with at least this many requests per interval, and if a lease can hold as many. */
const MIN_REQUESTS = 10;
/** A lease is at most a twentieth of the burst. */
const BURST_PER_LEASE = 20;

/** Whether leases of a bucket are worthwhile: a twentieth of a small burst is no more than a few requests. */
export const mayBeLeased = ({ burst }: Policy): boolean => burst >= MIN_REQUESTS * BURST_PER_LEASE;

/** This process's counters and leased tokens of a bucket. Times are of a monotonic clock. */
export interface Lease {
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

/** Tokens that can be spent at `nowMs`. */
export const heldOf = (lease: Lease, nowMs: number): number => (nowMs < lease.untilMs ? lease.left : 0);

/** Target size of a lease: 0 for a bucket that is hardly used, or whose requests take much of its burst. */
export function wantOf(lease: Lease): number {
  const isRising = lease.tokens > lease.lastTokens;
  const tokens = isRising ? lease.tokens : lease.lastTokens;
  const requests = isRising ? lease.requests : lease.lastRequests;
  const most = Math.floor(lease.policy.burst / BURST_PER_LEASE);
  return requests < MIN_REQUESTS || most * requests < MIN_REQUESTS * tokens ? 0 : Math.min(most, tokens);
}

/** Whether to request more: once half is spent. */
export const isDue = (lease: Lease, nowMs: number): boolean =>
  !lease.isRequested && nowMs >= lease.nextRequestMs && heldOf(lease, nowMs) * 2 < wantOf(lease);

export const isSame = (one: Policy, other: Policy): boolean =>
  one === other || (one.ratePerSecond === other.ratePerSecond && one.burst === other.burst);
