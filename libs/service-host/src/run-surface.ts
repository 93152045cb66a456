import { randomPool, timeOrderedIds } from '@sealgate/auth';
import { createLog, httpMetrics, logMetrics, Metrics, type LogLevel, type ServiceLog } from '@sealgate/observability';
import { cachedCheck } from './cached-check.ts';
import type { Environment } from './load-config.ts';
import type { ServedApp } from './listener.ts';
import type { Own } from './owner.ts';
import { main, runService, type RunOptions } from './run-service.ts';
import type { Composition, HostChecks, HostConfig, ServiceHealth } from './start-service.ts';
import type { TracingConfig } from './tracing-fields.ts';
import type { TrustedProxies } from './trust-proxy.ts';

export interface SurfaceConfig extends HostConfig {
  readonly logLevel: LogLevel;
  readonly trustProxy: TrustedProxies;
  /** Processes that answer requests; 1 unless the surface lets operators choose. */
  readonly workers?: number;
}

/** What everything in a process is given: settings, time, ids, and where to log and count. */
export interface Basics<Config> {
  readonly config: Config;
  /** Milliseconds since the epoch, with a fraction, so that durations are taken from the same clock. Never goes back. */
  readonly now: () => number;
  readonly newId: (prefix: string) => string;
  readonly log: ServiceLog;
  readonly metrics: Metrics;
  /** What the app of every listener is made with. */
  readonly appBase: {
    readonly log: ServiceLog;
    readonly metrics: ReturnType<typeof httpMetrics>;
    readonly now: () => number;
    readonly newRequestId: () => string;
    readonly trustProxy: TrustedProxies;
    readonly tlsTerminatedUpstream: boolean;
    /** A service compiles the schemas of its routes at first use: it starts in less time and memory. */
    readonly compileSchemas: 'at-start' | 'at-first-use';
  };
}

export interface OpsNeeds extends HostChecks {
  readonly metrics: Pick<Metrics, 'contentType' | 'text'>;
  readonly checkTimeoutMs: number;
  readonly log: ServiceLog;
  readonly now: () => number;
  readonly newRequestId: () => string;
}

export interface SurfaceOptions<Config> {
  readonly name: string;
  readonly readConfig: (environment: Environment) => Config;
  /** `opsApp` of the http library. */
  readonly opsApp: (needs: OpsNeeds) => ServedApp;
  /** How long a probe waits for a check; longer than any check's own deadline. */
  readonly checkTimeoutMs: number;
  /** Opens everything and makes the listeners of it; see `ServiceOptions`. */
  readonly compose: (basics: Basics<Config>, own: Own, checks: HostChecks) => Promise<Composition>;
}

/**
 * The whole of a `main.ts`: reads the settings, opens what every surface has, and runs it until it is told to stop, in as
 * many processes as WORKERS says.
 */
export function runSurface<Config extends SurfaceConfig & TracingConfig>(options: SurfaceOptions<Config>): void {
  main(options.name, async () => {
    const config = options.readConfig(process.env);
    const { workers = 1 } = config;
    if (workers === 1 || process.argv.includes('--check-config')) return runAlone(options, config);
    const { PrimaryLink, runPrimary, runWorker, workerNumber } = await import('./run-workers.ts');
    const { name, opsApp, checkTimeoutMs } = options;
    const number = workerNumber();
    if (number === undefined) {
      const { log, metrics, now, appBase } = openBasics(name, config);
      const ops = { checkTimeoutMs, log, now, newRequestId: appBase.newRequestId };
      const { contentType } = metrics;
      return runPrimary({
        ...{ name, config, log, metrics, now, checkTimeoutMs, workers },
        opsApp: ({ readyInDetail: ready, startup, text }) =>
          opsApp({ ...ops, ready, startup, metrics: { contentType, text } }),
      });
    }
    const primary = new PrimaryLink(checkTimeoutMs);
    const worker = number === 1 ? config : withoutSingleWork(config);
    return runWorker({ ...serviceOf(options, openBasics(name, worker, { number, wholeText: primary.text })), primary });
  });
}

