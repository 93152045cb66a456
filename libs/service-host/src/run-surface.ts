import { randomPool, timeOrderedIds } from '@sealgate/auth';
import { Deciding } from '@sealgate/http';
import {
  createLog,
  httpMetrics,
  type LogLevel,
  logMetrics,
  Metrics,
  processClock,
  type ServiceLog,
} from '@sealgate/observability';
import type { TracingConfig, TrustedProxies } from './listener-fields.ts';
import type { ServedApp } from './listener.ts';
import type { Environment } from './load-config.ts';
import { main, type RunOptions, runService } from './run-service.ts';
import type { Composition, HostChecks, HostConfig, Own, ServiceHealth } from './start-service.ts';

interface SurfaceConfig extends HostConfig {
  readonly logLevel: LogLevel;
  readonly trustProxy: TrustedProxies;
}

/** The basics of a process: settings, clock, ids, log and metrics. */
export interface Basics<Config> {
  readonly config: Config;
  /** `processClock`. */
  readonly now: () => number;
  readonly newId: (prefix: string) => string;
  readonly log: ServiceLog;
  readonly metrics: Metrics;
  /** Options shared by the apps of all listeners. */
  readonly appBase: {
    readonly log: ServiceLog;
    readonly metrics: ReturnType<typeof httpMetrics>;
    readonly now: () => number;
    readonly newId: (prefix: string) => string;
    readonly trustProxy: TrustedProxies;
    readonly tlsTerminatedUpstream: boolean;
    /** A service compiles schemas at first use, for a faster start and less memory. */
    readonly compileSchemas: 'at-start' | 'at-first-use';
    readonly deciding?: Deciding;
  };
}

interface OpsNeeds extends HostChecks {
  readonly metrics: Pick<Metrics, 'contentType' | 'text'>;
  readonly checkTimeoutMs: number;
  readonly log: ServiceLog;
  readonly now: () => number;
  readonly newId: (prefix: string) => string;
}

interface SurfaceOptions<Config> {
  readonly name: string;
  readonly readConfig: (environment: Environment) => Config;
  /** `opsApp` of the http library. */
  readonly opsApp: (needs: OpsNeeds) => ServedApp;
  /** Timeout of a check for probes; longer than any check's own deadline. */
  readonly checkTimeoutMs: number;
  /** Opens all resources and creates the listeners' apps; see `ServiceOptions`. */
  readonly compose: (basics: Basics<Config>, own: Own, checks: HostChecks) => Promise<Composition>;
}

/** The whole of a `main.ts`: reads the settings, creates the basics, and runs the surface until it is stopped. */
export function runSurface<Config extends SurfaceConfig & TracingConfig>(options: SurfaceOptions<Config>): void {
  const { name, readConfig } = options;
  main(name, async () => runService(serviceOf(options, openBasics(name, readConfig(process.env)))));
}

function serviceOf<Config extends SurfaceConfig & TracingConfig>(
  { name, opsApp, checkTimeoutMs, compose }: SurfaceOptions<Config>,
  basics: Basics<Config>,
): RunOptions {
  const { config, log, metrics, now, newId } = basics;
  const ops = { metrics, checkTimeoutMs, log, now, newId };
  return {
    name,
    config,
    log,
    metrics,
    opsApp: (checks) => opsApp({ ...ops, ...checks }),
    compose: (own, checks) => compose(basics, own, checks),
  };
}

function openBasics<Config extends SurfaceConfig>(name: string, config: Config): Basics<Config> {
  const now = processClock;
  const log = createLog({ service: name, level: config.logLevel, stream: process.stdout, now });
  const metrics = new Metrics(name, { unknownLabels: 'other' });
  logMetrics(metrics, log);
  return basicsOf({ config, now, log, metrics }, 'at-first-use');
}

