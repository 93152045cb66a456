import { PrismaPg } from '@prisma/adapter-pg';
import { apiKeys, lastUsedWriter } from '@sealgate/api-keys';
import { auditTrail, startSecretWatch, type SecretUse } from '@sealgate/audit';
import type { App } from '@sealgate/http';
import { accessTokens, adminPeople } from '@sealgate/identity';
import { missingRights } from '@sealgate/ledger-embedded';
import type { Log, Metrics, RequestLog } from '@sealgate/observability';
import { cursorCodec } from '@sealgate/paging';
import { addressLimiter, openSharedLimits } from '@sealgate/rate-limits';
import type { Own } from '@sealgate/service-host';
import { backgroundLoop, databaseCheck, isReachable, openDatabase, type Database } from '@sealgate/storage';
import { administration, type AppBase } from './app.ts';
import { channelOfConfig, type RiskConfig } from './config.ts';
import { anchorStore, waitingAnchors } from './data/anchor-store.ts';
import { auditEvents } from './data/audit-events.ts';
import { callersStore } from './data/callers-store.ts';
import { dashboardSummaries } from './data/dashboard-summaries.ts';
import { frameworksStore } from './data/frameworks-store.ts';
import { identitiesStore, organizationsOf, signInStore } from './data/identities-store.ts';
import { orgsStore, peopleStore } from './data/orgs-store.ts';
import { partnerPorts } from './data/partner-ports.ts';
import { resourceReads } from './data/resource-reads.ts';
import { resourceWrites } from './data/resource-writes.ts';
import { signingKeys } from './data/signing-keys.ts';
import { removeOldSnapshots } from './data/snapshot-retention.ts';
import { recordDeedIn, writeDeed } from './data/write-deed.ts';
import { waitingWork } from './data/waiting-work.ts';
import { anchorDue } from './domain/anchor-evidence.ts';
import { envelopeSigners } from './envelope-signers.ts';
import { PrismaClient } from './generated/prisma/client.ts';
import { openLedger } from './open-ledger.ts';
import type { PublicPorts } from './public-routes.ts';
import { migrations, SCHEMA } from './risk-migrations.ts';
import type { NoGrants } from './routes/keys.ts';
import { MCP_PATH } from './routes/mcp.ts';

const ANCHOR_EVERY_MS = 500;
const RETAIN_EVERY_MS = 3_600_000;
const WATCH_EVERY_MS = 10_000;
const PUBLISH_EVERY_MS = 10_000;

/** What is checked with a server secret after it was made. Each process adds its own MACs to published keys. */
const SECRET_USES: readonly SecretUse[] = [
  {
    what: 'published signing keys',
    text: `SELECT split_part(macs, ':', 1) AS secret_id, count(*) AS rows, NULL AS last_at FROM risk.signing_keys
            WHERE macs <> '' AND position(' ' || $1 || ':' IN ' ' || macs) = 0 GROUP BY 1`,
  },
  { what: 'cursors of lists', keptMs: 86_400_000 },
];

/** What everything in the process is given: settings, time, ids, and where to tell. */
export interface Basics {
  readonly config: RiskConfig;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly newId: (prefix: string) => string;
  readonly log: Log & { readonly requests: RequestLog };
  readonly metrics: Metrics;
  readonly appBase: AppBase;
}

