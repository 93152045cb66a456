import assert from 'node:assert/strict';
import { gcra, meterOf, microsUntilFull, usedAt, type Bucket, type Meter } from './gcra.ts';
import { faultOfCharges, MAX_REPLICAS, type Charge, type LimitState, type LocalLimits } from './limits.ts';

interface MemoryLimitsOptions {
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

/**
 * An entry that becomes full at some time; `knownFullAtMicros` is the time the heap is ordered by, which may be stale.
 */
interface Filling {
  readonly name: string;
  fullAtMicros: number;
  knownFullAtMicros: number;
}

/**
 * Finds the bucket that becomes full first; that time moves later with every charge.
 *
 * A binary heap ordered by the last known time, corrected lazily: a charge does not touch it, and a stale entry at the
 * top is moved down when it is read. So charges are free here and removals pay for them.
 */
export class FullnessHeap<Entry extends Filling> {
  readonly #entries: Entry[] = [];

  get size(): number {
    return this.#entries.length;
  }

  add(entry: Entry): void {
    entry.knownFullAtMicros = entry.fullAtMicros;
    this.#entries.push(entry);
    this.#rise(this.#entries.length - 1);
  }

  /** The entry with the earliest time. */
  first(): Entry | undefined {
    for (;;) {
      const top = this.#entries[0];
      if (top === undefined || top.fullAtMicros <= top.knownFullAtMicros) return top;
      top.knownFullAtMicros = top.fullAtMicros;
      this.#sink();
    }
  }

  removeFirst(): Entry | undefined {
    const first = this.first();
    const last = this.#entries.pop();
    if (last !== undefined && last !== first) {
      this.#entries[0] = last;
      this.#sink();
    }
    return first;
  }

  clear(): void {
    this.#entries.length = 0;
  }

  #rise(start: number): void {
    let index = start;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#isBefore(index, parent)) return;
      this.#swap(index, parent);
      index = parent;
    }
  }

  #sink(): void {
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      const right = left + 1;
      let earliest = index;
      if (this.#isBefore(left, earliest)) earliest = left;
      if (this.#isBefore(right, earliest)) earliest = right;
      if (earliest === index) return;
      this.#swap(index, earliest);
      index = earliest;
    }
  }

  #isBefore(index: number, other: number): boolean {
    const entry = this.#entries[index];
    const compared = this.#entries[other];
    return entry !== undefined && compared !== undefined && entry.knownFullAtMicros < compared.knownFullAtMicros;
  }

  #swap(index: number, other: number): void {
    const entry = this.#entries[index];
    const compared = this.#entries[other];
    if (entry === undefined || compared === undefined) return;
    this.#entries[index] = compared;
    this.#entries[other] = entry;
  }
}
