import type { HashedSecrets, ServerSecrets } from '@sealgate/auth';
import { seededSigner } from '@sealgate/envelope';
import { accessTokens, adminPeople, type AdminRule, type OidcIssuer, type AccessTokens } from '@sealgate/identity';
import type { Log, Metrics } from '@sealgate/observability';
import { addressLimiter, admissionOf, type LimitStore, openSharedLimits } from '@sealgate/rate-limits';
import {
  backgroundLoop,
  databaseCheck,
  isReachable,
  openPools,
  poolSizes,
  reasonOf,
  retain,
  timelineMemory,
  type BackgroundLoop,
  type Database,
  type MigrationSet,
  type Pools,
  type RemovalStep,
  type TimelineEvent,
  type TimelineMemory,
} from '@sealgate/storage';
import { actorNames, type ActorNames } from './actor-names.ts';
import { auditSecretUse } from './audit-chain.ts';
import { auditChange, auditTrail, type AuditTrail } from './audit-trail.ts';
import { databaseMetric } from './database-metric.ts';
import { startSecretWatch, type SecretUse } from './secret-watch.ts';

type Own = (name: string, release: () => void | Promise<void>) => void;

/** Settings common to the configurations of all surfaces. */
interface SurfaceSettings {
  readonly databaseUrl: string;
  readonly databasePoolSize: number;
  readonly databasePreparedStatements: boolean | undefined;
  readonly redisUrl: string | undefined;
  readonly stateDir: string | undefined;
  readonly replicas: number;
  /** Processes per replica. */
  readonly serverSecrets: ServerSecrets;
  readonly adminTokenHashes: HashedSecrets;
  readonly adminOidc: readonly AdminRule[];
  readonly adminRatePerSecond: number;
  readonly adminRateBurst: number;
  readonly oidcIssuers: readonly OidcIssuer[];
}

interface SurfaceOptions {
  /** Connection name in PostgreSQL and Redis. */
  readonly name: string;
  /** Schema of its tables; also the prefix of its Redis keys and address limits. */
  readonly schema: string;
  readonly config: SurfaceSettings;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly newId: (prefix: string) => string;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly own: Own;
  readonly migrations: readonly MigrationSet[];
  /** A further check of the database; see `databaseCheck`. */
  readonly further?: (sql: Database) => Promise<string | undefined>;
  /** Tells whether requests that decide are under way: then what looks makes room. */
  readonly appBase?: { readonly deciding?: { isUnderWay(): boolean } };
}

/** Periodic background work. */
interface RepeatedWork {
  readonly name: string;
  readonly work: () => Promise<unknown>;
  readonly everyMs: number;
  /** Default: none. */
  readonly firstAfterMs?: number;
  /** Log event of an error of `work`, default `<name>_failed`, and its level, default `warn`. */
  readonly failure?: string;
  readonly level?: 'debug' | 'warn';
}

const PING_DEADLINE_MS = 500;

/**
 * Opens the resources of every surface: database, shared limits, admin access, audit trail. `own` registers each
 * release.
 */
export function openSurface(options: SurfaceOptions) {
  const { name, schema, config, now, newId, log, metrics, own, further } = options;
  const { redisUrl: url, replicas } = config;
  const shared = openSharedLimits({ url, name, prefix: `${schema}:`, replicas, now, log, metrics });
  own('redis', () => shared.close());
  const audit = auditTrail({ surface: name, schema, secrets: config.serverSecrets, now, newId });
  const timelines = timelineMemory({
    folder: config.stateDir,
    redis: shared.redis,
    isAway: () => shared.limits.problem !== undefined,
    now,
    report: (event) => {
      logTimeline(log, event);
      if (event.event === 'accepted') void recordAcceptance(event);
    },
  });
  own('timelines', () => timelines.close());
  const pools = openSurfacePools(options, timelines);
  const { decide, look, background } = pools;
  const database = databaseCheck({
    sql: decide,
    sets: options.migrations,
    ...(further === undefined ? {} : { further: () => further(decide) }),
    onChange: (reason) => logReadiness(log, reason),
  });
  own('database check', () => database.close());
  databaseMetric(metrics, database, now);
  const recordAcceptance = async (event: Acceptance): Promise<void> => {
    const onFailure = (error: unknown) => log.warn('timeline_accepted_unaudited', { reason: reasonOf(error) });
    await database.whenReady(() => auditAcceptance(audit, decide, event)).catch(onFailure);
  };
  const { limits } = shared;
  const names = actorNames({ schema, sql: background, log });
  const tokens = accessTokens({ issuers: config.oidcIssuers, now, log });
  const reachable = () => isReachable(decide, PING_DEADLINE_MS);
  return {
    /** Writes, keys, checks, and reads of one row by its id. */
    sql: decide,
    look,
    background,
    /** How many connections each pool has, for readiness. */
    connections: poolSizes(config.databasePoolSize),
    database,
    limits,
    redisProblem: () => shared.redisProblem() ?? timelines.refusal,
    audit,
    tokens,
    isReachable: reachable,
    auditChange: auditChange(audit, decide),
    /** What these actors are called, of those of whom it is known. */
    actorNames: (actors: readonly string[]) => names.of(look, actors),
    auditSigning: { surface: name, signers: exportSigners(config.serverSecrets) },
    /** Failed authentications on the public listener. */
    addresses: addressLimiter({ limits, listener: schema, now }),
    adminAccess: { ...adminAccess(options, limits, { tokens, names }), isReachable: reachable },
    /** `accepted`: configured keys by variable, in addition to the admin tokens. */
    watchSecrets: (uses: readonly SecretUse[], accepted: Readonly<Record<string, HashedSecrets>> = {}) =>
      startSecretWatch({
        sql: background,
        schema,
        now,
        log,
        metrics,
        own,
        uses: [auditSecretUse(schema), ...uses],
        beforeTurn: () => audit.vouch(background),
        secrets: config.serverSecrets,
        accepted: { ADMIN_TOKEN_HASHES: config.adminTokenHashes, ...accepted },
        process: newId('proc_'),
      }),
    /** Runs work periodically until the process ends. */
    repeat({ name, work, everyMs, firstAfterMs = 0, failure = `${name}_failed`, level = 'warn' }: RepeatedWork) {
      const onFailure = (error: unknown) => log[level](failure, { reason: reasonOf(error) });
      const loop: BackgroundLoop = backgroundLoop({ work, pauseMs: everyMs, firstAfterMs, onFailure });
      own(name, () => loop.stop());
      return loop;
    },
    /** Removes old rows; see `retain`. */
    retain(steps: Readonly<Record<string, RemovalStep>>): void {
      const onFailure = (rows: string, error: unknown) => log.warn('retention_failed', { rows, reason: String(error) });
      own('retention', retain(steps, onFailure));
    },
  };
}

