import * as prom from 'prom-client';
import { ClosedLabels, type Labels, type LabelSets, type UnknownLabels } from './closed-labels.ts';
import { buildInfo } from './build-info.ts';

/** Histogram buckets in seconds for requests, up to the longest request. */
export const REQUEST_SECONDS: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];

interface MetricDefinition<Sets extends LabelSets> {
  /** Snake case with the unit last: `_total` for counters, `_seconds` or `_bytes` for histograms. */
  readonly name: string;
  readonly help: string;
  readonly labels?: Sets;
}

interface CounterDefinition<Sets extends LabelSets> extends MetricDefinition<Sets> {
  /**
   * Whether a child is exposed as 0 at once (default), so that its first increase is visible to `increase` and `rate`. If
   * not, it is exposed from its first `inc` on, also by 0: for many series of which a process uses few.
   */
  readonly zero?: boolean;
}

interface HistogramDefinition<Sets extends LabelSets> extends MetricDefinition<Sets> {
  /** Ascending upper bounds; default `REQUEST_SECONDS`. */
  readonly buckets?: readonly number[];
}

interface GaugeDefinition<Sets extends LabelSets> extends MetricDefinition<Sets> {
  /** Called before every scrape, to set values on demand. Must be synchronous. If it throws, nothing is set. */
  readonly collect?: (gauge: Gauge<Sets>) => void;
}

/** A counter bound to one combination of label values, for hot paths. */
interface CounterChild {
  /** @throws RangeError when `amount` is negative or NaN. */
  inc(amount?: number): void;
}

/** A monotonically increasing number. Bind children once on hot paths. */
interface Counter<Sets extends LabelSets> {
  /** The counter of one combination. See `zero`. */
  child(labels: Labels<Sets>): CounterChild;
  /** Looks the child up at every call; for what is not hot. */
  inc(labels: Labels<Sets>, amount?: number): void;
}

/** A number that goes up and down. */
interface Gauge<Sets extends LabelSets> {
  child(labels: Labels<Sets>): { set(value: number): void; inc(amount?: number): void; dec(amount?: number): void };
  set(labels: Labels<Sets>, value: number): void;
}

/** A histogram bound to one combination of label values. */
interface HistogramChild {
  /** @throws TypeError when the value is not a finite number. */
  observe(value: number): void;
}

/** A distribution over fixed buckets, exposed from its first value on. Bind children once on hot paths. */
interface Histogram<Sets extends LabelSets> {
  child(labels: Labels<Sets>): HistogramChild;
  /** Looks the child up at every call; for what is not hot. */
  observe(labels: Labels<Sets>, value: number): void;
}

/** Gauges of prom-client that are named like counters; each is the sum of another metric by type. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

/** Suffixes that Prometheus reserves for counters and parts of histograms. */
const SUFFIX = /_(?:total|sum|count|bucket)$/;

const NAME = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/;

/** The metrics of one process: a prom-client registry behind labels with closed sets of values. */
export class Metrics {
  readonly #registry = new prom.Registry();
  readonly #unknownLabels: UnknownLabels;

