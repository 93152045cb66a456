import type { Metric } from 'prom-client';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { Counter, CounterChild, counterSamples } from './counter.ts';
import { Gauge, GaugeChild, gaugeSamples } from './gauge.ts';
import { Histogram, HistogramChild, histogramSamples } from './histogram.ts';
import type { LabelSets, Sample, UnknownLabels } from './label-family.ts';
import { LabelFamily } from './label-family.ts';

/** Upper bounds in seconds that fit a request: from a millisecond to the longest a request may take. */
export const REQUEST_SECONDS: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];

export interface MetricsOptions {
  /** `throw` in tests, `other` (the default) in production. */
  readonly unknownLabels?: UnknownLabels;
  /** CPU, memory, event loop lag, garbage collection and handles of this process. On unless said otherwise. */
  readonly processMetrics?: boolean;
}

export interface MetricDefinition<Sets extends LabelSets> {
  /** Snake case with its unit last: `_total` for counters, `_seconds` or `_bytes` for histograms. */
  readonly name: string;
  readonly help: string;
  readonly labels?: Sets;
}

export interface HistogramDefinition<Sets extends LabelSets> extends MetricDefinition<Sets> {
  /** Rising upper bounds; `REQUEST_SECONDS` unless said otherwise. */
  readonly buckets?: readonly number[];
}

export interface GaugeDefinition<Sets extends LabelSets> extends MetricDefinition<Sets> {
  /** Called before every scrape, to set what is only known by asking. Must not wait. When it throws, nothing is set. */
  readonly collect?: (gauge: Gauge<Sets>) => void;
}

interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly samples: () => Iterable<Sample>;
}

/** Gauges of prom-client that are named as counters; each is the sum of one that is there by type. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

/** What Prometheus reads as a counter, or as a part of a histogram. */
const SUFFIX = /_(?:total|sum|count|bucket)$/;

const NAME = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/;

/**
 * The metrics of one process, on a prom-client registry of its own.
 *
 * The registry prints and brings the process metrics. The numbers live in our own children, because a pre-bound child of
 * prom-client hashes its labels again at every increment, which costs a hundred times an addition.
 */
export class Metrics {
  readonly #registry = new Registry();
  readonly #unknownLabels: UnknownLabels;

  constructor(service: string, options: MetricsOptions = {}) {
    this.#unknownLabels = options.unknownLabels ?? 'other';
    this.#registry.setDefaultLabels({ service });
    if (options.processMetrics ?? true) {
      collectDefaultMetrics({ register: this.#registry });
      for (const name of MISNAMED) this.#registry.removeSingleMetric(name);
    }
  }

  /** The media type of `text()`. */
  get contentType(): string {
    return this.#registry.contentType;
  }

  /** @throws Error when the name is taken or badly formed; so do `histogram` and `gauge`. */
  counter<const Sets extends LabelSets = Record<never, never>>(definition: MetricDefinition<Sets>): Counter<Sets> {
    if (!definition.name.endsWith('_total')) throw new Error(`The counter ${definition.name} must end in _total.`);
    const family = this.#family(definition, () => new CounterChild());
    this.#register({ ...definition, type: 'counter', samples: () => counterSamples(family) });
    return new Counter(family);
  }

  /** A counter that is kept elsewhere and only read here, before every scrape. It may never fall. */
  observedCounter(definition: MetricDefinition<Record<never, never>> & { readonly read: () => number }): void {
    const { name, help, read } = definition;
    if (!name.endsWith('_total')) throw new Error(`The counter ${name} must end in _total.`);
    let value = 0;
    const samples = (): Iterable<Sample> => {
      collectQuietly(() => (value = read()));
      return [{ value, labels: {} }];
    };
    this.#register({ name, help, type: 'counter', samples });
  }

  histogram<const Sets extends LabelSets = Record<never, never>>(
    definition: HistogramDefinition<Sets>,
  ): Histogram<Sets> {
    const { name, buckets = REQUEST_SECONDS } = definition;
    const rising = buckets.every((bound, index) => index === 0 || bound > (buckets[index - 1] ?? bound));
    if (buckets.length === 0 || !rising) throw new Error(`The buckets of ${name} must rise.`);
    const family = this.#family(definition, () => new HistogramChild(buckets));
    this.#register({ ...definition, type: 'histogram', samples: () => histogramSamples(name, buckets, family) });
    return new Histogram(family);
  }

  gauge<const Sets extends LabelSets = Record<never, never>>(definition: GaugeDefinition<Sets>): Gauge<Sets> {
    const family = this.#family(definition, () => new GaugeChild());
    const gauge = new Gauge<Sets>(family);
    const samples = (): Iterable<Sample> => {
      collectQuietly(() => definition.collect?.(gauge));
      return gaugeSamples(family);
    };
    this.#register({ ...definition, type: 'gauge', samples });
    return gauge;
  }

  /** Everything in the Prometheus text format. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  #family<Child>(definition: MetricDefinition<LabelSets>, makeChild: () => Child): LabelFamily<Child> {
    const { name, labels: sets = {} } = definition;
    return new LabelFamily({ name, sets, unknownLabels: this.#unknownLabels, makeChild });
  }

  #register(family: Family): void {
    const { name, help, type, samples } = family;
    if (!NAME.test(name)) throw new Error(`${name} is not a metric name in snake case.`);
    if (type !== 'counter' && SUFFIX.test(name)) throw new Error(`The end of ${name} is for another kind of metric.`);
    if (help.trim() === '') throw new Error(`${name} needs a help text.`);
    const metric = { name, help, type, get: () => Promise.resolve({ name, help, type, values: [...samples()] }) };
    // A registry only reads a metric's name and awaits its `get()`; its type asks for prom-client's own classes.
    this.#registry.registerMetric(metric as unknown as Metric);
  }
}

/** A scrape must not fail because one value cannot be asked for. */
function collectQuietly(collect: () => void): void {
  try {
    collect();
  } catch {
    // The last value stands; the health routes are where a broken part is reported.
  }
}
