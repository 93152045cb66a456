import { buildInfo, type Log } from '@sealgate/observability';
import { createApp, type App } from './create-app.ts';
import type { Meters } from './mounted-route.ts';
import type { Reply } from './reply.ts';
import { routeFor, type Route } from './route.ts';

/** How a part of the process is. The body says more than the status to whoever reads it; it holds no secret. */
export interface Health {
  readonly ok: boolean;
  /** Absent: `{"status": "healthy"}` or `{"status": "unhealthy"}`. */
  readonly body?: object;
}

export interface OpsChecks {
  /** Whether this process may be given traffic. */
  ready(): Health | Promise<Health>;
  /** Whether it has finished starting. */
  startup(): Health | Promise<Health>;
}

/** The registry of `Metrics`, as far as it is served. */
export interface MetricsText {
  readonly contentType: string;
  text(): Promise<string>;
}

export interface OpsOptions extends OpsChecks {
  readonly metrics: MetricsText;
  /** How long a check may take before it counts as unhealthy. */
  readonly checkTimeoutMs: number;
}

export interface OpsAppOptions extends OpsOptions {
  readonly log: Log;
  readonly now: () => number;
  readonly newRequestId: () => string;
}

/** Exactly this, whatever else is wrong: it says that the process answers, and touches nothing to say so. */
const ALIVE = '{"status":"alive"}';

/** The listener for probes and scrapers: /metrics, /health/live, /health/ready, /health/startup, /version, nothing else. */
export function opsApp(options: OpsAppOptions): App {
  const { log, now, newRequestId } = options;
  return createApp<never>({
    routes: [...opsRoutes<never>(options), versionRoute()],
    guard: undefined,
    // A probe every few seconds is no news: it is neither logged nor counted.
    log: { ...log, requests: { write: () => undefined } },
    metrics: UNCOUNTED,
    now,
    newRequestId,
    trustProxy: false,
    tlsTerminatedUpstream: false,
    head: true,
  });
}

const UNCOUNTED: Meters = { route: () => ({ observe: () => undefined }) };

function versionRoute(): Route<never> {
  return routeFor<never>()({
    method: 'get',
    path: '/version',
    operationId: 'version',
    summary: 'Which release runs, built from which commit, on which Node',
    permit: 'open',
    charge: 'none',
    idempotency: 'none',
    errors: [],
    query: 'ignored',
    responses: { 200: { description: 'What runs.', contentType: 'application/json' } },
    handler: () => ({ status: 200, body: buildInfo }),
  });
}

/** The same routes without the version, for a surface that documents them on its public listener too. */
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
        200: { description: 'Yes.', contentType: 'application/json' },
        503: { description: 'No.', contentType: 'application/json' },
      },
      handler: () => healthReply(check, options.checkTimeoutMs),
    });
  const metricsText = shared(() => options.metrics.text());
  return [
    route({
      ...open,
      path: '/health/live',
      operationId: 'healthLive',
      summary: 'Whether the process answers',
      query: 'ignored',
      responses: { 200: { description: 'Always.', contentType: 'application/json' } },
      handler: () => ({ status: 200, body: ALIVE }),
    }),
    probe('/health/ready', 'healthReady', 'Whether it may be given traffic', () => options.ready()),
    probe('/health/startup', 'healthStartup', 'Whether it has finished starting', () => options.startup()),
    route({
      ...open,
      path: '/metrics',
      operationId: 'metrics',
      summary: 'Counters in the Prometheus text format',
      query: 'ignored',
      responses: { 200: { description: 'The counters.', contentType: options.metrics.contentType } },
      handler: async () => ({
        status: 200,
        body: await metricsText(),
        contentType: options.metrics.contentType,
      }),
    }),
  ];
}

/** Whoever asks while a text is being made is given the same one, so that many who ask at once cost no more than one. */
function shared(make: () => Promise<string>): () => Promise<string> {
  let running: Promise<string> | undefined;
  return () => (running ??= make().finally(() => (running = undefined)));
}

/** Plain JSON: a probe looks at the status alone, and a problem document would promise a Retry-After nobody knows. */
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
    // Async, so that a check that throws at once fails like one that rejects.
    const run = async () => check();
    void run().then(settle, () => settle(unhealthy('the check failed')));
  });
}
