import * as prom from 'prom-client';
import type { MetricsSnapshot } from './metrics.ts';

/**
 * Adds up the metrics of the processes that share one scrape: see `aggregator` of gauges. Counters and histograms of a
 * worker that ended stay in the sums, as they were last seen: a counter that fell would be read as a restart of the whole,
 * and its rate as what all the others ever counted.
 */
export class WorkerMetrics {
  readonly #latest = new Map<number, MetricsSnapshot>();
  #ended: MetricsSnapshot = [];

  /** Keeps what a worker counts now; `worker` is any number that no other process of this scrape has, nor ever had. */
  take(worker: number, snapshot: MetricsSnapshot): void {
    this.#latest.set(worker, snapshot);
  }

  /** A worker that ended: only its counters and histograms are kept. At once, so that no scrape comes between. */
  end(worker: number): void {
    const last = this.#latest.get(worker);
    if (last === undefined) return;
    this.#latest.delete(worker);
    const counted = last.filter(({ type }) => isCounted(type));
    // Metrics that are sums already hold their values; only those that count need to be asked.
    this.#ended = aggregate([this.#ended, counted]).getMetricsAsArray() as unknown as MetricsSnapshot;
  }

  /** What was taken last of each, in the Prometheus text format. @param own of the process that adds them up. */
  text(own: MetricsSnapshot): Promise<string> {
    return aggregate([own, ...this.#latest.values(), this.#ended]).metrics();
  }
}

/** By the types of prom-client this is a number; it is the word that the text format has. */
const isCounted = (type: unknown): boolean => type === 'counter' || type === 'histogram';

const aggregate = (snapshots: readonly MetricsSnapshot[]): prom.Registry =>
  prom.AggregatorRegistry.aggregate([...snapshots]);
