import { setTimeout as delay } from 'node:timers/promises';
import { forEverybody } from '@sealgate/storage';

/** How old a value may be that `recent` returns, and the age from which it is read again meanwhile. */
const MAX_AGE_MS = 1000;
const REFRESH_AFTER_MS = 500;
/** Keys whose last value is kept; the oldest are dropped. */
const MAX_KEPT = 4096;

/** A hundred reads a second, however many callers there are. */
const PAUSE_MS = 10;

interface Flight<Value> {
  /** Resolves when the read has ended, also if it failed. */
  readonly over: Promise<void>;
  /** Shared by the callers that came after the read began. */
  next: Promise<Value> | undefined;
}

interface SharedReadsOptions<Value> {
  /** Must have a deadline. */
  readonly read: (key: string) => Promise<Value>;
  readonly now: () => number;
  /** Between two reads of one key that callers wait for. */
  readonly pauseMs?: number;
  /** Called with each value and the one before it. */
  readonly onRead?: (value: Value, before: Value | undefined) => void;
}

/**
 * Reads that callers share: at most one runs for each key, so any number of callers costs one connection. A call waits
 * for at most two reads and the pause between them.
 */
export class SharedReads<Value> {
  readonly #options: SharedReadsOptions<Value>;
  readonly #flights = new Map<string, Flight<Value>>();
  readonly #kept = new Map<string, { readonly value: Value; readonly atMs: number }>();

  constructor(options: SharedReadsOptions<Value>) {
    this.#options = options;
  }

  /**
   * The value of a read that began after this call: a running one is not joined, because the caller may already have
   * seen a newer value, also from another process. @throws what the read throws.
   */
  fresh(key: string): Promise<Value> {
    const running = this.#flights.get(key);
    if (running === undefined) return this.#begin(key);
    running.next ??= running.over.then(() => delay(this.#options.pauseMs ?? PAUSE_MS)).then(() => this.#begin(key));
    return running.next;
  }

  /** A value that is at most a second old, if it is enough; else as `fresh`. */
  async recent(key: string, isEnough: (value: Value) => boolean = () => true): Promise<Value> {
    const isKept = (): boolean => this.#ageMs(key) <= MAX_AGE_MS && isEnough(this.#kept.get(key)!.value);
    if (!isKept()) {
      const running = this.#flights.get(key);
      if (running === undefined) return this.fresh(key);
      await running.over;
      if (!isKept()) return this.fresh(key);
    }
    const { value } = this.#kept.get(key)!;
    // A failed refresh is repeated by the next call while the value is young enough.
    if (this.#ageMs(key) > REFRESH_AFTER_MS && !this.#flights.has(key)) this.fresh(key).catch(() => undefined);
    return value;
  }

  #ageMs(key: string): number {
    return this.#options.now() - (this.#kept.get(key)?.atMs ?? Number.NEGATIVE_INFINITY);
  }

  #begin(key: string): Promise<Value> {
    const result = this.#read(key);
    const forget = (): void => {
      if (flight.next === undefined) this.#flights.delete(key);
    };
    const flight: Flight<Value> = { over: result.then(forget, forget), next: undefined };
    this.#flights.set(key, flight);
    return result;
  }

  async #read(key: string): Promise<Value> {
    const { read, now, onRead } = this.#options;
    const atMs = now();
    const value = await forEverybody(() => read(key));
    onRead?.(value, this.#kept.get(key)?.value);
    this.#kept.delete(key);
    if (this.#kept.size >= MAX_KEPT) this.#kept.delete(this.#kept.keys().next().value!);
    this.#kept.set(key, { value, atMs });
    return value;
  }
}
