export { buildInfo } from './build-info.ts';
export {
  createLog,
  LOG_LEVELS,
  logMetrics,
  processClock,
  type Log,
  type LogLevel,
  type RequestLog,
  type RequestRecord,
  type ServiceLog,
} from './log.ts';
export { httpMetrics, Metrics, REQUEST_SECONDS, type RouteMetrics } from './metrics.ts';
export { safeText, type LogFields } from './safe-fields.ts';
export {
  activeSpan,
  failureType,
  inSpan,
  newTraceparent,
  spanChannel,
  startSpan,
  traceIdOf,
  withSpan,
  type Span,
  type SpanMessage,
  type SpanStart,
} from './span.ts';
