import type { Log } from '@sealgate/observability';
import type { Charge, LeasingStore, LimitState, LimitStore, Policy } from './limit-store.ts';
import { faultOfCharges } from './limit-store.ts';
import type { LocalLimits } from './memory-limits.ts';

/** `shared`: Redis decides for all replicas. `local`: this process decides, at its share of the rate. */
export type LimitsState = 'shared' | 'local';

export interface SharedLimitsOptions {
  /** Must settle within its own timeout, as `redisLimits` does. Absent: this process always decides. */
  readonly redis?: LeasingStore;
  /** `memoryLimits({ now, replicas, startEmpty: true })`. Must not be shared. */
  readonly local: LocalLimits;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Called on every change, and at the start with `local`, since Redis has not answered yet. */
  readonly onStateChange?: (state: LimitsState) => void;
  /** Delay of a probe after the start and after a failed probe. Default: 250. */
  readonly probeDelayMs?: number;
  /** Interval of probes while no request is answered by Redis. Default: 5,000. */
  readonly idleProbeMs?: number;
  /** Runs `work` once after `delayMs`. Default: a timer that does not keep the process alive. */
  readonly schedule?: (work: () => void, delayMs: number) => void;
}

export interface SharedLimits extends LimitStore {
  /** `shared` only if the last call to Redis was answered; probes keep it current in a process without requests. */
  readonly state: LimitsState;
  /** Stops probing. */
  close(): void;
}

/**
 * A probe is a real charge: it proves that the script runs and that Redis can write. PING is also answered by a replica
 * and by a Redis out of memory, which refuse every charge.
 */
const PROBE: readonly Charge[] = [
  { bucket: 'probe', policy: { name: 'key', ratePerSecond: 1_000_000, burst: 1_000_000 } satisfies Policy },
];

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
  #lostAtMs = 0;
  #closed = false;
  /** Counts probes: of two scheduled ones only the later runs. */
  #probes = 0;
  /** Whether Redis has answered a request since the last probe. */
  #answered = false;
  /** Incremented when Redis comes back, so that the outcome of an older call is ignored. */
  #era = 0;

  constructor(options: SharedLimitsOptions) {
    this.#options = options;
    this.#redis = options.redis;
    this.#local = options.local;
    this.#decides = options.redis === undefined ? 'local' : 'shared';
    options.local.reset();
    options.onStateChange?.(this.#state);
    if (options.redis !== undefined) this.#probeLater();
  }

  get state(): LimitsState {
    return this.#state;
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
    this.#options.log.warn('limits_local', { reason: error instanceof Error ? error.message : String(error) });
    this.#probeLater();
  }

  #goShared(): void {
    this.#era += 1;
    this.#local.reset();
    this.#decides = 'shared';
    this.#report('shared');
    this.#options.log.info('limits_shared', { awayMs: this.#options.now() - this.#lostAtMs });
  }

  #report(state: LimitsState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#options.onStateChange?.(state);
  }

  #probeLater(): void {
    const { schedule = scheduleTimer, probeDelayMs = 250, idleProbeMs = 5_000 } = this.#options;
    this.#answered = false;
    this.#probes += 1;
    const probe = this.#probes;
    schedule(() => this.#probe(probe), this.#state === 'shared' ? idleProbeMs : probeDelayMs);
  }

  #probe(probe: number): void {
    if (!this.#isNewest(probe) || this.#redis === undefined) return;
    if (this.#answered) return this.#probeLater();
    this.#redis.charge(PROBE, 1).then(
      () => {
        if (!this.#isNewest(probe)) return;
        if (this.#decides === 'local') this.#goShared();
        else this.#report('shared');
        this.#probeLater();
      },
      (error: unknown) => {
        if (!this.#isNewest(probe)) return;
        if (this.#decides === 'shared') this.#goLocal(error);
        else this.#probeLater();
      },
    );
  }

  /** False if a loss has started newer probes. */
  #isNewest(probe: number): boolean {
    return !this.#closed && probe === this.#probes;
  }
}
