import type { Metrics } from './metrics.ts';

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
