import type { Metrics } from './metrics.ts';
import { safeText, SHORTEST_KEY_LENGTH } from './safe-fields.ts';

/**
 * The log record of one request: a closed set of members, filled while the request runs and written once at its end.
 *
 * It has no member for a body, a header, a query string or a key. Values chosen by a sender (`requestId`) are still
 * searched for keys.
 */
export interface RequestRecord {
  method: string;
  /** The template (`/{networkId}`), never the URL; `none` if no route matched. */
  route: string;
  status: number;
  durationMs: number;
  requestId: string;
  /** W3C trace id, 32 hex digits. */
  traceId?: string;
  /** Problem code of a refusal. */
  code?: string;
  keyId?: string;
  orgId?: string;
  networkId?: string;
  environment?: string;
  /** Client address, for requests without an authenticated caller. */
  clientAddress?: string;
  bytesIn?: number;
  bytesOut?: number;
  /** Number of records in the write. */
  records?: number;
  strippedFields?: number;
  eventId?: string;
  /** True if a stored answer was replayed. */
  replayed?: boolean;
  /** Outcome of a decision (`allow`, `deny`, `committed`, `unknown`), from a closed set of the surface. */
  outcome?: string;
  /** Name of the MCP tool called. */
  tool?: string;
}

/** Receives one record per request, at its end. */
export interface RequestLog {
  /** Renders the record at once, so that it may be reused. Never throws, never waits. */
  write(record: RequestRecord): void;
}

/**
 * The log line of a request: the members of `RequestRecord` in fixed order, redacted. A single literal, since
 * `JSON.stringify` is twice as slow for an object built incrementally.
 */
export function requestLine(time: string, service: string, record: RequestRecord): Readonly<Record<string, unknown>> {
  return {
    time,
    level: 'info',
    service,
    event: 'request',
    method: textOf(record.method),
    route: textOf(record.route),
    status: record.status,
    durationMs: record.durationMs >= 0 ? Math.round(record.durationMs * 1000) / 1000 : null,
    requestId: textOf(record.requestId),
    traceId: textOf(record.traceId),
    code: textOf(record.code),
    keyId: textOf(record.keyId),
    orgId: textOf(record.orgId),
    networkId: textOf(record.networkId),
    environment: textOf(record.environment),
    clientAddress: textOf(record.clientAddress),
    bytesIn: record.bytesIn,
    bytesOut: record.bytesOut,
    records: record.records,
    strippedFields: record.strippedFields,
    eventId: textOf(record.eventId),
    replayed: record.replayed,
    outcome: textOf(record.outcome),
    tool: textOf(record.tool),
  };
}

function textOf(text: string | undefined): string | undefined {
  return text === undefined || text.length < SHORTEST_KEY_LENGTH ? text : safeText(text);
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
 * `http_request_duration_seconds{route,method}`: request rate, error ratio and percentiles by route.
 */
export function httpMetrics(metrics: Metrics): HttpMetrics {
  const requests = metrics.counter({
    name: 'http_requests_total',
    help: 'Answered requests by route template, method and status class.',
    labels: { route: 'declared', method: METHODS, status: STATUS_CLASSES },
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
      return {
        observe(status, durationMs) {
          (byStatusClass[Math.floor(status / 100) - 1] ?? byStatusClass[4])?.inc();
          ofRoute.observe(durationMs / 1000);
        },
      };
    },
  };
}
