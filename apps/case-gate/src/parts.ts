import { apiKeys, lastUsedWriter } from '@sealgate/api-keys';
import { connectionOf, openSurface } from '@sealgate/audit';
import type { KeyedHasher } from '@sealgate/auth';
import { conflictIn, heldIn, LedgerNotOpenedError, missingRights, openEmbeddedLedger } from '@sealgate/ledger-embedded';
import type { OpenRecordsLedgerOptions } from '@sealgate/ledger-fabric';
import { parseChannel, type LedgerAppender, type LedgerHealth, type LedgerReader } from '@sealgate/ledger-port';
import { openedOrStartError, cachedCheck, type Basics as HostBasics, type Own } from '@sealgate/service-host';
import { openDatabase, startTimer, type Database, type DatabaseCheck } from '@sealgate/storage';
import type { GateConfig } from './config.ts';
import { callerLookups } from './data/caller-lookups.ts';
import { caseTransactions } from './data/case-transaction.ts';
import { decisionLog, headRecord } from './data/decision-log.ts';
import { knownRows } from './data/verified-rows.ts';
import {
  ledgerVersions,
  ledgerWitness,
  type LedgerWitnessOptions,
  seenVersions,
  type SeenVersions,
  lossWatch,
  readLosses,
  type LossWatch,
} from './data/ledger-versions.ts';
import { addToOutbox, ledgerWriter } from './data/ledger-writer.ts';
import { signedKeys } from './data/keys-store.ts';
import { secretUses } from './data/remake-macs.ts';
import { signedRows } from './data/signed-rows.ts';
import type { EligibilityPorts } from './domain/change-eligibility.ts';
import type { KeyGrants } from './domain/key.ts';
import { POLICIES } from './domain/policy.ts';
import { VENUES } from './domain/venue.ts';
import type { GateMetrics } from './gate-metrics.ts';
import { migrations, SCHEMA } from './gate-migrations.ts';

export const NAME = 'case-gate';

export interface Basics extends HostBasics<GateConfig> {
  readonly counters: GateMetrics;
}

export type Parts = Awaited<ReturnType<typeof openParts>>;

const CONNECT_WITHIN_MS = 2000;
const MAX_SEEN = 200_000;
/** Per kind of row. A subject takes some kilobytes. */
const MAX_KNOWN = 20_000;
/** Share of the gate's budget for a question to the ledger, which follows the look-up. */
const WITNESS_SHARE = 0.4;
/** Part of the gate's budget that is kept for what follows a query. */
const GATE_MARGIN_MS = 30;

/** Opens all resources; each registers its release, run in reverse order. */
export async function openParts(basics: Basics, own: Own) {
  const { config, now, newId, log, metrics } = basics;
  const { channel } = targetOf(config);
  const surface = openSurface({
    ...basics,
    own,
    name: NAME,
    schema: SCHEMA,
    migrations,
    further: (sql) => missingRights(sql, [channel]),
  });
  const { sql, look, background, database, audit } = surface;
  const gateSql = openGateDatabase(basics, { timelines: sql.timelines, own });
  await connectAll(gateSql, config.gateDatabasePoolSize);
  const ledger = await openLedger(basics, { sql, look, background, database, own });
  const sealLedger: SealLedger =
    config.ledgerDriver === 'embedded'
      ? Object.assign(ledger, { isLog: true, problem: () => Promise.resolve(null) })
      : await openFabricSeals({ config, sql, now, log, metrics, own });
  await database.problem(); // Log the result at startup even if no probe asks.
  const macs = macsOf(config);
  const seen = seenVersions(MAX_SEEN);
  const eligibility = eligibilityPorts(basics);
  const { recordIds } = eligibility;
  const target = targetOf(config);
  const onConflict = (recordId: string) => {
    basics.counters.conflicted();
    log.error('ledger_record_conflict', { recordId });
  };
  const writer = ledgerWriter({ sql, ledger, target, recordIds, seen, onConflict, log, startTimer });
  own('ledger writer', () => writer.stop());
  const versions = ledgerVersions({ target, recordIds });
  const venues = signedRows(VENUES, { sql, look, macs: macs.venues, versions });
  const policies = signedRows(POLICIES, { sql, look, macs: macs.policies, versions });
  const inTransaction = caseTransactions(writer.inTransaction, { macs, policies, versions, audit });
  const losses = openLossWatch(basics, gateSql);
  const lookups = openLookups(basics, { sql, gateSql, macs, seen, recordIds, losses });
  const storedKeys = apiKeys<KeyGrants>({ sql, look: surface.look, schema: SCHEMA, prefix: 'gk_', now, newId });
  const keys = signedKeys({ keys: storedKeys, sql, macs: macs.keys, versions, now });
  const lastUsed = lastUsedWriter({ sql: background, schema: SCHEMA, now });
  own('last used', () => lastUsed.close());
  const decisions = decisionLog({
    sql,
    process: newId('').slice(0, 20),
    log,
    now,
    keepHead: (head) => addToOutbox(sql, headRecord(recordIds, head), 0),
  });
  basics.counters.watchLog(decisions);
  own('decision log', () => decisions.end());
  const opened = {
    gateSql,
    ledger,
    sealLedger,
    macs,
    versions,
    venues,
    policies,
    seen,
    losses,
    keys,
    lastUsed,
    decisions,
  };
  const secretWatch = surface.watchSecrets(secretUses);
  const work = { inTransaction, inSql: writer.inTransaction, eligibility, target, onConflict, secretWatch };
  return { ...surface, ...opened, ...work, ...lookups };
}

