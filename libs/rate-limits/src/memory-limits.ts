import assert from 'node:assert/strict';
import type { Filling } from './fullness-heap.ts';
import { FullnessHeap } from './fullness-heap.ts';
import type { Bucket, Meter } from './gcra.ts';
import { gcra, meterOf, microsUntilFull, usedAt } from './gcra.ts';
import type { Charge, LimitState, LimitStore } from './limit-store.ts';
import { faultOfCharges, MAX_REPLICAS } from './limit-store.ts';

export interface MemoryLimitsOptions {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Number of processes that share the rates; each enforces its share. Default: 1. */
  readonly replicas?: number;
  /**
   * Initial state of a bucket. False: full. True: empty when the store was made (or last `reset`) and filling since;
   * its first charge is admitted nevertheless, unless it exceeds the burst.
   */
  readonly startEmpty?: boolean;
  /** Beyond this many buckets the one that is full first is dropped. Default: 50,000 (about 10 MB). */
  readonly maxBuckets?: number;
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

interface Entry extends Filling {
  used: number;
  atMicros: number;
}

/** Buckets dropped per new one: two, so that idle ones are dropped faster than new ones are added. */
const SWEEP = 2;

/**
 * Limits in the memory of this process, bounded in number.
 *
 * Dropping a full bucket changes nothing, so full ones are dropped first, then the one that is full soonest. Only
 * buckets with admitted charges are kept, so refusals cannot fill the memory.
 */
export function memoryLimits(options: MemoryLimitsOptions): LocalLimits {
  return new MemoryLimits(options);
}

class MemoryLimits implements LocalLimits {
  readonly #now: () => number;
  readonly #replicas: number;
  readonly #startEmpty: boolean;
  readonly #maxBuckets: number;
  readonly #buckets = new Map<string, Entry>();
  readonly #byFullness = new FullnessHeap<Entry>();
  #startedMicros: number;

  constructor({ now, replicas = 1, startEmpty = false, maxBuckets = 50_000 }: MemoryLimitsOptions) {
    assert(Number.isInteger(replicas) && replicas >= 1 && replicas <= MAX_REPLICAS, 'Replicas are 1 to 1,000.');
    assert(Number.isInteger(maxBuckets) && maxBuckets >= 1, 'At least one bucket must be kept.');
    this.#now = now;
    this.#replicas = replicas;
    this.#startEmpty = startEmpty;
    this.#maxBuckets = maxBuckets;
    this.#startedMicros = this.#nowMicros();
  }

  get size(): number {
    return this.#buckets.size;
  }

  reset(): void {
    this.#buckets.clear();
    this.#byFullness.clear();
    this.#startedMicros = this.#nowMicros();
  }

  charge(charges: readonly Charge[], cost: number): Promise<LimitState> {
    const fault = faultOfCharges(charges, cost);
    return fault === undefined ? Promise.resolve(this.#decideValid(charges, cost)) : Promise.reject(fault);
  }

  decide(charges: readonly Charge[], cost: number): LimitState {
    const fault = faultOfCharges(charges, cost);
    if (fault !== undefined) throw fault;
    return this.#decideValid(charges, cost);
  }

  #decideValid(charges: readonly Charge[], cost: number): LimitState {
    const nowMicros = this.#nowMicros();
    const levels = charges.map(({ bucket, policy }) => {
      const meter = meterOf(policy, this.#replicas);
      return { meter, used: this.#usedOf(bucket, meter, { nowMicros, cost }) };
    });
    const state = gcra(levels, cost);
    if (state.admitted && cost > 0) {
      for (const [index, { bucket }] of charges.entries()) {
        const level = levels[index];
        if (level === undefined) continue;
        const used = level.used + cost * level.meter.unitsPerToken;
        this.#keep(bucket, { used, atMicros: nowMicros }, nowMicros + microsUntilFull(used, level.meter));
      }
    }
    return state;
  }

  #usedOf(bucket: string, meter: Meter, { nowMicros, cost }: { nowMicros: number; cost: number }): number {
    const entry = this.#buckets.get(bucket);
    if (entry !== undefined) return usedAt(entry, meter, nowMicros);
    if (!this.#startEmpty) return 0;
    const used = usedAt({ used: meter.capacity, atMicros: this.#startedMicros }, meter, nowMicros);
    const usedWithRoom = meter.capacity - cost * meter.unitsPerToken;
    return usedWithRoom >= 0 ? Math.min(used, usedWithRoom) : used;
  }

  #keep(bucket: string, { used, atMicros }: Bucket, fullAtMicros: number): void {
    const entry = this.#buckets.get(bucket);
    if (entry !== undefined) {
      entry.used = used;
      entry.atMicros = atMicros;
      entry.fullAtMicros = fullAtMicros;
      return;
    }
    this.#makeRoom(atMicros);
    const added: Entry = { name: bucket, used, atMicros, fullAtMicros, knownFullAtMicros: fullAtMicros };
    this.#buckets.set(bucket, added);
    this.#byFullness.add(added);
  }

  #makeRoom(nowMicros: number): void {
    for (let count = 0; count < SWEEP; count += 1) {
      const first = this.#byFullness.first();
      if (first === undefined) return;
      if (first.fullAtMicros > nowMicros && this.#buckets.size < this.#maxBuckets) return;
      this.#byFullness.removeFirst();
      this.#buckets.delete(first.name);
    }
  }

  #nowMicros(): number {
    return Math.round(this.#now() * 1000);
  }
}
