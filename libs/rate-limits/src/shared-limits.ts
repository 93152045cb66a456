import type { Log } from '@sealgate/observability';
import type { Charge, LeasingStore, LimitState, LimitStore, Policy } from './limit-store.ts';
import { faultOfCharges } from './limit-store.ts';
import type { LocalLimits } from './memory-limits.ts';

/** `shared`: Redis decides for all replicas. `local`: this process decides, at its part of the rate. */
export type LimitsState = 'shared' | 'local';

export interface SharedLimitsOptions {
  /** Must settle within its own timeout, as `redisLimits` does. Left out: this process decides, always. */
  readonly redis?: LeasingStore;
  /** `memoryLimits({ now, replicas, startEmpty: true })`. Not to be used by anyone else. */
  readonly local: LocalLimits;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Called at every change, and once at the start: with `local`, since Redis has not answered yet. */
  readonly onStateChange?: (state: LimitsState) => void;
  /** How long after the start and after a failed probe the next one is made. 250 unless said otherwise. */
  readonly probeDelayMs?: number;
  /** How long Redis may have answered nothing until it is probed all the same. 5,000 unless said otherwise. */
  readonly idleProbeMs?: number;
  /** Runs something once, later. A timer that does not keep the process alive, unless given. */
  readonly schedule?: (work: () => void, delayMs: number) => void;
}

export interface SharedLimits extends LimitStore {
  /** `shared` only where Redis has answered, and answered last; also in a process that nobody asks anything. */
  readonly state: LimitsState;
  /** Stops probing. */
  close(): void;
}

/**
 * A probe is a real charge: it proves that the script runs and that Redis can write. PING would be answered by a replica
 * and by a Redis without memory, which refuse every charge.
 */
const PROBE: readonly Charge[] = [
  { bucket: 'probe', policy: { name: 'key', ratePerSecond: 1_000_000, burst: 1_000_000 } satisfies Policy },
];

/**
 * Redis while it answers, this process while it does not, and before both what was leased from Redis.
 *
 * The request that meets the failure is decided locally at once; those that follow do not ask Redis until a probe in the
 * background succeeds. So nobody waits longer than the timeout of the Redis store, and no failure of a store becomes a 429.
 *
 * Before its first answer Redis is asked, but not said to be shared. It is probed soon after the start and where no request
 * has asked it for a while, so that an idle process tells the truth.
 *
 * Each loss starts the local store anew: its buckets are empty, but for one request each. When Redis is back, what the
 * local store knew is dropped.
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
  /** Which of both decides. */
  #decides: LimitsState;
  /** What was told last: `shared` takes an answer of Redis. */
  #told: LimitsState = 'local';
  #lostAtMs = 0;
  #closed = false;
  /** Counts probes: of two that wait, the earlier one does nothing. */
  #probes = 0;
  /** Whether Redis has answered a request since the last probe. */
  #answered = false;
  /** Counts the times Redis came back, so that a call begun before tells nothing about the time after. */
  #era = 0;

  constructor(options: SharedLimitsOptions) {
    this.#options = options;
    this.#redis = options.redis;
    this.#local = options.local;
    this.#decides = options.redis === undefined ? 'local' : 'shared';
    options.local.reset();
    options.onStateChange?.(this.#told);
    if (options.redis !== undefined) this.#probeLater();
  }

  get state(): LimitsState {
    return this.#told;
  }

  charge(charges: readonly Charge[], cost: number): Promise<LimitState> {
    if (this.#redis === undefined) return this.#local.charge(charges, cost);
    // Told apart from a failing store before it is asked: a bug of a caller must not open the breaker.
    const fault = faultOfCharges(charges, cost);
    if (fault !== undefined) return Promise.reject(fault);
    // What was taken from Redis is good for its time, whether Redis still answers or not.
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
    this.#tell('shared');
  }

  #goLocal(error: unknown): void {
    this.#lostAtMs = this.#options.now();
    this.#local.reset();
    this.#decides = 'local';
    this.#tell('local');
    this.#options.log.warn('limits_local', { reason: error instanceof Error ? error.message : String(error) });
    this.#probeLater();
  }

  #goShared(): void {
    this.#era += 1;
    this.#local.reset();
    this.#decides = 'shared';
    this.#tell('shared');
    this.#options.log.info('limits_shared', { awayMs: this.#options.now() - this.#lostAtMs });
  }

  #tell(state: LimitsState): void {
    if (this.#told === state) return;
    this.#told = state;
    this.#options.onStateChange?.(state);
  }

  #probeLater(): void {
    const { schedule = scheduleTimer, probeDelayMs = 250, idleProbeMs = 5_000 } = this.#options;
    this.#answered = false;
    this.#probes += 1;
    const probe = this.#probes;
    schedule(() => this.#probe(probe), this.#told === 'shared' ? idleProbeMs : probeDelayMs);
  }

  #probe(probe: number): void {
    if (!this.#isNewest(probe) || this.#redis === undefined) return;
    if (this.#answered) return this.#probeLater();
    this.#redis.charge(PROBE, 1).then(
      () => {
        if (!this.#isNewest(probe)) return;
        if (this.#decides === 'local') this.#goShared();
        else this.#tell('shared');
        this.#probeLater();
      },
      (error: unknown) => {
        if (!this.#isNewest(probe)) return;
        if (this.#decides === 'shared') this.#goLocal(error);
        else this.#probeLater();
      },
    );
  }

  /** A loss in between has begun probes of its own. */
  #isNewest(probe: number): boolean {
    return !this.#closed && probe === this.#probes;
  }
}
