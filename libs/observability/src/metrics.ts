import * as prom from 'prom-client';
import { buildInfo } from './build-info.ts';
import { ClosedLabels, type Labels, type LabelSets, type UnknownLabels } from './closed-labels.ts';

/** Upper bounds in seconds that fit a request: from a millisecond to the longest a request may take. */
export const REQUEST_SECONDS: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];

export interface MetricsOptions {
  /** `throw` in tests, `other` (the default) in production. */
  readonly unknownLabels?: UnknownLabels;
  /** What runs, and CPU, memory, event loop lag, garbage collection and handles of this process. On unless said otherwise. */
  readonly processMetrics?: boolean;
  /** What `text` gives in place of the metrics of this process, where it is one of several workers: those of all. */
  readonly wholeText?: () => Promise<string>;
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
  /**
   * What one value is made of those of several workers: `sum` of what each has of its own, `max` or `min` of what all look
   * at, whichever is worse. Counters and histograms are always summed.
   */
  readonly aggregator: 'sum' | 'max' | 'min';
  /** Called before every scrape, to set what is only known by asking. Must not wait. When it throws, nothing is set. */
  readonly collect?: (gauge: Gauge<Sets>) => void;
}

/** One combination of label values of a counter, bound: fit for the path of every request. */
export interface CounterChild {
  /** @throws RangeError when `amount` is negative or not a number: a counter only grows. */
  inc(amount?: number): void;
}

/** A number that only grows while the process lives. Bind a child once where it is hot. */
export interface Counter<Sets extends LabelSets> {
  /** The counter of one combination; it is exposed as 0 from now on, so that the first increase is seen as one. */
  child(labels: Labels<Sets>): CounterChild;
  /** Looks the child up at every call; for what is not hot. */
  inc(labels: Labels<Sets>, amount?: number): void;
}

export interface GaugeChild {
  set(value: number): void;
  inc(amount?: number): void;
  dec(amount?: number): void;
}

/** A number that goes up and down. */
export interface Gauge<Sets extends LabelSets> {
  child(labels: Labels<Sets>): GaugeChild;
  set(labels: Labels<Sets>, value: number): void;
}

/** One combination of label values of a histogram, bound. */
export interface HistogramChild {
  /** @throws TypeError when the value is not a finite number. */
  observe(value: number): void;
}

/** A distribution over fixed buckets. Bind a child once where it is hot. */
export interface Histogram<Sets extends LabelSets> {
  child(labels: Labels<Sets>): HistogramChild;
  /** Looks the child up at every call; for what is not hot. */
  observe(labels: Labels<Sets>, value: number): void;
}

/** The metrics of one process at one moment. */
export type MetricsSnapshot = prom.MetricObjectWithValues<prom.MetricValue<string>>[];

/** Gauges of prom-client that are named as counters; each is the sum of one that is there by type. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

/** What Prometheus reads as a counter, or as a part of a histogram. */
const SUFFIX = /_(?:total|sum|count|bucket)$/;

const NAME = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/;

/**
 * The metrics of one process: prom-client on a registry of its own, behind labels whose values come from closed sets.
 */
export class Metrics {
  readonly #registry = new prom.Registry();
  readonly #unknownLabels: UnknownLabels;
  readonly #wholeText: (() => Promise<string>) | undefined;

  constructor(service: string, options: MetricsOptions = {}) {
    this.#unknownLabels = options.unknownLabels ?? 'other';
    this.#wholeText = options.wholeText;
    this.#registry.setDefaultLabels({ service });
    if (options.processMetrics ?? true) {
      prom.collectDefaultMetrics({ register: this.#registry });
      for (const name of MISNAMED) this.#registry.removeSingleMetric(name);
      this.#setProcessAggregators();
      this.#tellBuild();
    }
  }

  /** As prom-client has them, the start would be left out, and a lag averaged with that of a process that does nothing. */
  #setProcessAggregators(): void {
    for (const metric of this.#registry.getMetricsAsArray()) {
      const changed = { omit: 'min', average: 'max' }[String(metric.aggregator)];
      if (changed !== undefined) Object.assign(metric, { aggregator: changed });
    }
  }

  #tellBuild(): void {
    const { version, commit, node } = buildInfo;
    this.gauge({
      name: 'sealgate_build_info',
      help: 'Always 1; its labels say what runs.',
      aggregator: 'max',
      labels: { version: [version], commit: [commit ?? 'unknown'], node: [node] },
    })
      .child({ version, commit: commit ?? 'unknown', node })
      .set(1);
  }

  /** The media type of `text()`. */
  get contentType(): string {
    return this.#registry.contentType;
  }

