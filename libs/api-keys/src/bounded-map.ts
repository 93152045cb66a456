import assert from 'node:assert/strict';

/**
 * A map of at most `most` entries; beyond that it drops the one set first, regardless of later use or replacement, in
 * constant time. A new iterator over a `Map` steps over every entry deleted before, so `keys().next()` would take
 * longer with each dropped entry; one iterator that is kept steps over each once.
 */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #most: number;
  readonly #oldest = this.keys();

  /** @throws AssertionError if `most` is less than 1. */
  constructor(most: number) {
    super();
    assert(most >= 1, 'A bounded map has room for one entry.');
    this.#most = most;
  }

  override set(key: Key, value: Value): this {
    if (this.size >= this.#most && !this.has(key)) {
      const { value: oldest, done } = this.#oldest.next();
      // All entries are still ahead of the iterator: those it has passed were deleted, and new ones are appended.
      assert(done !== true, 'A full map has an oldest entry.');
      this.delete(oldest);
    }
    return super.set(key, value);
  }
}
