/** Below this many microseconds each has a bucket of its own; above, buckets are at most 1/128 of the value wide. */
const exactMicroseconds = 256;
const subBuckets = exactMicroseconds / 2;
const buckets = exactMicroseconds + 24 * subBuckets;

/** Latencies in fixed memory: no allocation and no sorting while the load runs. Range: up to an hour, 0.8 % precise. */
export class LatencyHistogram {
  readonly #counts = new Uint32Array(buckets);
  #total = 0;
  #largestUs = 0;

  record(milliseconds: number): void {
    const us = Math.max(0, Math.round(milliseconds * 1_000));
    const bucket = bucketOf(us);
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#total += 1;
    if (us > this.#largestUs) this.#largestUs = us;
  }

  get count(): number {
    return this.#total;
  }

  get largestMs(): number {
    return this.#largestUs / 1_000;
  }

  /** The latency in milliseconds that this share (such as 0.99) does not exceed; 0 where nothing was recorded. */
  quantileMs(share: number): number {
    const rank = Math.max(1, Math.ceil(this.#total * share));
    let seen = 0;
    for (let bucket = 0; bucket < buckets; bucket += 1) {
      seen += this.#counts[bucket] ?? 0;
      if (seen >= rank) return Math.min(upperEndOf(bucket), this.#largestUs) / 1_000;
    }
    return 0;
  }
}

function bucketOf(us: number): number {
  if (us < exactMicroseconds) return us;
  const shift = 31 - Math.clz32(us) - 7;
  return Math.min(buckets - 1, exactMicroseconds + (shift - 1) * subBuckets + (us >>> shift) - subBuckets);
}

function upperEndOf(bucket: number): number {
  if (bucket < exactMicroseconds) return bucket;
  const shift = Math.floor((bucket - exactMicroseconds) / subBuckets) + 1;
  const position = ((bucket - exactMicroseconds) % subBuckets) + subBuckets;
  return (position + 1) * 2 ** shift - 1;
}