/** The gate has a connection pool of its own, so that no other work delays a check. */
function openGateDatabase(
  basics: Basics,
  { timelines, own }: Pick<Database, 'timelines'> & { readonly own: Own },
): Database {
  const { gateDatabasePoolSize: maxConnections, gateDeadlineMs: deadlineMs } = basics.config;
  const bounds = { maxConnections, timelines, deadlineMs };
  const gateSql = openDatabase({ ...connectionOf(basics), applicationName: `${NAME} gate`, ...bounds });
  own('gate database', () => gateSql.close());
  return gateSql;
}

/** Opens the pool's connections so that the first checks need not. The service starts even if the database is down. */
async function connectAll(gateSql: Database, count: number): Promise<void> {
  const pings = Array.from({ length: count }, () => gateSql.ping(CONNECT_WITHIN_MS));
  await Promise.allSettled(pings);
}

async function openLedger(
  { config, now, log, metrics }: Basics,
  {
    sql,
    look,
    background,
    database: { whenReady },
    own,
  }: { sql: Database; look: Database; background: Database; database: DatabaseCheck; own: Own },
) {
  const ledger = await openedOrStartError(LedgerNotOpenedError, () =>
    openEmbeddedLedger({ config, sql, look, background, now, log, metrics, whenReady, own }),
  );
  const { network, channel } = targetOf(config);
  // List the channel before its first seal.
  await whenReady(() => ledger.openChannel(network, channel));
  return ledger;
}

function targetOf({ ledgerChannel: channel }: GateConfig) {
  const parsed = parseChannel(channel);
  if (parsed === undefined) throw new Error('LEDGER_CHANNEL was validated by the configuration.');
  return { network: parsed.networkId, channel };
}

type GateMacs = ReturnType<typeof macsOf>;

/** MAC keys, which the database never sees. The labels must never change. */
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
    now,
    onCorrupt: ({ environment, subjectRef }) => {
      counters.corrupt();
      log.error('record_not_intact', { what: `subject ${subjectRef}`, environment });
    },
  };
}

/** Uses the gate's own connections, as everything that a check waits for. */
function openLossWatch({ config, now }: Basics, gateSql: Database): LossWatch {
  const { channel } = targetOf(config);
  return lossWatch(() => readLosses(gateSql, channel, config.gateDeadlineMs - GATE_MARGIN_MS), now);
}

function openLookups(
  { config, now, log, counters }: Basics,
  parts: {
    readonly sql: Database;
    readonly gateSql: Database;
    readonly macs: GateMacs;
    readonly seen: SeenVersions;
    readonly recordIds: KeyedHasher;
    readonly losses: LossWatch;
  },
) {
  const { sql, gateSql, macs, seen, recordIds, losses } = parts;
  const onCorrupt = (what: string) => {
    counters.corrupt();
    log.error('record_not_intact', { what });
  };
  const withinMs = config.gateDeadlineMs * WITNESS_SHARE;
  // The gate's own connections, so that no other work delays a check.
  const findConflict: LedgerWitnessOptions['findConflict'] = (unit) => conflictIn(gateSql, unit, withinMs);
  const target = targetOf(config);
  const findHeld: LedgerWitnessOptions['findHeld'] = (ids) => heldIn(gateSql, target.channel, ids, withinMs);
  const witness = ledgerWitness({ findConflict, findHeld, target, recordIds, seen });
  const known = knownRows(MAX_KNOWN);
  const options = { macs, seen, known, witness, losses: losses.current, now, onCorrupt };
  return {
    gateLookups: callerLookups({ ...options, sql: gateSql, deadlineMs: config.gateDeadlineMs - GATE_MARGIN_MS }),
    apiLookups: callerLookups({ ...options, sql, deadlineMs: 1000 }),
    strangerLookups: callerLookups({ ...options, sql, deadlineMs: 1000, maxRunning: 1 }),
  };
}

/** The ledger that receives the seals of cases, selected by LEDGER_DRIVER. */
interface SealLedger extends Pick<LedgerAppender, 'append'>, Pick<LedgerReader, 'prove'> {
  /** Whether seals are in the embedded log, where each can be proved and queried by SQL. */
  readonly isLog: boolean;
  /** The fault of the ledger, or null. Settles within half a second. */
  problem(): Promise<string | null>;
}

/** Shorter than the lease of the request that begins a seal. */
const ANSWER_WITHIN_MS = 3000;
const HEALTH = { deadlineMs: 500, keepMs: 900 };

/**
 * Seals on a Fabric network. Versions of subjects, keys, venues and policies stay in the embedded log, because the gate
 * queries them in its own statements and transactions.
 *
 * @throws StartError naming the fault of the connection file, or that it does not configure LEDGER_CHANNEL.
 */
async function openFabricSeals(
  options: Omit<OpenRecordsLedgerOptions, 'config' | 'schema'> & { readonly config: GateConfig },
): Promise<SealLedger> {
  const { GatewayNotOpenedError, openRecordsLedger } = await import('@sealgate/ledger-fabric');
  const needs = [options.config.ledgerChannel];
  const ledger = await openedOrStartError(GatewayNotOpenedError, async () =>
    openRecordsLedger({ ...options, needs, schema: SCHEMA, answerWithinMs: ANSWER_WITHIN_MS }),
  );
  const otherwise: LedgerHealth = { ok: false, problem: 'the Fabric network does not answer in time' };
  const health = cachedCheck({ ...HEALTH, check: () => ledger.health(), otherwise, now: options.now });
  return {
    append: (unit) => ledger.append(unit),
    prove: (channel, id) => ledger.prove(channel, id),
    isLog: false,
    problem: async () => (await health()).problem,
  };
}
