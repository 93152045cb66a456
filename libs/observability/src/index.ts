export { buildInfo, type BuildInfo } from './build-info.ts';
export type { HttpMetrics, RouteMetrics } from './metrics.ts';
export { httpMetrics } from './metrics.ts';
export type { Labels, LabelSets, LabelValues, UnknownLabels } from './closed-labels.ts';
export { createLog, LOG_LEVELS } from './log.ts';
export type { Log, LogLevel, LogOptions, ServiceLog } from './log.ts';
export { logMetrics } from './log-metrics.ts';
export { Metrics, REQUEST_SECONDS } from './metrics.ts';
export type {
  Counter,
  CounterChild,
  Gauge,
  GaugeChild,
  GaugeDefinition,
  Histogram,
  HistogramChild,
  HistogramDefinition,
  MetricDefinition,
  MetricsOptions,
  MetricsSnapshot,
} from './metrics.ts';
export { isSecretName, REDACTED, redactText } from './redact.ts';
export type { RequestLog, RequestRecord } from './request-record.ts';
export type { LogFields } from './safe-fields.ts';
export { activeSpan, failureType, inSpan, spanChannel, startSpan, withSpan } from './span.ts';
export type { Span, SpanAttributes, SpanMessage, SpanStart } from './span.ts';
export { WorkerMetrics } from './worker-metrics.ts';
