import { apiKeys, lastUsedWriter } from '@sealgate/api-keys';
import { auditTrail, startSecretWatch, type SecretWatch } from '@sealgate/audit';
import type { KeyedHasher } from '@sealgate/auth';
import {
  conflictIn,
  LedgerNotOpenedError,
  missingRights,
  openEmbeddedLedger,
  type EmbeddedLedger,
} from '@sealgate/ledger-embedded';
import { parseChannel } from '@sealgate/ledger-port';
import type { Metrics, ServiceLog } from '@sealgate/observability';
import { openSharedLimits } from '@sealgate/rate-limits';
import { openedOrStartError, type Own } from '@sealgate/service-host';
import { databaseCheck, openDatabase, removalStep, retain, type Database, type DatabaseCheck } from '@sealgate/storage';
import type { GateConfig } from './config.ts';
import { drainOutbox, expireCases, keepProofs, oldRows, repeat } from './data/background.ts';
import { callerLookups } from './data/caller-lookups.ts';
import { keepProof } from './data/case-reads.ts';
import { caseTransactions, type InCaseTransaction } from './data/case-transaction.ts';
import { carryOver } from './data/carry-over.ts';
import { decisionLog } from './data/decision-log.ts';
import { knownRows } from './data/known-rows.ts';
import { ledgerVersions, type LedgerVersions } from './data/ledger-versions.ts';
import { ledgerWitness, type LedgerWitnessOptions } from './data/ledger-witness.ts';
import { ledgerWriter, type RecordingTransactions } from './data/ledger-writer.ts';
import { remakeMacs } from './data/remake-macs.ts';
import { secretUses } from './data/secret-uses.ts';
import { seenVersions, type SeenVersions } from './data/seen-versions.ts';
import type { EligibilityPorts } from './domain/change-eligibility.ts';
import type { KeyGrants } from './domain/key-grants.ts';
import type { LedgerTarget } from './domain/seal-case.ts';
import { migrations, SCHEMA } from './gate-migrations.ts';
import type { GateMetrics } from './gate-metrics.ts';

export const NAME = 'case-gate';

export interface Basics {
  readonly config: GateConfig;
  /** Milliseconds since the epoch, with a fraction. */
  readonly now: () => number;
  readonly newId: (prefix: string) => string;
  readonly log: ServiceLog;
  readonly metrics: Metrics;
  readonly counters: GateMetrics;
}

export type Parts = Awaited<ReturnType<typeof openParts>>;

const CONNECT_WITHIN_MS = 2000;
const MOST_SEEN = 200_000;
/** Of each kind: of subjects, some kilobytes each. */
const MOST_KNOWN = 20_000;
/** A question to the ledger comes after a look-up, so it gets less of the gate's budget than that. */
const WITNESS_SHARE = 0.4;
/** What is left of the gate's budget when a query has taken its time. */
const GATE_MARGIN_MS = 30;

/** Everything that is opened, each with how it is let go; released in reverse. */
export async function openParts(basics: Basics, own: Own) {
  const { config, now, newId, log, metrics } = basics;
  const { sql, gateSql } = openDatabases(basics, own);
  const database = databaseCheck({
    sql,
    sets: migrations,
    further: () => missingRights(sql, [targetOf(config).channel]),
    onChange: (reason) =>
      reason === undefined ? log.info('database_ready') : log.error('database_not_ready', { reason }),
  });
  own('database check', () => database.close());
  const { redisUrl: url, replicas } = config;
  await connectAll(gateSql, config.gateDatabasePoolSize);
  const shared = openSharedLimits({ url, name: NAME, prefix: 'gate:', replicas, now, log, metrics });
  own('redis', () => shared.close());
  const ledger = await openLedger(basics, { sql, database, own });
  await database.problem(); // Said in the log, whether somebody asks for it or not.
  const macs = macsOf(config);
  const wholeMs = () => Math.floor(now());
  const seen = seenVersions(MOST_SEEN);
  const eligibility = eligibilityPorts(basics);
  const { recordIds } = eligibility;
  const target = targetOf(config);
  const onConflict = (recordId: string) => {
    basics.counters.conflicted();
    log.error('ledger_record_conflict', { recordId });
  };
  const writer = ledgerWriter({ sql, ledger, target, recordIds, seen, onConflict, log, now: wholeMs, startTimer });
  own('ledger writer', () => writer.stop());
  const versions = ledgerVersions({ target, recordIds });
  const inTransaction = caseTransactions(writer.inTransaction, { macs, versions });
  const lookups = openLookups(basics, { sql, gateSql, macs, seen, recordIds });
  const keys = apiKeys<KeyGrants>({ sql, schema: SCHEMA, prefix: 'gk_', now: wholeMs, newId });
  const audit = auditTrail({ schema: SCHEMA, now: wholeMs, newId });
  const lastUsed = lastUsedWriter({ sql, schema: SCHEMA, now: wholeMs });
  own('last used', () => lastUsed.close());
  const decisions = decisionLog({ sql, process: newId('').slice(0, 20), log });
  basics.counters.watchLog(decisions);
  own('decision log', () => decisions.flush());
  const stores = { sql, gateSql, database, shared, ledger, macs, versions, keys, audit, lastUsed, decisions };
  const process = newId('proc_');
  const watched = { sql, schema: SCHEMA, secrets: config.serverSecrets, process, now: wholeMs, log, metrics };
  const secretWatch = startSecretWatch({ ...watched, uses: secretUses, own });
  const parts = { ...stores, inTransaction, inSql: writer.inTransaction, eligibility, target, onConflict, secretWatch };
  const worker = startWork(basics, { ...parts, own });
  return { ...parts, ...lookups, worker };
}