/** Three pools on the database of the surface, with their metric. */
function openSurfacePools(options: SurfaceOptions, timelines: TimelineMemory): Pools {
  const { name, config, metrics, own, appBase } = options;
  const maxConnections = config.databasePoolSize;
  const yields = (): boolean => appBase?.deciding?.isUnderWay() ?? false;
  const pools = openPools({ ...connectionOf(options), timelines, applicationName: name, maxConnections, yields });
  own('database', () => pools.close());
  metrics.gauge({
    name: 'database_connections',
    help: 'Connections of each pool that are in use or idle, and callers who wait for one.',
    labels: { pool: ['decide', 'look', 'background'], state: ['used', 'idle', 'waiting'] },
    collect(gauge) {
      for (const pool of ['decide', 'look', 'background'] as const) {
        const { total, idle, waiting } = pools[pool].stats();
        gauge.set({ pool, state: 'used' }, total - idle);
        gauge.set({ pool, state: 'idle' }, idle);
        gauge.set({ pool, state: 'waiting' }, waiting);
      }
    },
  });
  return pools;
}

/** Who may call the admin listener, and how much. */
function adminAccess(
  { schema, config, now }: SurfaceOptions,
  limits: LimitStore,
  { tokens, names }: { readonly tokens: AccessTokens; readonly names: ActorNames },
) {
  const find = adminPeople(tokens, config.adminOidc);
  const findNamed: typeof find =
    find &&
    (async (token) => {
      const found = await find(token);
      if ('actor' in found && found.name !== undefined) names.note(found.actor, found.name);
      return found;
    });
  const { adminRatePerSecond: ratePerSecond, adminRateBurst: burst } = config;
  const policy = { name: 'key', ratePerSecond, burst } as const;
  return {
    tokens: config.adminTokenHashes,
    findPerson: findNamed,
    addresses: addressLimiter({ limits, listener: `${schema}-admin`, now }),
    charge: async (actor: string, cost: number) =>
      admissionOf(await limits.charge([{ bucket: `${schema}-admin:${actor}`, policy }], cost)),
  };
}

/** Exports of the audit trail are signed by keys derived from the server secrets. */
function exportSigners(secrets: SurfaceSettings['serverSecrets']) {
  const seeds = secrets.derive('audit export').hashAll('ed25519 seed');
  return seeds.map(({ digest }) => seededSigner(digest));
}

function logReadiness(log: Log, reason: string | undefined): void {
  if (reason === undefined) log.info('database_ready');
  else log.error('database_not_ready', { reason });
}

export type Surface = ReturnType<typeof openSurface>;

type Acceptance = Extract<TimelineEvent, { event: 'accepted' }>;

function logTimeline(log: Log, event: TimelineEvent): void {
  switch (event.event) {
    case 'refused':
      return log.error('database_server_refused', { server: event.server, reason: event.reason });
    case 'silent':
      return log.warn('database_server_silent', { server: event.server, reason: event.reason });
    case 'unreadable':
      return log.warn('timeline_memory_unreadable', { where: event.where, reason: event.reason });
    case 'accepted':
      return log.warn('database_timeline_accepted', {
        database: event.database,
        timeline: event.position.timeline,
        accepted: new Date(event.position.accepted).toISOString(),
        by: event.by,
      });
  }
}

const ACCEPTED = 'database.accept-timeline';

/** `sealgate database accept-timeline` reaches the database alone: the first process that meets it leaves the event. */
async function auditAcceptance(
  audit: AuditTrail,
  sql: Database,
  { database, position, by }: Acceptance,
): Promise<void> {
  const resourceId = `${database} ${position.accepted}`;
  const [earlier] = await audit.list(sql, { action: ACCEPTED, resource: 'database', resourceId, limit: 1 });
  if (earlier !== undefined) return;
  const detail = { timeline: position.timeline, by };
  await audit.record(sql, { actor: 'operator', action: ACCEPTED, resource: 'database', resourceId, detail });
}

/** Not a deadline of a request: TCP, TLS and authentication at a far server are up to eight round trips. */
const CONNECT_TIMEOUT_MS = 5000;

/** Connection options of every pool on the database of a surface. */
export function connectionOf({ config, log }: Pick<SurfaceOptions, 'config' | 'log'>) {
  return {
    url: config.databaseUrl,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    preparedStatements: config.databasePreparedStatements,
    onPooler: () => log.info('database_pooler', { preparedStatements: false }),
    onDisk: (reason: string | undefined) =>
      reason === undefined ? log.info('database_disk_writable') : log.error('database_disk_full', { reason }),
    onIdleError: (error: Error) => log.warn('database_connection_lost', { reason: error.message }),
  };
}
