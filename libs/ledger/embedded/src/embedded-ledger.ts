import assert from 'node:assert/strict';
import { randomPool } from '@sealgate/auth';
import type { ProvedInLog } from '@sealgate/envelope';
import type { ArchiveOrder, ArchiveProgress, AuditReport, Ledger } from '@sealgate/ledger-port';
import type { NoteVerifier } from '@sealgate/merkle';
import { inSpan } from '@sealgate/observability';
import type { Database } from '@sealgate/storage';
import { appendGroup, RecentDuplicates, type OnResult } from './append-group.ts';
import { AppendQueue, type AppendQueueLimits } from './append-queue.ts';
import { APPEND_FUNCTIONS, prepareUnit, type AppendFunctions } from './append-statement.ts';
import type { ArchiveFiles } from './archive/archive-files.ts';
import { archiveStep, type Archiver } from './archive/archiver.ts';
import { archivedRecords } from './archive/read-archived.ts';
import { auditChannel } from './audit/audit-channel.ts';
import { checkedCheckpoints } from './checked-checkpoint.ts';
import { readLedger } from './database-problem.ts';
import { declareLoss, readLoss, readLosses, type LossDeclaration, type LossState } from './loss/declare-loss.ts';
import { Epochs } from './epochs.ts';
import { ledgerExploration, readSize, type LedgerExploration, type WitnessPolicy } from './explore-ledger.ts';
import { healthOf } from './halts.ts';
import type { Integrator } from './integrator.ts';
import { conflictIn } from './known-ids.ts';
import { findRecord, proveRecord, type ProveOptions } from './prove-record.ts';
import { indexTypes, queryPage, queryRecords, type PageQuery, type RecordPage } from './query-records.ts';
import { readCommits, type Commit } from './read-commits.ts';
import { publicLogReads, type PublicLogReads } from './read-public-log.ts';
import { logSearch, type LogSearch } from './search-log.ts';
import { SharedReads } from './shared-reads.ts';
import { SharedTiles } from './shared-tiles.ts';
import { storedRecord, type RecordRow } from './stored-record.ts';

export interface EmbeddedLedgerOptions {
  readonly sql: Database;
  /** For reads that any number of callers may ask for: the public log, lists and exploration. Default: `sql`. */
  readonly look?: Database;
  /** Uses a role that may integrate, for declaring a loss; defaults to `sql`. */
  readonly declareSql?: Database;
  /** The first line of a checkpoint is `<origin>/<channel>`. */
  readonly origin: string;
  /** A surface's own functions around those of the ledger, to write its rows in the same transaction. */
  readonly appendFunctions?: AppendFunctions;
  readonly limits?: Partial<AppendQueueLimits>;
  /** Present in processes that integrate. Started and stopped by its owner. */
  readonly integrator?: Integrator;
  /** Verifies stored checkpoints, if this process has a public key. */
  readonly verifier?: NoteVerifier;
  /** The published keys of checkpoints as C2SP verifier keys. */
  readonly verifierKeys?: readonly string[];
  /** The policies of witnesses that this process is configured with. */
  readonly witnessPolicies?: readonly WitnessPolicy[];
  /** Absent if this process has no archive. */
  readonly archive?: ArchiveFiles;
  /** Bytes of tiles and entries kept in memory; for tests. */
  readonly cacheBytes?: number;
  /** Present in the process that writes the archive. */
  readonly archiver?: Archiver;
  /** Deadline of one call of an append function, 2 s by default. */
  readonly callWithinMs?: number;
  /** Milliseconds since the epoch; fractions are dropped. */
  readonly now: () => number;
  readonly onUnexpected?: (error: unknown) => void;
  readonly onResult?: OnResult;
}

/** The actor of an erasure, named by the surface. The database adds its role. */
interface Eraser {
  readonly actor: string;
  readonly requestId: string;
}