  /** @throws Error when the name is taken or badly formed; so do `histogram` and `gauge`. */
  counter<const Sets extends LabelSets = Record<never, never>>(definition: MetricDefinition<Sets>): Counter<Sets> {
    const counter = new prom.Counter(this.#configured(definition, 'counter'));
    const labels = this.#labels(definition, (values) => {
      const bound = counter.labels(values);
      bound.inc(0);
      return {
        inc(amount = 1) {
          if (!(amount >= 0)) throw new RangeError('A counter only grows.');
          bound.inc(amount);
        },
      };
    });
    return {
      child: (values) => labels.declare(values),
      inc: (values, amount) => labels.find(values).inc(amount),
    };
  }

  /** A counter that is kept elsewhere and only read here, before every scrape. It may never fall. */
  observedCounter(definition: MetricDefinition<Record<never, never>> & { readonly read: () => number }): void {
    const collect = function (this: prom.Counter): void {
      collectQuietly(() => {
        const value = definition.read();
        this.reset();
        this.inc(value);
      });
    };
    new prom.Counter({ ...this.#configured(definition, 'counter'), collect });
  }

  histogram<const Sets extends LabelSets = Record<never, never>>(
    definition: HistogramDefinition<Sets>,
  ): Histogram<Sets> {
    const { name, buckets = REQUEST_SECONDS } = definition;
    const rising = buckets.every((bound, index) => index === 0 || bound > (buckets[index - 1] ?? bound));
    if (buckets.length === 0 || !rising) throw new Error(`The buckets of ${name} must rise.`);
    const histogram = new prom.Histogram({ ...this.#configured(definition, 'histogram'), buckets: [...buckets] });
    const labels = this.#labels(definition, (values) => {
      histogram.zero(values);
      return histogram.labels(values);
    });
    return {
      child: (values) => labels.declare(values),
      observe: (values, value) => labels.find(values).observe(value),
    };
  }

  gauge<const Sets extends LabelSets = Record<never, never>>(definition: GaugeDefinition<Sets>): Gauge<Sets> {
    const collect = (): void => collectQuietly(() => definition.collect?.(gauge));
    const { aggregator } = definition;
    const inner = new prom.Gauge({ ...this.#configured(definition, 'gauge'), aggregator, collect });
    const labels = this.#labels(definition, (values) => {
      const bound = inner.labels(values);
      bound.set(0);
      return bound;
    });
    const gauge: Gauge<Sets> = {
      child: (values) => labels.declare(values),
      set: (values, value) => labels.find(values).set(value),
    };
    return gauge;
  }

  /** Everything in the Prometheus text format. */
  text(): Promise<string> {
    return this.#wholeText === undefined ? this.#registry.metrics() : this.#wholeText();
  }

  /** Every metric with its values, as plain objects that can be sent to another process: see `WorkerMetrics`. */
  snapshot(): Promise<MetricsSnapshot> {
    return this.#registry.getMetricsAsJSON();
  }

  #labels<Child>(
    { name, labels = {} }: MetricDefinition<LabelSets>,
    makeChild: (values: Record<string, string>) => Child,
  ): ClosedLabels<Child> {
    return new ClosedLabels({ name, sets: labels, unknownLabels: this.#unknownLabels, makeChild });
  }

  #configured({ name, help, labels = {} }: MetricDefinition<LabelSets>, type: 'counter' | 'gauge' | 'histogram') {
    if (type === 'counter' && !name.endsWith('_total')) throw new Error(`The counter ${name} must end in _total.`);
    if (!NAME.test(name)) throw new Error(`${name} is not a metric name in snake case.`);
    if (type !== 'counter' && SUFFIX.test(name)) throw new Error(`The end of ${name} is for another kind of metric.`);
    if (help.trim() === '') throw new Error(`${name} needs a help text.`);
    return { name, help, labelNames: Object.keys(labels), registers: [this.#registry] };
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

const STATUS_CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx'] as const;
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'other'] as const;

/** The metrics of one route, bound once at boot. */
export interface RouteMetrics {
  /** Counts one answered request. A status outside 100-599 counts as 5xx: it is a bug. */
  observe(status: number, durationMs: number): void;
}

export interface HttpMetrics {
  /**
   * The counters of one route, declared at boot by its template (`/{networkId}`), never by a URL. Where no route matched,
   * the template is `none`. Methods outside the usual seven count as `other`.
   */
  route(method: string, template: string): RouteMetrics;
}

/**
 * `http_requests_total{route,method,status}` with the class of the status (`2xx`) and
 * `http_request_duration_seconds{route,method}`: request rate, error share and percentiles by route group.
 */
export function httpMetrics(metrics: Metrics): HttpMetrics {
  const requests = metrics.counter({
    name: 'http_requests_total',
    help: 'Answered requests by route template, method and class of status.',
    labels: { route: 'declared', method: METHODS, status: STATUS_CLASSES },
  });
  const seconds = metrics.histogram({
    name: 'http_request_duration_seconds',
    help: 'Seconds from the first byte of a request to the last of its answer.',
    labels: { route: 'declared', method: METHODS },
  });
  return {
    route: (method, template) => {
      const labels = { route: template, method: METHODS.find((known) => known === method.toUpperCase()) ?? 'other' };
      const byStatusClass = STATUS_CLASSES.map((status) => requests.child({ ...labels, status }));
      const ofRoute = seconds.child(labels);
      return {
        observe(status, durationMs) {
          (byStatusClass[Math.floor(status / 100) - 1] ?? byStatusClass[4])?.inc();
          ofRoute.observe(durationMs / 1000);
        },
      };
    },
  };
}
