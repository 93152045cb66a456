import type { Labels, LabelSets, Sample } from './label-family.ts';
import { type LabelFamily } from './label-family.ts';

/** One combination of label values: how many observations fell into each bucket, their sum and their count. */
export class HistogramChild {
  readonly #bounds: readonly number[];
  readonly #counts: Float64Array;
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  get sum(): number {
    return this.#sum;
  }

  /** Observations up to each bound, all of them last. */
  cumulativeCounts(): number[] {
    let total = 0;
    return Array.from(this.#counts, (count) => (total += count));
  }

  /** @throws RangeError when the value is not a finite number. */
  observe(value: number): void {
    if (!Number.isFinite(value)) throw new RangeError('A histogram observes finite numbers.');
    let bucket = 0;
    while (bucket < this.#bounds.length && value > (this.#bounds[bucket] ?? Infinity)) bucket += 1;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sum += value;
  }
}

/** A distribution over fixed buckets. Bind a child once where it is hot. */
export class Histogram<Sets extends LabelSets> {
  readonly #family: LabelFamily<HistogramChild>;

  constructor(family: LabelFamily<HistogramChild>) {
    this.#family = family;
  }

  child(labels: Labels<Sets>): HistogramChild {
    return this.#family.child(labels);
  }

  /** Looks the child up at every call; for what is not hot. */
  observe(labels: Labels<Sets>, value: number): void {
    this.#family.find(labels).observe(value);
  }
}

/** The samples of a histogram in the Prometheus text format: cumulative buckets, sum and count of each combination. */
export function* histogramSamples(
  name: string,
  bounds: readonly number[],
  family: LabelFamily<HistogramChild>,
): Generator<Sample> {
  for (const [labels, child] of family) {
    const counts = child.cumulativeCounts();
    const total = counts.at(-1) ?? 0;
    for (const [index, bound] of bounds.entries()) {
      yield { value: counts[index] ?? 0, labels: { ...labels, le: bound }, metricName: `${name}_bucket` };
    }
    yield { value: total, labels: { ...labels, le: '+Inf' }, metricName: `${name}_bucket` };
    yield { value: child.sum, labels, metricName: `${name}_sum` };
    yield { value: total, labels, metricName: `${name}_count` };
  }
}