/** Completes the basics; tests bring their own clock and log. */
export function basicsOf<Config extends SurfaceConfig>(
  given: Pick<Basics<Config>, 'config' | 'now' | 'log' | 'metrics'>,
  compileSchemas: 'at-start' | 'at-first-use' = 'at-start',
): Basics<Config> {
  const { config, now, log, metrics } = given;
  const { trustProxy, tlsTerminatedUpstream } = config;
  const newId = timeOrderedIds(now, randomPool());
  const proxies = { trustProxy, tlsTerminatedUpstream };
  const appBase = {
    log,
    metrics: httpMetrics(metrics),
    now,
    newId,
    ...proxies,
    compileSchemas,
    deciding: new Deciding(),
  };
  return { ...given, newId, appBase };
}

/** A working ledger may still report a problem, such as a halted channel. */
interface LedgerState {
  readonly ok: boolean;
  readonly problem: string | null;
  readonly contracts?: object;
}

const KEEP_CHECK_MS = 900;
/** What readiness says before the limits are settled. */
export const WAITS_FOR_REDIS = 'the limits wait for the first answer of Redis';

/** Ready if the limits are settled, and the database and the ledger work. The result is cached, and checks do not run concurrently. */
export function readiness(options: {
  /** Returns what is wrong with the database; undefined if nothing. Otherwise the ledger is not checked. */
  readonly database: () => Promise<string | undefined>;
  readonly ledger: () => Promise<LedgerState>;
  /** Where limits are decided, read at each check. */
  readonly limits: { readonly state: string; readonly isSettled: boolean };
  /** What is wrong with Redis; undefined if nothing. The service works without it, so it stays ready. */
  readonly redisProblem: () => string | undefined;
  /** Connections of each pool of the database. */
  readonly connections: Readonly<Record<string, number>>;
  /** Problem reported if the checks time out. */
  readonly otherwise: string;
  readonly deadlineMs: number;
  readonly now: () => number;
}): () => Promise<ServiceHealth> {
  const { database, ledger, limits, redisProblem, connections, otherwise, deadlineMs, now } = options;
  const check = cachedCheck<LedgerState>({
    deadlineMs,
    keepMs: KEEP_CHECK_MS,
    now,
    otherwise: { ok: false, problem: otherwise },
    async check() {
      const fault = await database();
      return fault === undefined ? ledger() : { ok: false, problem: fault };
    },
  });
  return async () => {
    const { ok, problem, contracts } = await check();
    const listed = contracts === undefined ? {} : { contracts };
    if (!ok) return { ok, body: { status: 'not ready', problem, ...listed } };
    if (!limits.isSettled) return { ok: false, body: { status: 'not ready', problem: WAITS_FOR_REDIS, ...listed } };
    const told = problem === null ? {} : { problem };
    const fault = redisProblem();
    const redis = fault === undefined ? {} : { redis: fault };
    return { ok, body: { status: 'ready', ...told, ...listed, limits: limits.state, ...redis, connections } };
  };
}

interface CachedCheckOptions<State> {
  readonly check: () => Promise<State>;
  /** State reported when a check fails or times out. */
  readonly otherwise: State;
  readonly deadlineMs: number;
  /** How long a result is cached. */
  readonly keepMs: number;
  readonly now: () => number;
}

/** Runs the check at most once at a time and caches its result, so that frequent probes put no load on the ledger. */
export function cachedCheck<State>(options: CachedCheckOptions<State>): () => Promise<State> {
  const { check, otherwise, deadlineMs, keepMs, now } = options;
  let cached: { readonly state: State; readonly untilMs: number } | undefined;
  let running: Promise<State> | undefined;
  const run = async (): Promise<State> => {
    let timer: NodeJS.Timeout | undefined;
    const timedOut = new Promise<State>((resolve) => {
      timer = setTimeout(() => resolve(otherwise), deadlineMs);
    });
    try {
      const state = await Promise.race([check().catch(() => otherwise), timedOut]);
      cached = { state, untilMs: now() + keepMs };
      return state;
    } finally {
      clearTimeout(timer);
      running = undefined;
    }
  };
  return () => {
    if (cached !== undefined && now() < cached.untilMs) return Promise.resolve(cached.state);
    running ??= run();
    return running;
  };
}
