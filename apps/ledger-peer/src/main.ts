import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { auditChange, auditTrail, startSecretWatch, type SecretUse } from '@sealgate/audit';
import { randomPool, timeOrderedIds } from '@sealgate/auth';
import { BodyTurns, opsApp, type App } from '@sealgate/http';
import { accessTokens, adminPeople } from '@sealgate/identity';
import { InFlight } from '@sealgate/idempotency';
import { missingRights } from '@sealgate/ledger-embedded';
import type { LedgerHealth } from '@sealgate/ledger-port';
import { createLog, httpMetrics, logMetrics, Metrics } from '@sealgate/observability';
import { cursorCodec } from '@sealgate/paging';
import { addressLimiter, openSharedLimits } from '@sealgate/rate-limits';
import { cachedCheck, main, runService, type Composition, type HostChecks, type Own } from '@sealgate/service-host';
import { databaseCheck, openDatabase, tellingOutages } from '@sealgate/storage';
import { administration, publicApp, type AppBase } from './app.ts';
import { readConfig, type PeerConfig } from './config.ts';
import { waitingJobs } from './data/waiting-jobs.ts';
import { KEEP_CLAIMS_MS } from './data/job-retention.ts';
import { answerSync } from './domain/answer-sync.ts';
import { logKeys } from './log-keys.ts';
import { isScraper } from './metrics-access.ts';
import { openJobs } from './open-jobs.ts';
import { openLedger } from './open-ledger.ts';
import { publicDescription } from './openapi.ts';
import { migrations } from './peer-migrations.ts';
import { SCHEMA } from './schema.ts';
import { answerMetrics, ledgerMetrics } from './peer-metrics.ts';

const NAME = 'ledger-peer';

/** What is checked with a server secret after it was made. */
const SECRET_USES: readonly SecretUse[] = [
  {
    what: 'claims on Idempotency-Keys',
    keptMs: KEEP_CLAIMS_MS,
    text: `SELECT split_part(fingerprint, ':', 1) AS secret_id, count(*) AS rows, max(coalesce(done_at, created_at)) AS last_at
             FROM peer.jobs WHERE fingerprint IS NOT NULL GROUP BY 1`,
  },
  { what: 'cursors of lists', keptMs: 86_400_000 },
];

/** Batches of one request, or one job, that are under way at once where one that fails keeps no other back. */
const BATCHES_AT_ONCE = 4;
const KEEP_CHECK_MS = 900;
const CHECK_WITHIN_MS = 1000;
/** Longer, so that a check that takes too long can say itself which one it is. */
const LOOK_WITHIN_MS = CHECK_WITHIN_MS + 200;

/** What everything in the process is given: settings, time, ids, and where to tell. */
function openBasics(config: PeerConfig) {
  // Milliseconds with a fraction, so that durations of requests are taken from the same clock.
  const now = () => performance.timeOrigin + performance.now();
  const newId = timeOrderedIds(now, randomPool());
  const log = createLog({ service: NAME, level: config.logLevel, stream: process.stdout, now });
  const metrics = new Metrics(NAME, { unknownLabels: 'other' });
  logMetrics(metrics, log);
  const { trustProxy, tlsTerminatedUpstream } = config;
  const newRequestId = () => newId('req_');
  const appBase: AppBase = { log, metrics: httpMetrics(metrics), now, newRequestId, trustProxy, tlsTerminatedUpstream };
  return { config, now, newId, newRequestId, log, metrics, appBase };
}

type Basics = ReturnType<typeof openBasics>;