const runAlone = <Config extends SurfaceConfig & TracingConfig>(options: SurfaceOptions<Config>, config: Config) =>
  runService(serviceOf(options, openBasics(options.name, config)));

function serviceOf<Config extends SurfaceConfig & TracingConfig>(
  { name, opsApp, checkTimeoutMs, compose }: SurfaceOptions<Config>,
  basics: Basics<Config>,
): RunOptions {
  const { config, log, metrics, now, appBase } = basics;
  const ops = { metrics, checkTimeoutMs, log, now, newRequestId: appBase.newRequestId };
  return {
    ...{ name, config, log, metrics },
    opsApp: (checks) => opsApp({ ...ops, ...checks }),
    compose: (own, checks) => compose(basics, own, checks),
  };
}

/** What one worker does for all: it has the admin listener, and the folder of checkpoints, without which none are signed. */
function withoutSingleWork<Config extends SurfaceConfig>(config: Config): Config {
  return Object.freeze({ ...config, adminPort: undefined, checkpointDir: undefined });
}

function openBasics<Config extends SurfaceConfig>(
  name: string,
  config: Config,
  worker?: { readonly number: number; readonly wholeText: () => Promise<string> },
): Basics<Config> {
  const now = () => performance.timeOrigin + performance.now();
  const fields = worker === undefined ? {} : { worker: worker.number };
  const log = createLog({ service: name, level: config.logLevel, stream: process.stdout, now, fields });
  const whole = worker === undefined ? {} : { wholeText: worker.wholeText };
  const metrics = new Metrics(name, { unknownLabels: 'other', ...whole });
  logMetrics(metrics, log);
  return basicsOf({ config, now, log, metrics }, 'at-first-use');
}

/** The rest of them, made of what a test opens its own of. */
export function basicsOf<Config extends SurfaceConfig>(
  given: Pick<Basics<Config>, 'config' | 'now' | 'log' | 'metrics'>,
  compileSchemas: 'at-start' | 'at-first-use' = 'at-start',
): Basics<Config> {
  const { config, now, log, metrics } = given;
  const { trustProxy, tlsTerminatedUpstream } = config;
  const newId = timeOrderedIds(now, randomPool());
  const newRequestId = () => newId('req_');
  const proxies = { trustProxy, tlsTerminatedUpstream };
  const appBase = { log, metrics: httpMetrics(metrics), now, newRequestId, ...proxies, compileSchemas };
  return { ...given, newId, appBase };
}

export interface ReadinessOptions {
  /** What is wrong with the database; undefined where nothing is. The ledger is then not asked. */
  readonly database: () => Promise<string | undefined>;
  readonly ledger: () => Promise<LedgerState>;
  /** Who decides limits: told as it is now. */
  readonly limits: { readonly state: string };
  /** What is wrong where neither answers in time. */
  readonly otherwise: string;
  readonly deadlineMs: number;
  readonly now: () => number;
}

/** A ledger that works may still have a problem to report: a channel that is halted. */
interface LedgerState {
  readonly ok: boolean;
  readonly problem: string | null;
  readonly contracts?: object;
}

const KEEP_CHECK_MS = 900;

/** Ready where the database answers and the ledger works. Asked once at a time; an answer is given again for a while. */
export function readiness(options: ReadinessOptions): () => Promise<ServiceHealth> {
  const { database, ledger, limits, otherwise, deadlineMs, now } = options;
  const look = cachedCheck<LedgerState>({
    ...{ deadlineMs, keepMs: KEEP_CHECK_MS, now },
    otherwise: { ok: false, problem: otherwise },
    async check() {
      const fault = await database();
      return fault === undefined ? ledger() : { ok: false, problem: fault };
    },
  });
  return async () => {
    const { ok, problem, contracts } = await look();
    const listed = contracts === undefined ? {} : { contracts };
    if (!ok) return { ok, body: { status: 'not ready', problem, ...listed } };
    return { ok, body: { status: 'ready', ...(problem === null ? {} : { problem }), ...listed, limits: limits.state } };
  };
}
