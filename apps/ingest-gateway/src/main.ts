import { PrismaPg } from '@prisma/adapter-pg';
import { apiKeys, lastUsedWriter } from '@sealgate/api-keys';
import { auditChange, auditTrail, startSecretWatch, type SecretUse } from '@sealgate/audit';
import { randomPool } from '@sealgate/auth';
import { opsApp, type App } from '@sealgate/http';
import { accessTokens, adminPeople } from '@sealgate/identity';
import { InFlight } from '@sealgate/idempotency';
import { missingRights } from '@sealgate/ledger-embedded';
import { createLog, httpMetrics, logMetrics, Metrics, type Log } from '@sealgate/observability';
import { cursorCodec } from '@sealgate/paging';
import { addressLimiter, memoryLimits, openSharedLimits } from '@sealgate/rate-limits';
import { cachedCheck, main, runService, type Composition, type Own, type ServiceHealth } from '@sealgate/service-host';
import { backgroundLoop, databaseCheck, isReachable, openDatabase, reasonOf, retain } from '@sealgate/storage';
import { administration, publicApp, type AppBase } from './app.ts';
import { readConfig, type GatewayConfig } from './config.ts';
import { callersStore } from './data/callers-store.ts';
import { ingestRemovals } from './data/event-retention.ts';
import { eventsStore } from './data/events-store.ts';
import { holdNetwork, networksStore } from './data/networks-store.ts';
import { pingEvents } from './data/ping-events.ts';
import { readingPlaces } from './data/reading-places.ts';
import { countLiveSources, sealedSecrets } from './data/sources-store.ts';
import { answerWrite } from './domain/answer-write.ts';
import type { IngestCaller } from './domain/caller.ts';
import { EventTail } from './domain/event-tail.ts';
import type { KeyGrants } from './domain/key-grants.ts';
import { readBody } from './domain/read-submission.ts';
import { timeOrderedDigits, timeOrderedIds } from './domain/record-ids.ts';
import { testDelivery } from './domain/test-delivery.ts';
import { PrismaClient } from './generated/prisma/client.ts';
import { chargeSource, ingestGuard, refuseFlooded, type IngestGuardPorts } from './ingest-guard.ts';
import { ingestMetrics } from './ingest-metrics.ts';
import { migrations } from './ingest-migrations.ts';
import { openLedger } from './open-ledger.ts';
import { openReading } from './open-reading.ts';
import { openSources } from './open-sources.ts';
import { SCHEMA } from './schema.ts';

const NAME = 'ingest-gateway';
const READINESS = {
  deadlineMs: 1400,
  keepMs: 900,
  otherwise: { ok: false, body: { status: 'not ready', problem: 'the database does not answer in time' } },
};

const DAY_MS = 86_400_000;
/** What is checked with a server secret after it was made. Claims lie in the ledger, where this role cannot count them. */
const secretUses = ({ claimRetentionDays }: GatewayConfig): readonly SecretUse[] => [
  sealedSecrets,
  { what: 'claims on Idempotency-Keys', keptMs: claimRetentionDays * DAY_MS },
  { what: 'cursors of lists', keptMs: DAY_MS },
];

/** What everything in the process is given: settings, time, ids, and where to tell. */
function openBasics(config: GatewayConfig) {
  // Milliseconds with a fraction, so that durations of requests are taken from the same clock.
  const now = () => performance.timeOrigin + performance.now();
  const nowMs = () => Math.floor(now());
  const random = randomPool();
  const freshIds = timeOrderedIds(nowMs, random);
  const freshDigits = timeOrderedDigits(nowMs, random);
  const newId = (prefix: string) => prefix + freshDigits();
  const log = createLog({ service: NAME, level: config.logLevel, stream: process.stdout, now });
  const metrics = new Metrics(NAME, { unknownLabels: 'other' });
  logMetrics(metrics, log);
  const { trustProxy, tlsTerminatedUpstream } = config;
  const newRequestId = () => newId('req_');
  const appBase: AppBase = { log, metrics: httpMetrics(metrics), now, newRequestId, trustProxy, tlsTerminatedUpstream };
  return { config, now, freshIds, newId, newRequestId, log, metrics, counters: ingestMetrics(metrics), appBase };
}

type Basics = ReturnType<typeof openBasics>;