/** Everything that is opened, each with how it is let go; released in reverse. */
async function openParts(basics: Basics, own: Own) {
  const { config, now, newId, log, metrics } = basics;
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
  const channels = config.mappings.targets.map(({ channel }) => channel);
  const database = databaseCheck({
    sql,
    sets: migrations,
    ...(config.ledgerDriver === 'embedded' ? { further: () => missingRights(sql, channels) } : {}),
    onChange: (reason) =>
      reason === undefined ? log.info('database_ready') : log.error('database_not_ready', { reason }),
  });
  own('database check', () => database.close());
  const { redisUrl: url, replicas } = config;
  const shared = openSharedLimits({ url, name: NAME, prefix: 'peer:', replicas, now, log, metrics });
  own('redis', () => shared.close());
  const opening = { config, sql, database, now, log, metrics, own, ledgerMetrics: ledgerMetrics(metrics) };
  const ledger = await openLedger(opening);
  await database.problem(); // Said in the log, whether somebody asks for it or not.
  // Requests and jobs have turns of their own: a job may take long, and no request waits for it.
  const [bodyTurns, turns] = [new BodyTurns(BODY_TURNS), new BodyTurns(BODY_TURNS)];
  const running = { ...planning(config), ledger: ledger.assets };
  const jobs = openJobs({ sql, owner: newId('proc_'), config, running, turns, now, log, metrics, own });
  const accepted = { ADMIN_TOKEN_HASHES: config.adminTokenHashes, API_KEY_HASHES: config.apiKeys };
  const secretsOf = { secrets: config.serverSecrets, accepted, uses: SECRET_USES };
  const watched = { sql, schema: SCHEMA, ...secretsOf, process: newId('proc_'), now, log, metrics };
  const secretWatch = startSecretWatch({ ...watched, own });
  return { sql, database, shared, ledger, jobs, bodyTurns, secretWatch };
}

/** What a body becomes on the heap is several times its bytes. One of the largest is handled at a time, or many smaller. */
const BODY_TURNS = { atOnceBytes: 8_388_608, waitingBytes: 134_217_728, waitMs: 10_000 } as const;

const planning = ({ mappings, batchMaxBytes }: PeerConfig) => ({
  mappings,
  batchMaxBytes,
  batchesAtOnce: BATCHES_AT_ONCE,
});

type Parts = Awaited<ReturnType<typeof openParts>>;

function checksOf({ now }: Basics, { ledger, database }: Parts) {
  const options = { deadlineMs: CHECK_WITHIN_MS, keepMs: KEEP_CHECK_MS, now };
  return {
    database: cachedCheck({
      ...options,
      check: () => database.problem(),
      otherwise: 'the database does not answer in time',
    }),
    ledger: cachedCheck<LedgerHealth>({
      ...options,
      check: () => ledger.health(),
      otherwise: { ok: false, problem: 'the ledger does not answer in time' },
    }),
    credentials: cachedCheck({
      ...options,
      check: () => ledger.credentials(),
      otherwise: { ok: false, problems: ['the credentials could not be looked at in time'] },
    }),
  };
}

type Checks = ReturnType<typeof checksOf>;

function publicAppOf(
  basics: Basics,
  { shared, ledger, jobs, bodyTurns }: Parts,
  { host, own }: { host: HostChecks; own: Checks },
) {
  const { config, now, newId, log, metrics, appBase } = basics;
  const jwks = logKeys(config);
  if (jwks.keys.length === 0 && config.ledgerDriver === 'embedded')
    log.warn('no_log_keys', { reason: 'Without LEDGER_VERIFIER_KEYS this process publishes no key of the log.' });
  const { ratePerSecond, rateBurst: burst, serverSecrets, bodyMaxBytes, answerWithinMs, mappings } = config;
  const guard = {
    keys: config.apiKeys,
    limits: shared.limits,
    addresses: addressLimiter({ limits: shared.limits, listener: 'peer', now }),
    rate: { ratePerSecond, burst },
    now,
    log: {
      rate: { ratePerSecond: config.logRatePerSecond, burst: config.logRateBurst },
      isOpen: (channel: string) => config.publicLog.has(channel),
    },
  };
  const answer = answerSync({
    ...planning(config),
    ledger: ledger.assets,
    jobs,
    inFlight: new InFlight(),
    fingerprints: serverSecrets.derive('peer fingerprints'),
    newJobId: () => newId('job_'),
    now,
    pause: (ms) => delay(ms),
    answerWithinMs,
    onAnswer: answerMetrics(metrics).answered,
  });
  const cursors = cursorCodec({
    hasher: serverSecrets.derive('peer cursors'),
    now,
    maxBytes: CURSOR_MAX_BYTES,
    sentIn: 'body',
  });
  return publicApp(appBase, guard, {
    assets: {
      answerSync: answer,
      reading: { ledger: ledger.assets, mappings, log: ledger.log, cursors },
      bodyMaxBytes,
      bodyTurns,
      nextTurn: () => nextTurn(),
    },
    jobs: { jobs },
    publicLog: {
      log: ledger.log,
      mappings,
      isOpen: (channel) => config.apiKeys.size === 0 || config.publicLog.has(channel),
      showsEntries: (channel) => config.publicLog.has(channel) || mappings.servesAll(channel),
    },
    health: {
      ...host,
      metrics,
      checkTimeoutMs: LOOK_WITHIN_MS,
      credentials: own.credentials,
      isScraper: (request) => isScraper(request, config.metricsAllow),
    },
    descriptions: { describe: () => publicDescription(config.publicUrl), jwks },
  });
}