/** The gate has connections of its own, so that no other work can be in its way. */
function openDatabases({ config, log }: Basics, own: Own) {
  const common = {
    url: config.databaseUrl,
    preparedStatements: config.databasePreparedStatements,
    onPooler: () => log.info('database_pooler', { preparedStatements: false }),
    onIdleError: (error: Error) => log.warn('database_connection_lost', { reason: error.message }),
  };
  const sql = openDatabase({
    ...common,
    applicationName: NAME,
    maxConnections: config.databasePoolSize,
    connectTimeoutMs: 1000,
    deadlineMs: 2000,
  });
  own('database', () => sql.close());
  const gateSql = openDatabase({
    ...common,
    applicationName: `${NAME} gate`,
    maxConnections: config.gateDatabasePoolSize,
    connectTimeoutMs: config.gateDeadlineMs,
    deadlineMs: config.gateDeadlineMs,
  });
  own('gate database', () => gateSql.close());
  return { sql, gateSql };
}

/** So that the first checks need not wait for connections. A database that is away is no reason not to start. */
async function connectAll(gateSql: Database, count: number): Promise<void> {
  const pings = Array.from({ length: count }, () => gateSql.ping(CONNECT_WITHIN_MS));
  await Promise.allSettled(pings);
}

async function openLedger(
  { config, now, log, metrics }: Basics,
  { sql, database: { whenReady }, own }: { sql: Database; database: DatabaseCheck; own: Own },
) {
  const ledger = await openedOrStartError(LedgerNotOpenedError, () =>
    openEmbeddedLedger({ config, sql, now, log, metrics, whenReady, own }),
  );
  const { network, channel } = targetOf(config);
  // So that the channel is listed before its first seal.
  await whenReady(() => ledger.openChannel(network, channel));
  return ledger;
}

function targetOf({ ledgerChannel: channel }: GateConfig) {
  const parsed = parseChannel(channel);
  if (parsed === undefined) throw new Error('The configuration was checked.');
  return { network: parsed.networkId, channel };
}

/** The keys that the database never sees. Their names must never change. */
function macsOf({ serverSecrets }: GateConfig) {
  return {
    eligibility: serverSecrets.derive('gate eligibility records'),
    venues: serverSecrets.derive('gate venues'),
    policies: serverSecrets.derive('gate policies'),
    cases: serverSecrets.derive('gate cases'),
    keys: serverSecrets.derive('gate keys'),
  };
}

function eligibilityPorts({ config, now, log, counters }: Basics): EligibilityPorts {
  return {
    recordIds: config.serverSecrets.derive('gate ledger records'),
    decisionMacs: config.serverSecrets.derive('gate decisions'),
    now: () => Math.floor(now()),
    onCorrupt: ({ environment, subjectRef }) => {
      counters.corrupt();
      log.error('record_not_intact', { what: `subject ${subjectRef}`, environment });
    },
  };
}

interface LookupParts {
  readonly sql: Database;
  readonly gateSql: Database;
  readonly macs: ReturnType<typeof macsOf>;
  readonly seen: SeenVersions;
  readonly recordIds: KeyedHasher;
}

