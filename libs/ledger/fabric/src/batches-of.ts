export interface BatchLimits<Item> {
  readonly maxCount: number;
  readonly maxBytes: number;
  readonly bytesOf: (item: Item) => number;
  /** What must not stand twice in one batch, and whose order is kept: the id. */
  readonly keyOf: (item: Item) => string;
}

/**
 * Cuts a list into batches of neighbours, in order. No key is twice in a batch, so run one after the other they keep the
 * order of each key. A single item above `maxBytes` is a batch of its own: whether it fits is for the network to say.
 */
export function batchesOf<Item>(items: readonly Item[], limits: BatchLimits<Item>): Item[][] {
  const batches: Item[][] = [];
  let batch: Item[] = [];
  let keys = new Set<string>();
  let bytes = 0;
  for (const item of items) {
    const size = limits.bytesOf(item);
    const key = limits.keyOf(item);
    const full = batch.length >= limits.maxCount || bytes + size > limits.maxBytes || keys.has(key);
    if (full && batch.length > 0) {
      batches.push(batch);
      batch = [];
      keys = new Set();
      bytes = 0;
    }
    batch.push(item);
    keys.add(key);
    bytes += size;
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}