/** Everything that is opened, each with how it is let go; released in reverse. */
async function openParts({ config, now, newId, log, metrics, counters }: Basics, own: Own) {
  const sql = openDatabase({
    url: config.databaseUrl,
    applicationName: NAME,
    maxConnections: config.databasePoolSize,
    connectTimeoutMs: 1000,
    deadlineMs: 2000,
    preparedStatements: config.databasePreparedStatements,
    onPooler: () => log.info('database_pooler', { preparedStatements: false }),
    onIdleError: (error) => log.warn('database_connection_lost', { reason: error.message }),
  });
  own('database', () => sql.close());
  const database = databaseCheck({
    sql,
    sets: migrations,
    // Networks and their channels are made while it runs.
    ...(config.ledgerDriver === 'embedded' ? { further: () => missingRights(sql, ['']) } : {}),
    onChange: (reason) =>
      reason === undefined ? log.info('database_ready') : log.error('database_not_ready', { reason }),
  });
  own('database check', () => database.close());
  const { redisUrl: url, replicas } = config;
  const shared = openSharedLimits({ url, name: NAME, prefix: 'ingest:', replicas, now, log, metrics });
  own('redis', () => shared.close());
  const ledger = await openLedger({
    config,
    sql,
    now,
    log,
    metrics,
    own,
    whenReady: database.whenReady,
    onSettled: counters.settled,
  });
  const reading = openReading({ bodyMaxBytes: config.bodyMaxBytes, startTimer, log, metrics, own });
  const keys = apiKeys<KeyGrants>({ sql, schema: SCHEMA, prefix: 'ingest_', now, newId });
  const lastUsed = lastUsedWriter({ sql, schema: SCHEMA, now });
  own('last used', () => lastUsed.close());
  const pings = pingEvents({ sql, onDropped: (count) => log.warn('ping_events_dropped', { count }) });
  own('ping events', () => pings.flush());
  const { eventRetentionDays: eventDays, claimRetentionDays, ledgerDriver } = config;
  const claimDays = ledgerDriver === 'embedded' ? claimRetentionDays : undefined;
  const onFailure = (rows: string, error: unknown) => log.warn('retention_failed', { rows, reason: String(error) });
  own('retention', retain(ingestRemovals(sql, { eventDays, claimDays }, now), onFailure));
  await database.problem(); // Said in the log, whether somebody asks for it or not.
  const secrets = config.serverSecrets;
  const watched = {
    sql,
    schema: SCHEMA,
    secrets,
    process: newId('proc_'),
    uses: secretUses(config),
    accepted: { ADMIN_TOKEN_HASHES: config.adminTokenHashes },
    now,
    log,
    metrics,
  };
  const secretWatch = startSecretWatch({ ...watched, own });
  const prisma = new PrismaClient({ adapter: new PrismaPg(sql.pool, { schema: SCHEMA }) });
  const read = readingPlaces({ readHere: readBody, readApart: reading.read, now });
  const events = eventsStore(prisma, sql);
  const stores = { sql, ledger, events, read, secretWatch };
  const sources = openSources({ ...stores, config, counters, newId, now, startTimer, log, metrics, own });
  return { sql, database, shared, ledger, read, events, prisma, keys, lastUsed, pings, secretWatch, sources };
}

type Parts = Awaited<ReturnType<typeof openParts>>;

/** Who may use the public listener, and how much. */
function guardOf({ config, now }: Basics, { sql, shared, ledger, lastUsed, sources }: Parts): IngestGuardPorts {
  const callers = callersStore({ sql, now, deadlineMs: 1000 });
  return {
    findCaller: (keyHash: Buffer) => callers.find(keyHash),
    findSource: (sourceId: string) => sources.find(sourceId),
    ...(ledger.confirmsGuards ? { knownLately: { caller: callers.lately, source: sources.lately } } : {}),
    touchKey: (keyId: string) => lastUsed.touch(keyId),
    limits: shared.limits,
    refusals: memoryLimits({ now }),
    addresses: addressLimiter({ limits: shared.limits, listener: 'ingest', now }),
    defaultLimits: { ratePerSecond: config.ratePerSecond, burst: config.rateBurst },
    now,
  };
}

function publicAppOf(
  { config, now, freshIds, newId, counters, appBase }: Basics,
  { ledger, read, pings, sources }: Parts,
  guard: IngestGuardPorts,
): App {
  const { maxBatchRecords, bodyMaxBytes, serverSecrets } = config;
  const recordPing = ({ networkId, keyId }: IngestCaller, requestId: string) => {
    const eventId = newId('evt_');
    pings.add({ eventId, networkId, keyId, requestId, atMs: Math.floor(now()) });
    counters.pinged();
    return eventId;
  };
  return publicApp(appBase, guard, {
    answerWrite: answerWrite({
      ledger,
      inFlight: new InFlight({ startTimer }),
      fingerprints: serverSecrets.derive('ingest fingerprints'),
      recordIds: serverSecrets.derive('ingest record ids'),
      freshIds,
      newEventId: () => newId('evt_'),
      onAnswer({ replayed, confirmed }, { caller }) {
        counters.accepted(replayed);
        if (confirmed) guard.touchKey(caller.keyId);
      },
    }),
    recordPing,
    maxBatchRecords,
    bodyMaxBytes,
    read,
    onRefusal: counters.refused,
    takeDelivery: sources.takeDelivery,
    refuseFlooded(path) {
      const refusal = refuseFlooded(guard.refusals, path);
      if (refusal !== undefined) sources.onFlooded(path);
      return refusal;
    },
  });
}