/** The port, and the operations of a log in our own database. */
export interface EmbeddedLedger extends Ledger, PublicLogReads {
  readonly exploration: LedgerExploration;
  readonly search: LogSearch;
  openChannel(network: string, channel: string): Promise<void>;
  /** Number of records of a channel; undefined if there is none of that name. */
  size(channel: string): Promise<number | undefined>;
  /** What was written from a position on: see `readCommits`. */
  commits(channel: string, from: number): Promise<Commit[]>;
  audit(channel: string, signal?: AbortSignal, onWalked?: (records: number) => void): Promise<AuditReport>;
  /** A record of a type that is not wanted is treated as absent: nothing is proved or waited for. */
  prove(channel: string, id: string, wants?: (type: string) => boolean): Promise<ProvedInLog | undefined>;
  /** `read` without parsing: content is the canonical text as stored. */
  readRow(channel: string, id: string): Promise<RecordRow | undefined>;
  /** `query` with a limit on the size of the answer. */
  queryPage(query: PageQuery): Promise<RecordPage>;
  /** Converts channel positions to leaves of logs. */
  readonly epochs: Epochs;
  /** Whether a channel lost records. */
  loss(channel: string): Promise<LossState>;
  /** Channels that lost records, now or before their current epoch, by name. */
  losses(wanted: { readonly after: string; readonly limit: number }): Promise<LossState[]>;
  /** See `loss/declare-loss.ts`. */
  declareLoss(channel: string, declared: LossDeclaration): Promise<boolean>;
  /**
   * Permanently removes salt and content of a record, and stores actor and reason in the same transaction. False if
   * there is no such record. Idempotent.
   */
  erase(channel: string, id: string, reason: string, by?: Eraser): Promise<boolean>;
  /**
   * Moves records into files for a few seconds: see `Archiver.archive`. Undefined if there is no such channel.
   * @throws ArchiveRefusedError also if this process does not write the archive.
   */
  archiveRecords(order: ArchiveOrder): Promise<ArchiveProgress | undefined>;
  /** Whether the role of this process may append to the channel. */
  mayAppend(channel: string): Promise<boolean>;
  /** Units queued or being written. */
  readonly depth: number;
  /** Waits for every accepted unit. */
  drain(): Promise<void>;
}

export const APPEND_LIMITS: AppendQueueLimits = {
  groupUnits: 256,
  groupBytes: 4 * 1024 * 1024,
  // Of the seven connections that decide, by default: the others are for look-ups of keys and rows.
  running: 4,
  waitingUnits: 8192,
  waitingBytes: 64 * 1024 * 1024,
  answerWithinMs: 3000,
};

const APPEND = { name: 'ledger append' };
const PROVE = { name: 'ledger prove' };

const CALL_WITHIN_MS = 2000;
const SETTLE_WITHIN_MS = 120_000;
const COVER_WITHIN_MS = 3000;
const READ_WITHIN_MS = 2000;
/** Limit of one audit statement: the longest scans a whole table (ids, claims), some minutes for 100 M records. */
const AUDIT_WITHIN_MS = 1_800_000;

/** The ledger in PostgreSQL: one append-only log per channel behind versioned SQL functions. See the README. */
export function embeddedLedger(options: EmbeddedLedgerOptions): EmbeddedLedger {
  const { sql, now, origin, integrator, appendFunctions = APPEND_FUNCTIONS } = options;
  const random = randomPool();
  const epochs = new Epochs(sql, now);
  const queue = openQueue(options, epochs);
  const prove: ProveOptions = {
    sql,
    epochs,
    now,
    deadlineMs: READ_WITHIN_MS,
    coverWithinMs: COVER_WITHIN_MS,
    checked: checkedCheckpoints(origin, options.verifier),
    checkedPublished: checkedCheckpoints(origin, options.verifier),
    tiles: new SharedTiles(),
    archived: archivedRecords(options.archive),
    ...(integrator === undefined ? {} : { catchUp: (log: string, size: number) => integrator.catchUp(log, size) }),
  };
  const looking = { ...prove, sql: options.look ?? sql };
  const types = new SharedReads({ now, pauseMs: 0, read: (channel) => indexTypes(looking.sql, channel, now) });
  return {
    ...publicLogReads({ ...looking, verifier: options.verifier, cacheBytes: options.cacheBytes }),
    exploration: ledgerExploration({ ...looking, ...signedBy(options) }),
    search: logSearch(looking),
    get depth() {
      return queue.depth;
    },
    // append-statement.ts hashes the unit, append-queue.ts groups, append-group.ts sends the statement, and
    // ledger.append in migrations/0001_ledger.sql writes.
    append(unit) {
      assert(unit.guard === undefined || appendFunctions.takesGuards, 'Guards require functions that confirm them.');
      return inSpan(APPEND, () => queue.add(prepareUnit(unit, Math.floor(now()), random)));
    },
    findConflict: (unit) => conflictIn(sql, unit),
    drain: () => queue.drained(),
    async openChannel(network, channel) {
      await readLedger(sql, { text: 'SELECT ledger.open_channel($1, $2)', values: [network, channel] }, READ_WITHIN_MS);
    },
    size: (channel) => readSize(looking.sql, channel, READ_WITHIN_MS),
    commits: (channel, from) => readCommits(looking.sql, channel, from),
    async read(channel, id) {
      const row = await findRecord(prove, { channel, id });
      return row === undefined ? undefined : storedRecord(row, await epochs.fresh());
    },
    readRow: (channel, id) => findRecord(prove, { channel, id }),
    query: (query) => queryRecords({ ...looking, types }, query),
    queryPage: (query) => queryPage({ ...looking, types }, query),
    prove: (channel, id, wants) =>
      inSpan(PROVE, () => proveRecord(prove, { channel, id, ...(wants === undefined ? {} : { wants }) })),
    epochs,
    loss: (channel) => readLoss({ sql, epochs }, channel),
    losses: (wanted) => readLosses({ sql: looking.sql, epochs }, wanted),
    declareLoss: (channel, declared) =>
      declareLoss({ sql: options.declareSql ?? sql, epochs, origin, now }, channel, declared),
    audit: (channel, signal, onWalked) => audit(options, channel, { signal, onWalked }),
    erase: (channel, id, reason, by) => erase(options, { channel, id, reason, atMs: Math.floor(now()), by }),
    archiveRecords: (order) => archiveStep(options.archiver, order),
    mayAppend: (channel) => mayAppend(sql, channel),
    health: () => healthOf(sql, integrator),
  };
}