/** Everything that is opened, each with how it is let go; released in reverse. */
export async function openParts(basics: Basics, own: Own) {
  const { config, now, newId, log, metrics } = basics;
  const sql = openDatabase({
    url: config.databaseUrl,
    applicationName: 'risk-partner',
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
    ...(config.ledgerDriver === 'embedded' ? { further: () => missingRights(sql, [channelOfConfig(config)]) } : {}),
    onChange: (reason) =>
      reason === undefined ? log.info('database_ready') : log.error('database_not_ready', { reason }),
  });
  own('database check', () => database.close());
  const { redisUrl: url, replicas } = config;
  const shared = openSharedLimits({ url, name: 'risk-partner', prefix: 'risk:', replicas, now, log, metrics });
  own('redis', () => shared.close());
  const ledger = await openLedger({ config, sql, now, log, metrics, own, whenReady: database.whenReady });
  await database.problem(); // Said in the log, whether somebody asks for it or not.
  const audit = auditTrail({ schema: SCHEMA, now, newId });
  const keys = apiKeys<NoGrants>({ sql, schema: SCHEMA, prefix: 'svc_', now, newId });
  const lastUsed = lastUsedWriter({ sql, schema: SCHEMA, now });
  own('last used', () => lastUsed.close());
  const cursors = cursorCodec({ hasher: config.serverSecrets.derive('risk cursors'), now });
  const parts = { sql, database, shared, ledger, audit, keys, lastUsed, cursors };
  const anchoring = runAnchoring(basics, parts);
  own('anchoring', () => anchoring.stop());
  const watching = watchOutbox(basics, sql);
  own('outbox gauges', () => watching.stop());
  const retention = backgroundLoop({
    work: () => removeOldSnapshots(sql, now()),
    pauseMs: RETAIN_EVERY_MS,
    onFailure: (error) => log.warn('snapshot_retention_failed', { reason: String(error) }),
  });
  own('snapshot retention', () => retention.stop());
  const signers = envelopeSigners(config.serverSecrets);
  const readKeys = signingKeys({
    sql,
    now,
    current: signers.map(({ jwk }) => jwk),
    macs: config.serverSecrets.derive('risk published keys'),
    onRefused: (count) => log.error('signing_keys_refused', { count }),
  });
  // Not only when somebody asks: a key has to be listed before its secret is taken away.
  const publishing = backgroundLoop({
    work: () => readKeys(),
    pauseMs: PUBLISH_EVERY_MS,
    onFailure: (error) => log.debug('signing_keys_unseen', { reason: String(error) }),
  });
  own('published keys', () => publishing.stop());
  const tokens = accessTokens({ issuers: config.oidcIssuers, now, log });
  const accepted = { ADMIN_TOKEN_HASHES: config.adminTokenHashes };
  const secretsOf = { secrets: config.serverSecrets, accepted, uses: SECRET_USES };
  const watched = { sql, schema: SCHEMA, ...secretsOf, process: newId('proc_'), now, log, metrics };
  const secretWatch = startSecretWatch({ ...watched, own });
  return { ...parts, anchoring, signers, readKeys, secretWatch, tokens };
}

export type Parts = Awaited<ReturnType<typeof openParts>>;

/** Brings approved fingerprints into the ledger, off the path of requests. */
function runAnchoring(
  { config, now, newId, log, metrics }: Basics,
  { sql, ledger, audit }: Pick<Parts, 'sql' | 'ledger' | 'audit'>,
) {
  const { ledgerNetwork: network } = config;
  const channel = channelOfConfig(config);
  const refused = metrics.counter({
    name: 'risk_anchors_refused_total',
    help: 'Anchors permanently refused by the ledger.',
    labels: {},
  });
  const ports = {
    store: anchorStore({ sql, audit, now, newId }),
    ledger,
    network,
    channel,
    now,
    onFailure: ({ ledgerRecordId }: { ledgerRecordId: string }, error: unknown) =>
      log.error('anchor_failed', {
        ledgerRecordId,
        reason: error instanceof Error ? (error.stack ?? '') : String(error),
      }),
    onRefused: ({ ledgerRecordId }: { ledgerRecordId: string }) => {
      refused.child({}).inc();
      log.error('anchor_refused', { ledgerRecordId, channel });
    },
  };
  let isOpen = false;
  const work = async (): Promise<void> => {
    if (!isOpen) await ledger.openChannel(network, channel);
    isOpen = true;
    // There may be more.
    if ((await anchorDue(ports)) > 0) loop.wake();
  };
  // The outbox waits; what goes wrong here is an outage that heals.
  const loop = backgroundLoop({
    work,
    pauseMs: ANCHOR_EVERY_MS,
    onFailure: (error) => log.debug('anchoring_waits', { reason: String(error) }),
  });
  return loop;
}

/** Tells operators how far the ledger is behind. What every process sees is the same. */
function watchOutbox({ now, log, metrics }: Basics, sql: Database) {
  const waiting = metrics.gauge({
    name: 'risk_anchors_waiting',
    help: 'Approved fingerprints that are not in the ledger yet.',
    labels: {},
  });
  const oldest = metrics.gauge({
    name: 'risk_anchors_oldest_seconds',
    help: 'How long the first of them has waited.',
    labels: {},
  });
  const work = async (): Promise<void> => {
    const { count, oldestSeconds } = await waitingAnchors(sql, now());
    waiting.set({}, count);
    oldest.set({}, oldestSeconds);
  };
  const onFailure = (error: unknown) => log.debug('outbox_unseen', { reason: String(error) });
  return backgroundLoop({ work, pauseMs: WATCH_EVERY_MS, onFailure });
}

