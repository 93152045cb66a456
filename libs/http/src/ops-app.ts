import { buildInfo, type Log } from '@sealgate/observability';
import { Type } from '@sinclair/typebox';
import { type App, createApp } from './create-app.ts';
import type { Meters } from './mounted-route.ts';
import { type Reply, type Route, routeFor } from './route.ts';
import { named, openObject } from './schemas.ts';

/** Health of a part of the process. The body is for people and holds no secret. */
interface Health {
  readonly ok: boolean;
  /** Absent: `{"status": "healthy"}` or `{"status": "unhealthy"}`. */
  readonly body?: object;
}

interface OpsChecks {
  /** Whether this process may receive traffic. */
  ready(): Health | Promise<Health>;
  /** Whether it has finished starting. */
  startup(): Health | Promise<Health>;
}

/** The part of the `Metrics` registry that is served. */
interface MetricsText {
  readonly contentType: string;
  text(): Promise<string>;
}

export interface OpsOptions extends OpsChecks {
  readonly metrics: MetricsText;
  /** Timeout of a check; after it the check counts as unhealthy. */
  readonly checkTimeoutMs: number;
}

export interface OpsAppOptions extends OpsOptions {
  readonly log: Log;
  readonly now: () => number;
  readonly newId: (prefix: string) => string;
}

/** Other members are for people. */
const HealthState = named('HealthState', Type.Object({ status: Type.String() }, { additionalProperties: true }));

/** Constant: liveness only means that the process answers, and checks nothing else. */
const ALIVE = '{"status":"alive"}';

/**
 * Creates the app for probes and scrapers: /metrics, /health/live, /health/ready, /health/startup, /version, nothing
 * else.
 */
export function opsApp(options: OpsAppOptions): App {
  const { log, now, newId } = options;
  return createApp<never>({
    routes: [...opsRoutes<never>(options), versionRoute()],
    guard: undefined,
    // Probes come every few seconds, so they are neither logged nor counted.
    log: { ...log, requests: { write: () => undefined } },
    metrics: UNCOUNTED,
    now,
    newId,
    trustProxy: false,
    tlsTerminatedUpstream: false,
    head: true,
    // Metrics of a hundred routes compress to a tenth.
    compress: true,
  });
}

const UNCOUNTED: Meters = { route: () => ({ observe: () => undefined }) };

function versionRoute(): Route<never> {
  return routeFor<never>()({
    method: 'get',
    path: '/version',
    operationId: 'version',
    summary: 'Get the release, its commit and the Node version',
    permit: 'open',
    charge: 'none',
    idempotency: 'none',
    errors: [],
    query: 'ignored',
    responses: { 200: { description: 'The running version.', schema: openObject() } },
    handler: () => ({ status: 200, body: buildInfo }),
  });
}

/** The same routes without /version, for a surface that also serves them on its public listener. */
export function opsRoutes<Caller>(options: OpsOptions): Route<Caller>[] {
  const route = routeFor<Caller>();
  const open = { method: 'get', permit: 'open', charge: 'none', idempotency: 'none', errors: [] } as const;
  const probe = (path: string, operationId: string, summary: string, check: () => Health | Promise<Health>) =>
    route({
      ...open,
      path,
      operationId,
      summary,
      query: 'ignored',
      responses: {
        200: { description: 'Yes.', schema: HealthState },
        503: { description: 'No.', schema: HealthState },
      },
      handler: () => healthReply(check, options.checkTimeoutMs),
    });
  const metricsText = shared(() => options.metrics.text());
  return [
    route({
      ...open,
      path: '/health/live',
      operationId: 'healthLive',
      summary: 'Liveness probe',
      query: 'ignored',
      responses: { 200: { description: 'Always.', schema: HealthState } },
      handler: () => ({ status: 200, body: ALIVE }),
    }),
    probe('/health/ready', 'healthReady', 'Readiness probe', () => options.ready()),
    probe('/health/startup', 'healthStartup', 'Startup probe', () => options.startup()),
    route({
      ...open,
      path: '/metrics',
      operationId: 'metrics',
      summary: 'Metrics in the Prometheus text format',
      query: 'ignored',
      responses: { 200: { description: 'The metrics.', contentType: options.metrics.contentType } },
      handler: async () => ({
        status: 200,
        body: await metricsText(),
        contentType: options.metrics.contentType,
      }),
    }),
  ];
}

/** Concurrent calls share one run, so that many scrapes at once cost no more than one. */
function shared(make: () => Promise<string>): () => Promise<string> {
  let running: Promise<string> | undefined;
  return () => (running ??= make().finally(() => (running = undefined)));
}

/** Plain JSON: probes use only the status, and a problem would require a Retry-After. */
async function healthReply(check: () => Health | Promise<Health>, timeoutMs: number): Promise<Reply> {
  const health = await withinTime(check, timeoutMs);
  const body = health.body ?? { status: health.ok ? 'healthy' : 'unhealthy' };
  return { status: health.ok ? 200 : 503, body };
}

function withinTime(check: () => Health | Promise<Health>, timeoutMs: number): Promise<Health> {
  const unhealthy = (reason: string): Health => ({ ok: false, body: { status: 'unhealthy', reason } });
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(unhealthy('the check took too long')), timeoutMs);
    const settle = (health: Health) => {
      clearTimeout(timer);
      resolve(health);
    };
    // Async, so that a synchronous throw is handled like a rejection.
    const run = async () => check();
    void run().then(settle, () => settle(unhealthy('the check failed')));
  });
}