function openLookups({ config, now, log, counters }: Basics, { sql, gateSql, macs, seen, recordIds }: LookupParts) {
  const onCorrupt = (what: string) => {
    counters.corrupt();
    log.error('record_not_intact', { what });
  };
  const wholeMs = () => Math.floor(now());
  const withinMs = config.gateDeadlineMs * WITNESS_SHARE;
  // Over the gate's own connections, so that nothing else can be in its way.
  const findConflict: LedgerWitnessOptions['findConflict'] = (unit) => conflictIn(gateSql, unit, withinMs);
  const witness = ledgerWitness({ findConflict, target: targetOf(config), recordIds, seen });
  const options = { macs, seen, known: knownRows(MOST_KNOWN), witness, now: wholeMs, onCorrupt };
  return {
    gateLookups: callerLookups({ ...options, sql: gateSql, deadlineMs: config.gateDeadlineMs - GATE_MARGIN_MS }),
    apiLookups: callerLookups({ ...options, sql, deadlineMs: 1000 }),
  };
}

interface WorkParts {
  readonly sql: Database;
  readonly ledger: EmbeddedLedger;
  readonly inTransaction: InCaseTransaction;
  readonly inSql: RecordingTransactions;
  readonly macs: ReturnType<typeof macsOf>;
  readonly secretWatch: SecretWatch;
  readonly eligibility: EligibilityPorts;
  readonly target: LedgerTarget;
  readonly onConflict: (recordId: string) => void;
  readonly versions: LedgerVersions;
  readonly own: Own;
}

const OUTBOX_EVERY_MS = 250;
const PROOFS_EVERY_MS = 1000;
const EXPIRY_EVERY_MS = 60_000;
const VERSIONS_EVERY_MS = 3_600_000;
const REMAKE_EVERY_MS = 10_000;

/** What goes on without a request. */
function startWork(basics: Basics, parts: WorkParts) {
  const { config, now, log } = basics;
  const { sql, ledger, inTransaction, eligibility, target, onConflict, versions, own } = parts;
  const wholeMs = () => Math.floor(now());
  const outbox = { ...eligibility, sql, ledger, inTransaction, target, onConflict };
  const proofs = {
    ledger,
    channel: target.channel,
    keepProof: (id: string, proof: string) => keepProof(sql, id, proof),
  };
  const begin = (name: string, everyMs: number, work: () => Promise<unknown>) => {
    const repeated = repeat(name, work, { everyMs, log });
    own(name, () => repeated.stop());
    return repeated;
  };
  begin('proofs', PROOFS_EVERY_MS, () => keepProofs(sql, proofs));
  begin('expiry', EXPIRY_EVERY_MS, () => expireCases({ sql, inTransaction, now: wholeMs }));
  const old = (rows: 'claims' | 'decisions') =>
    removalStep(sql, () => oldRows(wholeMs(), config.decisionRetentionDays)[rows]);
  const onFailure = (rows: string, error: unknown) => log.warn('retention_failed', { rows, reason: String(error) });
  own('retention', retain({ claims: old('claims'), decisions: old('decisions') }, onFailure));
  begin('outbox', OUTBOX_EVERY_MS, () => drainOutbox(outbox));
  begin('versions', VERSIONS_EVERY_MS, () => carryOver({ sql, ledger, versions })).runSoon();
  begin('remake', REMAKE_EVERY_MS, remaking(basics, parts));
  return { proofs };
}

/** What an earlier secret made, once all processes make with the new one. Looked for again an hour after all was found done. */
function remaking({ config, now, log, counters }: Basics, parts: WorkParts): () => Promise<void> {
  const { sql, inSql, inTransaction, macs, versions, secretWatch, eligibility } = parts;
  const remade = {
    ...{ sql, inSql, inTransaction, macs, versions, decisionMacs: eligibility.decisionMacs },
    secretIds: config.serverSecrets.ids,
    mayGoOn: () => secretWatch.isSettled(),
    onRefused: (what: string, error: unknown) => {
      counters.corrupt();
      log.error('row_not_remade', { what, reason: String(error) });
    },
  };
  let restsUntilMs = -Infinity;
  return async () => {
    if (now() < restsUntilMs) return;
    const { remade: count, isDone } = await remakeMacs(remade);
    if (count > 0) log.info('macs_remade', { count, isDone });
    if (isDone && count === 0) restsUntilMs = now() + VERSIONS_EVERY_MS;
  };
}

export function startTimer(done: () => void, ms: number): () => void {
  const timer = setTimeout(done, ms);
  return () => clearTimeout(timer);
}