export function publicPortsOf({ config, now, newId, log, metrics }: Basics, parts: Parts): PublicPorts {
  const { sql, audit, keys, cursors, anchoring, signers, readKeys } = parts;
  const masked = metrics
    .counter({ name: 'risk_personal_data_masked_total', help: 'Old texts that were not shown.', labels: {} })
    .child({});
  const onMasked = (collection: string, id: string, member: string) => {
    masked.inc();
    log.warn('personal_data_masked', { collection, id, member });
  };
  return {
    partner: partnerPorts({ sql, onMasked, cursors }),
    sign: (bytes) => signers[0].sign(bytes),
    readKeys,
    reads: resourceReads(sql),
    summaries: dashboardSummaries(sql),
    manage: { writes: resourceWrites({ sql, audit, now, newId, onAnchor: () => anchoring.wake() }), newId },
    audit: auditEvents(sql),
    keys,
    cursors,
    recordDeed: recordDeedIn(sql, writeDeed(audit)),
    now,
    publicUrl: config.publicUrl,
    organizationsOf: organizationsOf(sql),
    mcpSignIn: parts.tokens.isConfigured
      ? { resource: mcpResourceOf(config), issuers: parts.tokens.issuers }
      : undefined,
    allowedHosts: config.mcpAllowedHosts,
    allowedOrigins: config.mcpAllowedOrigins,
    onBug: (error, requestId) =>
      log.error('tool_failed', { requestId, stack: error instanceof Error ? (error.stack ?? '') : String(error) }),
  };
}

/** What clients address the tools by, and tokens for them are for; see `riskFaults`. */
const mcpResourceOf = ({ publicUrl = '' }: RiskConfig): string => `${publicUrl}${MCP_PATH}`;

export function guardPortsOf({ config, now, newId }: Basics, { sql, shared, lastUsed, audit, tokens }: Parts) {
  const callers = callersStore({ sql, now, deadlineMs: 1000 });
  return {
    findCaller: (keyHash: Buffer) => callers.find(keyHash),
    people: tokens.isConfigured
      ? {
          tokens,
          store: signInStore({
            ...{ sql, now, recordDeed: recordDeedIn(sql, writeDeed(audit)), deadlineMs: 1000 },
            newRequestId: () => newId('req_'),
          }),
          mcpAudience: mcpResourceOf(config),
        }
      : undefined,
    touchKey: (keyId: string) => lastUsed.touch(keyId),
    limits: shared.limits,
    addresses: addressLimiter({ limits: shared.limits, listener: 'risk', now }),
    keyLimits: { ratePerSecond: config.ratePerSecond, burst: config.rateBurst },
    now,
  };
}

/** A transaction begins and ends within these, or its caller is told 503. */
const transactionOptions = { maxWait: 4000, timeout: 4000 };

export async function adminAppOf(
  { config, now, newId, appBase }: Basics,
  { sql, shared, audit, keys, cursors, secretWatch, tokens }: Parts,
): Promise<App> {
  const prisma = new PrismaClient({ adapter: new PrismaPg(sql.pool, { schema: SCHEMA }), transactionOptions });
  // The first query compiles Prisma's own engine, which takes a slow machine longer than a transaction may wait to begin.
  await prisma.org.findFirst().catch(() => undefined);
  const write = writeDeed(audit);
  const access = {
    tokens: config.adminTokenHashes,
    findPerson: adminPeople(tokens, config.adminOidc),
    addresses: addressLimiter({ limits: shared.limits, listener: 'risk-admin', now }),
    isReachable: () => isReachable(sql, 500),
  };
  return administration(appBase, access, {
    orgs: orgsStore(prisma, write),
    people: peopleStore(prisma, write),
    identities: identitiesStore(sql, recordDeedIn(sql, write)),
    frameworks: frameworksStore(prisma, { now, write }),
    keys,
    cursors,
    recordDeed: recordDeedIn(sql, write),
    newId,
    now,
    secretReport: () => secretWatch.report(),
    waiting: () => waitingWork(sql),
  });
}
