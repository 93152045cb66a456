import { LedgerUnavailableError } from '@sealgate/ledger-port';
import { forEverybody } from '@sealgate/storage';

/** A tile or a bundle of entries, as wide as a signed checkpoint has it. */
export interface KeptBytes {
  /** Not changed after it is stored: answers are views of it. */
  readonly bytes: Buffer;
  /** Number of hashes or entries. */
  readonly width: number;
  /** Number of records of the channel that were in the archive when it was read. */
  readonly archived: number;
}

interface Wanted {
  readonly isEnough: (kept: KeptBytes) => boolean;
  /** Must have a deadline. */
  readonly read: () => Promise<KeptBytes>;
  /** Bytes that an entry takes for each of its own, with what is derived from it. */
  readonly weight: number;
}

interface Entry extends KeptBytes {
  readonly takes: number;
  readonly atMs: number;
}

interface TileCacheOptions {
  readonly maxBytes?: number;
  /** How long a read waits for its turn. */
  readonly waitWithinMs?: number;
  readonly now: () => number;
}

/**
 * A fifth of the heap limit of a service, outside the heap: the level-0 tiles of a million records, or some hundred
 * bundles of entries.
 */
const MAX_BYTES = 32 * 1024 * 1024;
/** Map entry, key and objects. */
const OVERHEAD_BYTES = 512;
/**
 * Then it is read again: a row that was edited is no longer served a minute after it was restored, and a database that
 * was replaced is noticed.
 */
const MAX_AGE_MS = 60_000;
/** Concurrent reads: someone who reads a whole log keeps that many connections and processors of the database busy. */
const READS_AT_ONCE = 2;
const MAX_WAITING = 512;
const WAIT_WITHIN_MS = 1000;

/**
 * Tiles and bundles in memory, up to a number of bytes; the least recently used are dropped. Concurrent callers share a
 * read, and a call ends after at most a second plus the deadlines of two reads.
 */
export class TileCache {
  readonly #now: () => number;
  readonly #maxBytes: number;
  readonly #waitWithinMs: number;
  /** The least recently used first. */
  readonly #entries = new Map<string, Entry>();
  readonly #reading = new Map<string, Promise<KeptBytes>>();
  readonly #waiting: (() => void)[] = [];
  #running = 0;
  #bytes = 0;
  #generation = 0;

  constructor({ now, maxBytes = MAX_BYTES, waitWithinMs = WAIT_WITHIN_MS }: TileCacheOptions) {
    this.#now = now;
    this.#maxBytes = maxBytes;
    this.#waitWithinMs = waitWithinMs;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Drops everything, also what is being read now. */
  clear(): void {
    this.#generation += 1;
    this.#entries.clear();
    this.#reading.clear();
    this.#bytes = 0;
  }

  /** @throws what the read throws, and LedgerUnavailableError if it cannot begin in time. */
  async get(key: string, wanted: Wanted): Promise<KeptBytes> {
    const found = this.find(key, wanted.isEnough);
    if (found !== undefined) return found;
    const running = this.#reading.get(key);
    // One that began at an older checkpoint may return too little.
    if (running !== undefined) {
      const shared = await running;
      if (wanted.isEnough(shared)) return shared;
      return this.get(key, wanted);
    }
    const generation = this.#generation;
    const reading = this.#inTurn(wanted.read).finally(() => {
      if (this.#reading.get(key) === reading) this.#reading.delete(key);
    });
    this.#reading.set(key, reading);
    const read = await reading;
    if (generation === this.#generation) this.#put(key, read, wanted.weight);
    return read;
  }

  find(key: string, isEnough: (kept: KeptBytes) => boolean): KeptBytes | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || this.#now() - entry.atMs >= MAX_AGE_MS || !isEnough(entry)) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry;
  }

  #put(key: string, read: KeptBytes, weight: number): void {
    this.#drop(key);
    const takes = read.bytes.length * weight + OVERHEAD_BYTES;
    this.#entries.set(key, { ...read, takes, atMs: this.#now() });
    this.#bytes += takes;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    this.#bytes -= this.#entries.get(key)?.takes ?? 0;
    this.#entries.delete(key);
  }

  async #inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#running < READS_AT_ONCE) this.#running += 1;
    else await this.#turn();
    try {
      return await forEverybody(work);
    } finally {
      // The turn passes to the next caller without being given up.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  #turn(): Promise<void> {
    const refusal = () => new LedgerUnavailableError('Too many tiles and entries are being read.');
    if (this.#waiting.length >= MAX_WAITING) return Promise.reject(refusal());
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(begin), 1);
        reject(refusal());
      }, this.#waitWithinMs);
      this.#waiting.push(begin);
    });
  }
}
