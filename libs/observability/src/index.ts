export { buildInfo, createLog, LOG_LEVELS, logMetrics, type Log, type LogLevel, type ServiceLog } from './log.ts';
export { httpMetrics, type RequestLog, type RequestRecord, type RouteMetrics } from './request-record.ts';
export { Metrics, REQUEST_SECONDS, WorkerMetrics, type MetricsSnapshot } from './metrics.ts';
export { type LogFields } from './safe-fields.ts';
export {
  activeSpan,
  failureType,
  inSpan,
  spanChannel,
  startSpan,
  withSpan,
  type Span,
  type SpanMessage,
  type SpanStart,
} from './span.ts';