/** An id of 256 code points, escaped and in base64, with room to spare. */
const CURSOR_MAX_BYTES = 4096;

function adminAppOf({ config, now, newId, log, appBase }: Basics, { sql, shared, ledger, secretWatch }: Parts): App {
  const audit = auditChange(auditTrail({ schema: SCHEMA, now, newId }), sql);
  const access = {
    tokens: config.adminTokenHashes,
    findPerson: adminPeople(accessTokens({ issuers: config.oidcIssuers, now, log }), config.adminOidc),
    addresses: addressLimiter({ limits: shared.limits, listener: 'peer-admin', now }),
  };
  const administered = ledger.administration;
  const state = {
    secretReport: () => secretWatch.report(),
    waiting: () => Promise.all([waitingJobs(sql), ledger.waiting()]),
  };
  if (administered === undefined) return administration(appBase, access, { ledger: undefined, ...state });
  const administering = {
    ledger: administered,
    cursors: cursorCodec({ hasher: config.serverSecrets.derive('peer admin cursors'), now }),
    auditChange: (...told: Parameters<typeof audit>) => tellingOutages(() => audit(...told)),
    now,
    newId,
  };
  return administration(appBase, access, { ledger: administering, ...state });
}

main(NAME, async () => {
  const basics = openBasics(readConfig(process.env));
  const { config, log, metrics, now, newRequestId } = basics;
  const compose = async (own: Own, host: HostChecks): Promise<Composition> => {
    const parts = await openParts(basics, own);
    const checks = checksOf(basics, parts);
    return {
      publicApp: publicAppOf(basics, parts, { host, own: checks }),
      adminApp: adminAppOf(basics, parts),
      async ready() {
        const [fault, credentials, health] = await Promise.all([
          checks.database(),
          checks.credentials(),
          checks.ledger(),
        ]);
        const { ok, problem, contracts } = health;
        // Where the database is at fault, what the ledger in it says is another way to say so.
        const told = fault === undefined ? [...credentials.problems, problem] : [fault, ...credentials.problems];
        const reasons = new Set(told.filter((reason) => reason !== null));
        const isReady = ok && credentials.ok && fault === undefined;
        const listed = contracts === undefined ? {} : { contracts };
        return {
          ok: isReady,
          // A ledger that works may still have something to say: a channel that is halted.
          body: {
            status: isReady ? 'healthy' : 'unhealthy',
            ...(reasons.size === 0 ? {} : { reason: [...reasons].join('; ') }),
            ...listed,
          },
        };
      },
      async startup() {
        const { ok, problems } = await checks.credentials();
        return { ok, body: ok ? { status: 'healthy' } : { status: 'unhealthy', reason: problems.join('; ') } };
      },
    };
  };
  const ops = { metrics, checkTimeoutMs: LOOK_WITHIN_MS, log, now, newRequestId };
  await runService({ name: NAME, config, log, compose, opsApp: (checks) => opsApp({ ...ops, ...checks }) });
});
