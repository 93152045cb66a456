import assert from 'node:assert/strict';

/**
 * A map that holds at most `most` entries: past it the one that was set first is forgotten, whenever it was last used or
 * replaced. Forgetting takes constant time. A new iterator over a `Map` passes over every entry deleted before it, so finding
 * the first entry by `keys().next()` takes as long as entries were forgotten; one iterator that goes on passes each once.
 */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #most: number;
  readonly #oldest = this.keys();

  /** @throws AssertionError where there is no room for one entry. */
  constructor(most: number) {
    super();
    assert(most >= 1, 'A bounded map has room for one entry.');
    this.#most = most;
  }

  override set(key: Key, value: Value): this {
    if (this.size >= this.#most && !this.has(key)) {
      const { value: oldest, done } = this.#oldest.next();
      // Every entry is one that the iterator has not met: those that it met were deleted, and later ones come behind it.
      assert(done !== true, 'A full map has an oldest entry.');
      this.delete(oldest);
    }
    return super.set(key, value);
  }
}
