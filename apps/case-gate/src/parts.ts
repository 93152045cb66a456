import { apiKeys, lastUsedWriter } from '@sealgate/api-keys';
import { connectionOf, openSurface } from '@sealgate/audit';
import type { KeyedHasher } from '@sealgate/auth';
import { conflictIn, heldIn, LedgerNotOpenedError, missingRights, openEmbeddedLedger } from '@sealgate/ledger-embedded';
import { parseChannel } from '@sealgate/ledger-port';
import { openedOrStartError, type Basics as HostBasics, type Own } from '@sealgate/service-host';
import { openDatabase, startTimer, type Database, type DatabaseCheck } from '@sealgate/storage';
import type { GateConfig } from './config.ts';
import { callerLookups } from './data/caller-lookups.ts';
import { caseTransactions } from './data/case-transaction.ts';
import { decisionLog, headRecord } from './data/decision-log.ts';
import { knownRows } from './data/known-rows.ts';
import { lossWatch, readLosses, type LossWatch } from './data/loss-watch.ts';
import { ledgerVersions } from './data/ledger-versions.ts';
import { ledgerWitness, type LedgerWitnessOptions } from './data/ledger-witness.ts';
import { addToOutbox, ledgerWriter } from './data/ledger-writer.ts';
import { secretUses } from './data/secret-uses.ts';
import { seenVersions, type SeenVersions } from './data/seen-versions.ts';
import type { EligibilityPorts } from './domain/change-eligibility.ts';
import type { KeyGrants } from './domain/key-grants.ts';
import { migrations, SCHEMA } from './gate-migrations.ts';
import type { GateMetrics } from './gate-metrics.ts';
import { openFabricSeals, type SealLedger } from './open-seal-ledger.ts';
import { startWork } from './start-work.ts';

export const NAME = 'case-gate';

export interface Basics extends HostBasics<GateConfig> {
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
  const { channel } = targetOf(config);
  const surface = openSurface({
    ...{ ...basics, own, name: NAME, schema: SCHEMA, migrations },
    further: (sql) => missingRights(sql, [channel]),
  });
  const { sql, database, audit } = surface;
  const gateSql = openGateDatabase(basics, own);
  await connectAll(gateSql, config.gateDatabasePoolSize);
  const ledger = await openLedger(basics, { sql, database, own });
  const sealLedger: SealLedger =
    config.ledgerDriver === 'embedded'
      ? Object.assign(ledger, { isLog: true, problem: () => Promise.resolve(null) })
      : await openFabricSeals({ config, sql, now, log, metrics, own });
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
  const inTransaction = caseTransactions(writer.inTransaction, { macs, versions, audit });
  const losses = openLossWatch(basics, gateSql);
  const lookups = openLookups(basics, { sql, gateSql, macs, seen, recordIds, losses });
  const keys = apiKeys<KeyGrants>({ sql, schema: SCHEMA, prefix: 'gk_', now: wholeMs, newId });
  const lastUsed = lastUsedWriter({ sql, schema: SCHEMA, now: wholeMs });
  own('last used', () => lastUsed.close());
  const decisions = decisionLog({
    ...{ sql, process: newId('').slice(0, 20), log, now: wholeMs },
    keepHead: (head) => addToOutbox(sql, headRecord(recordIds, head, new Date(wholeMs()))),
  });
  basics.counters.watchLog(decisions);
  own('decision log', () => decisions.end());
  const opened = { gateSql, ledger, sealLedger, macs, versions, seen, losses, keys, lastUsed, decisions };
  const secretWatch = surface.watchSecrets(secretUses);
  const work = { inTransaction, inSql: writer.inTransaction, eligibility, target, onConflict, secretWatch };
  const parts = { ...surface, ...opened, ...work };
  const worker = startWork(basics, parts);
  return { ...parts, ...lookups, worker };
}

/** The gate has connections of its own, so that no other work can be in its way. */
function openGateDatabase(basics: Basics, own: Own): Database {
  const { gateDatabasePoolSize: maxConnections, gateDeadlineMs: deadlineMs } = basics.config;
  const bounds = { maxConnections, connectTimeoutMs: deadlineMs, deadlineMs };
  const gateSql = openDatabase({ ...connectionOf(basics), applicationName: `${NAME} gate`, ...bounds });
  own('gate database', () => gateSql.close());
  return gateSql;
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

export type GateMacs = ReturnType<typeof macsOf>;

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
  readonly macs: GateMacs;
  readonly seen: SeenVersions;
  readonly recordIds: KeyedHasher;
  readonly losses: LossWatch;
}

/** Over the gate's own connections, as all that a check waits for. */
function openLossWatch({ config, now }: Basics, gateSql: Database): LossWatch {
  const { channel } = targetOf(config);
  return lossWatch(() => readLosses(gateSql, channel, config.gateDeadlineMs - GATE_MARGIN_MS), now);
}

function openLookups({ config, now, log, counters }: Basics, parts: LookupParts) {
  const { sql, gateSql, macs, seen, recordIds, losses } = parts;
  const onCorrupt = (what: string) => {
    counters.corrupt();
    log.error('record_not_intact', { what });
  };
  const wholeMs = () => Math.floor(now());
  const withinMs = config.gateDeadlineMs * WITNESS_SHARE;
  // Over the gate's own connections, so that nothing else can be in its way.
  const findConflict: LedgerWitnessOptions['findConflict'] = (unit) => conflictIn(gateSql, unit, withinMs);
  const target = targetOf(config);
  const findHeld: LedgerWitnessOptions['findHeld'] = (ids) => heldIn(gateSql, target.channel, ids, withinMs);
  const witness = ledgerWitness({ findConflict, findHeld, target, recordIds, seen });
  const known = knownRows(MOST_KNOWN);
  const options = { macs, seen, known, witness, losses: () => losses.current(), now: wholeMs, onCorrupt };
  return {
    gateLookups: callerLookups({ ...options, sql: gateSql, deadlineMs: config.gateDeadlineMs - GATE_MARGIN_MS }),
    apiLookups: callerLookups({ ...options, sql, deadlineMs: 1000 }),
  };
}