function adminAppOf(
  { config, now, newId, log, appBase }: Basics,
  { sql, shared, ledger, keys, secretWatch, prisma, events, sources }: Parts,
  guard: IngestGuardPorts,
): App {
  const networks = networksStore(prisma);
  const tail = new EventTail({ events, now, mostListeners: MOST_TAILS, begin: everySecond(log) });
  const access = {
    tokens: config.adminTokenHashes,
    findPerson: adminPeople(accessTokens({ issuers: config.oidcIssuers, now, log }), config.adminOidc),
    addresses: addressLimiter({ limits: shared.limits, listener: 'ingest-admin', now }),
    isReachable: () => isReachable(sql, 500),
  };
  return administration(appBase, access, {
    networks,
    holdsChannel: (channel) => ledger.holdsChannel(channel),
    openChannel: (network, channel) => ledger.openChannel(network, channel),
    holdNetwork,
    countLiveKeys: (networkId, transaction) => keys.countLive(networkId, transaction),
    countSources: (networkId, transaction) => countLiveSources(transaction, networkId),
    keys,
    events,
    tail,
    startTimer,
    sources: sources.store,
    channelsOf: async (networkId) => (await networks.find(networkId))?.channels,
    seal: sources.seal,
    deliveries: sources.deliveries,
    testDelivery: (about) =>
      testDelivery(
        {
          findSource: sources.find,
          takeDelivery: sources.takeDelivery,
          charge: chargeSource(ingestGuard(guard)),
          newId,
          now,
        },
        about,
      ),
    ledger: ledger.administration,
    cursors: cursorCodec({ hasher: config.serverSecrets.derive('ingest cursors'), now }),
    inTransaction: (work) => sql.transaction(work),
    auditChange: auditChange(auditTrail({ schema: SCHEMA, now, newId }), sql),
    now,
    newId,
    defaultLimits: { ratePerSecond: config.ratePerSecond, burst: config.rateBurst },
    maxBatchRecords: config.maxBatchRecords,
    secretReport: () => secretWatch.report(),
    waiting: async () => [await ledger.waiting()],
  });
}

/** People who watch events as they are written, in one process. */
const MOST_TAILS = 20;
const LOOK_EVERY_MS = 1000;

const everySecond =
  (log: Log) =>
  (work: () => Promise<void>): (() => void) => {
    const onFailure = (error: unknown) => log.warn('event_tail_failed', { reason: reasonOf(error) });
    const loop = backgroundLoop({ work, pauseMs: LOOK_EVERY_MS, onFailure });
    return () => void loop.stop();
  };

main(NAME, async () => {
  const basics = openBasics(readConfig(process.env));
  const { config, log, metrics, now, newRequestId } = basics;
  const compose = async (own: Own): Promise<Composition> => {
    const parts = await openParts(basics, own);
    const check = async (): Promise<ServiceHealth> => {
      const fault = await parts.database.problem();
      if (fault !== undefined) return { ok: false, body: { status: 'not ready', problem: fault } };
      const { ok, problem, contracts } = await parts.ledger.health();
      const listed = contracts === undefined ? {} : { contracts };
      return {
        ok,
        // A ledger that works may still have something to say: a channel that is halted.
        body: ok
          ? { status: 'ready', ...(problem === null ? {} : { problem }), ...listed }
          : { status: 'not ready', problem, ...listed },
      };
    };
    const look = cachedCheck({ ...READINESS, check, now });
    const ready = async (): Promise<ServiceHealth> => {
      const health = await look();
      // Who decides limits is known here, and told as it is now.
      return health.ok ? { ok: true, body: { ...health.body, limits: parts.shared.limits.state } } : health;
    };
    const guard = guardOf(basics, parts);
    const [publicApp_, adminApp] = [publicAppOf(basics, parts, guard), adminAppOf(basics, parts, guard)];
    return { publicApp: publicApp_, adminApp, ready };
  };
  const ops = { metrics, checkTimeoutMs: 1500, log, now, newRequestId };
  await runService({ name: NAME, config, log, compose, opsApp: (checks) => opsApp({ ...ops, ...checks }) });
});

function startTimer(done: () => void, ms: number): () => void {
  const timer = setTimeout(done, ms);
  return () => clearTimeout(timer);
}
