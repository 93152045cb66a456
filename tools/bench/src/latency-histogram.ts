import { createHistogram } from 'node:perf_hooks';
import type { LoadResult } from './load/load-plan.ts';

const hourUs = 3_600_000_000;

/** Latencies of up to an hour in fixed memory, so that nothing is allocated while the load runs; 0.1 % precise. */
export class LatencyHistogram {
  readonly #microseconds = createHistogram({ lowest: 1, highest: hourUs, figures: 3 });

  record(milliseconds: number): void {
    this.#microseconds.record(Math.min(hourUs, Math.max(1, Math.round(milliseconds * 1_000))));
  }

  get count(): number {
    return this.#microseconds.count;
  }

  /** Quantiles that are never below the true ones; 0 where nothing was recorded. */
  result(): Pick<LoadResult, 'p50Ms' | 'p99Ms' | 'largestMs'> {
    const { max } = this.#microseconds;
    const [p50Us, p99Us] = [this.#microseconds.percentile(50), this.#microseconds.percentile(99)];
    return { p50Ms: p50Us / 1_000, p99Ms: p99Us / 1_000, largestMs: max / 1_000 };
  }
}
