/** Where a value was written: block and index of the transaction in it. */
export interface Version {
  readonly block: number;
  readonly transaction: number;
}

/** One change of a key. `value` undefined: it was deleted. */
export interface Modification extends Version {
  readonly value: Buffer | undefined;
  readonly transactionId: string;
  readonly timestamp: unknown;
}

interface VersionedValue {
  readonly value: Buffer;
  readonly version: Version;
}

/**
 * The keys of one chaincode on one channel with their full history. Reads are as of a height, so that a simulation sees
 * one state although blocks are added meanwhile.
 */
export class WorldState {
  readonly #changes = new Map<string, Modification[]>();
  /** In the order of their UTF-8 bytes, as in LevelDB. */
  readonly #keys: string[] = [];

  /** Must be called in ledger order. */
  apply(key: string, change: Modification): void {
    const changes = this.#changes.get(key);
    if (changes !== undefined) {
      changes.push(change);
      return;
    }
    this.#changes.set(key, [change]);
    this.#keys.splice(this.#placeOf(key), 0, key);
  }

  /** The value as of the blocks below `height`. */
  get(key: string, height: number): VersionedValue | undefined {
    const change = this.#changes.get(key)?.findLast(({ block }) => block < height);
    if (change?.value === undefined) return undefined;
    return { value: change.value, version: { block: change.block, transaction: change.transaction } };
  }

  /** Keys from `start` up to but excluding `end` ('': to the last). */
  *range(start: string, end: string, height: number): Generator<readonly [string, VersionedValue]> {
    // A copy: keys may be added while the caller iterates.
    const keys = this.#keys.slice(this.#placeOf(start), end === '' ? undefined : this.#placeOf(end));
    for (const key of keys) {
      const found = this.get(key, height);
      if (found !== undefined) yield [key, found];
    }
  }

  /** Newest first, independent of any height, like a peer's history index. */
  history(key: string): readonly Modification[] {
    return (this.#changes.get(key) ?? []).toReversed();
  }

  /** Index of the first key that is not before this one. */
  #placeOf(key: string): number {
    const sought = Buffer.from(key);
    let low = 0;
    let high = this.#keys.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (Buffer.from(this.#keys[middle]!).compare(sought) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