const signedBy = ({ origin, verifier, verifierKeys = [], witnessPolicies = [] }: EmbeddedLedgerOptions) => ({
  origin,
  verifier,
  verifierKeys,
  witnessPolicies,
});

function openQueue(options: EmbeddedLedgerOptions, epochs: Epochs): AppendQueue {
  const { sql, now } = options;
  const append = {
    sql,
    epochs,
    now,
    appendFunctions: options.appendFunctions ?? APPEND_FUNCTIONS,
    callWithinMs: options.callWithinMs ?? CALL_WITHIN_MS,
    settleWithinMs: SETTLE_WITHIN_MS,
    onUnexpected: options.onUnexpected ?? (() => undefined),
    onResult: options.onResult ?? (() => undefined),
    duplicates: new RecentDuplicates(),
  };
  return new AppendQueue({
    limits: { ...APPEND_LIMITS, ...options.limits },
    now,
    mixes: append.appendFunctions.ofChannels !== undefined,
    run: (group) => appendGroup(append, group),
  });
}

async function audit(
  { sql, origin, verifier, integrator, ...options }: EmbeddedLedgerOptions,
  channel: string,
  { signal, onWalked }: { signal: AbortSignal | undefined; onWalked: ((records: number) => void) | undefined },
): Promise<AuditReport> {
  // Records missing at the end are only detected by comparing with the kept checkpoints.
  await integrator?.compare(channel);
  const auditing = {
    sql,
    origin,
    deadlineMs: AUDIT_WITHIN_MS,
    ...(verifier === undefined ? {} : { verifier }),
    ...(options.archive === undefined ? {} : { archive: options.archive }),
    ...(onWalked === undefined ? {} : { onWalked }),
  };
  const report = await auditChannel(auditing, channel, signal);
  return report ?? { ok: false, size: 0, firstBadRecordId: null, problem: `there is no channel ${channel}` };
}

interface Erasure {
  readonly channel: string;
  readonly id: string;
  readonly reason: string;
  readonly atMs: number;
  readonly by: Eraser | undefined;
}

async function erase(
  { sql, archiver }: EmbeddedLedgerOptions,
  { channel, id, reason, atMs, by }: Erasure,
): Promise<boolean> {
  const statement = {
    text: 'SELECT ledger.erase($1, $2, $3, $4, $5, $6) AS found',
    values: [channel, id, reason, atMs, by?.actor ?? null, by?.requestId ?? null],
  };
  const [row] = await readLedger<{ found: boolean }>(sql, statement, READ_WITHIN_MS);
  // If the files cannot be written now, they are written within a minute.
  await archiver?.writeErasuresOf(channel).catch(() => undefined);
  return row?.found === true;
}

async function mayAppend(sql: Database, channel: string): Promise<boolean> {
  const statement = { text: 'SELECT ledger.rights($1) AS rights', values: [channel] };
  const [row] = await readLedger<{ rights: readonly string[] }>(sql, statement, READ_WITHIN_MS);
  return row?.rights.includes('append') === true;
}