  constructor(
    service: string,
    options: {
      /** `throw` in tests, `other` (the default) in production. */
      readonly unknownLabels?: UnknownLabels;
      /** Build info, CPU, memory, event loop lag, garbage collection and handles of this process. Default true. */
      readonly processMetrics?: boolean;
    } = {},
  ) {
    this.#unknownLabels = options.unknownLabels ?? 'other';
    this.#registry.setDefaultLabels({ service });
    if (options.processMetrics ?? true) {
      prom.collectDefaultMetrics({ register: this.#registry });
      for (const name of MISNAMED) this.#registry.removeSingleMetric(name);
      this.#registerBuildInfo();
    }
  }

  #registerBuildInfo(): void {
    const { version, commit, node } = buildInfo;
    this.gauge({
      name: 'sealgate_build_info',
      help: 'Always 1; labels identify the running build.',
      labels: { version: [version], commit: [commit ?? 'unknown'], node: [node] },
    })
      .child({ version, commit: commit ?? 'unknown', node })
      .set(1);
  }

  /** The media type of `text()`. */
  get contentType(): string {
    return this.#registry.contentType;
  }

  /** @throws Error when the name is taken or malformed; so do `histogram` and `gauge`. */
  counter<const Sets extends LabelSets = Record<never, never>>(definition: CounterDefinition<Sets>): Counter<Sets> {
    const counter = new prom.Counter(this.#configured(definition, 'counter'));
    const labels = this.#labels(definition, (values) => {
      const bound = counter.labels(values);
      if (definition.zero !== false) bound.inc(0);
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

  /** A counter maintained elsewhere and read before every scrape. It must never decrease. */
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
    // Exposed from the first value on: a histogram is some twenty series, and most routes are never used.
    const labels = this.#labels(definition, (values) => histogram.labels(values));
    return {
      child: (values) => labels.declare(values),
      observe: (values, value) => labels.find(values).observe(value),
    };
  }

  /** A number maintained elsewhere and read before every scrape; while it is undefined, the last one is shown. */
  observedGauge({
    read,
    ...definition
  }: MetricDefinition<Record<never, never>> & { readonly read: () => number | undefined }): void {
    const collect = (gauge: Gauge<Record<never, never>>): void => {
      const value = read();
      if (value !== undefined) gauge.set({}, value);
    };
    this.gauge({ ...definition, collect });
  }

  gauge<const Sets extends LabelSets = Record<never, never>>(definition: GaugeDefinition<Sets>): Gauge<Sets> {
    const collect = (): void => collectQuietly(() => definition.collect?.(gauge));
    const inner = new prom.Gauge({ ...this.#configured(definition, 'gauge'), collect });
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

  /** All metrics in the Prometheus text format. */
  text(): Promise<string> {
    return this.#registry.metrics();
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

/** A scrape must not fail because of one value. */
function collectQuietly(collect: () => void): void {
  try {
    collect();
  } catch {
    // Keep the last value; health routes report broken parts.
  }
}

const STATUS_CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx'] as const;
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'other'] as const;

/** The metrics of one route, bound once at boot. */
export interface RouteMetrics {
  /** Counts one answered request. A status outside 100-599 counts as 5xx: it is a bug. */
  observe(status: number, durationMs: number): void;
}

interface HttpMetrics {
  /**
   * Metrics of one route, declared at boot by its template (`/{networkId}`), never by a URL. The template is `none` if
   * no route matched. Unknown methods count as `other`.
   */
  route(method: string, template: string): RouteMetrics;
}

/**
 * `http_requests_total{route,method,status}` with the status class (`2xx`) and
 * `http_request_duration_seconds{route,method}`: request rate, error ratio and percentiles by route. A route is exposed from
 * its first request on.
 */
export function httpMetrics(metrics: Metrics): HttpMetrics {
  const requests = metrics.counter({
    name: 'http_requests_total',
    help: 'Answered requests by route template, method and status class.',
    labels: { route: 'declared', method: METHODS, status: STATUS_CLASSES },
    zero: false,
  });
  const seconds = metrics.histogram({
    name: 'http_request_duration_seconds',
    help: 'Seconds from the first byte of a request to the last byte of its answer.',
    labels: { route: 'declared', method: METHODS },
  });
  return {
    route: (method, template) => {
      const labels = { route: template, method: METHODS.find((known) => known === method.toUpperCase()) ?? 'other' };
      const byStatusClass = STATUS_CLASSES.map((status) => requests.child({ ...labels, status }));
      const ofRoute = seconds.child(labels);
      let isUsed = false;
      return {
        observe(status, durationMs) {
          // From the first request on all classes are exposed, so that the first error after it is an increase.
          if (!isUsed) for (const counter of byStatusClass) counter.inc(0);
          isUsed = true;
          (byStatusClass[Math.floor(status / 100) - 1] ?? byStatusClass[4])?.inc();
          ofRoute.observe(durationMs / 1000);
        },
      };
    },
  };
}
