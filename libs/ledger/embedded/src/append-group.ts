import { setTimeout as delay } from 'node:timers/promises';
import {
  ChannelHaltedError,
  LedgerUnavailableError,
  OutcomeUnknownError,
  StaleGuardError,
  type AppendUnit,
  type UnitResult,
} from '@sealgate/ledger-port';
import type { Metrics } from '@sealgate/observability';
import {
  DatabaseFullError,
  DatabaseRefusedError,
  DatabaseUnavailableError,
  isDeadlock,
  type Sql,
} from '@sealgate/storage';
import type { WaitingUnit } from './append-queue.ts';
import {
  appendStatement,
  guardText,
  isAllNew,
  resultsOf,
  type AppendFunctions,
  type AppendRow,
} from './append-statement.ts';
import { haltedIn } from './database-problem.ts';
import type { Epochs } from './epochs.ts';

/** Called once with every outcome. `isLate`: its caller had already got "unknown". */
export type OnResult = (result: UnitResult, of: { readonly unit: AppendUnit; readonly isLate: boolean }) => void;

/** Counts stored records; with `ledger_checkpoints_total` it shows when records are written but nothing is signed. */
export function countStored(metrics: Metrics, onResult: OnResult | undefined): OnResult {
  const help = 'Records appended to the ledger by this process.';
  const stored = metrics.counter({ name: 'ledger_stored_records_total', help, labels: {} }).child({});
  return (result, of) => {
    if (result.outcome === 'written') stored.inc(result.records.filter(({ existing }) => !existing).length);
    onResult?.(result, of);
  };
}

interface AppendGroupOptions {
  readonly sql: Sql;
  /** The log of each new record. */
  readonly epochs: Epochs;
  readonly appendFunctions: AppendFunctions;
  /** Deadline of one call, after which its connection is abandoned. */
  readonly callWithinMs: number;
  /** How long a call without a response is resent before settling is left to the caller's retry. */
  readonly settleWithinMs: number;
  readonly now: () => number;
  readonly onUnexpected: (error: unknown) => void;
  readonly onResult: OnResult;
  readonly duplicates: RecentDuplicates;
}

/** Number of groups without a duplicate after which a channel is tried optimistically again. */
const GROUPS_WITHOUT_DUPLICATES = 8;

/**
 * Channels whose recent groups had duplicates. They use the careful call directly, so that repeating senders cost one
 * rollback per so many groups, not one each.
 */
export class RecentDuplicates {
  /** Groups without a duplicate still required. */
  readonly #wanted = new Map<string, number>();

  has(channel: string): boolean {
    return this.#wanted.has(channel);
  }

  saw(channel: string, isNew: boolean): void {
    const wanted = isNew ? (this.#wanted.get(channel) ?? 0) - 1 : GROUPS_WITHOUT_DUPLICATES;
    if (wanted > 0) this.#wanted.set(channel, wanted);
    else this.#wanted.delete(channel);
  }
}

const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 400;
/** SQLSTATE: the function asks to be called again. */
const SERIALIZATION_FAILURE = '40001';
const INSUFFICIENT_PRIVILEGE = '42501';
/** SQLSTATE of a surface's function: guards of the call are stale, and none of its units was written. */
const STALE_GUARDS = 'SG001';

/**
 * Runs one group to the end. A lost connection is settled by resending the same bytes, never by reading: claim, ids and
 * transaction id are the same, so a committed call finds itself. Never rejects.
 */
export async function appendGroup(
  options: AppendGroupOptions,
  group: readonly WaitingUnit[],
  wasSent = false,
): Promise<void> {
  const giveUpAtMs = options.now() + options.settleWithinMs;
  let units = group;
  let everSent = wasSent;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    const stale = await epochsProblem(options.epochs);
    units = withoutAnswered(units, everSent);
    if (units.length === 0) return;
    const problem: unknown = stale ?? (await sendGroup(options, units, everSent));
    if (problem === undefined) return;
    const confirmed = refuseStale(units, problem, everSent);
    if (confirmed.length < units.length) {
      units = confirmed;
      continue;
    }
    if (isMixed(units)) return appendEachChannel(options, units, { problem, everSent });
    if (haltedIn(problem).length > 0) return refuseHalted(units, problem, everSent);
    if (!everSent && isFinal(problem)) return rejectUnsent(options, units, problem);
    if (problem instanceof DatabaseUnavailableError) {
      everSent ||= problem.sent;
      markSent(units, everSent);
    } else if (!isRetryable(problem)) return bisect(options, units, problem);
    if (options.now() > giveUpAtMs) return rejectAll(units, problem, everSent);
    await delay(pauseMs);
  }
}

const isMixed = (units: readonly WaitingUnit[]): boolean =>
  units.some(({ prepared }) => prepared.unit.channel !== units[0]!.prepared.unit.channel);

function markSent(units: readonly WaitingUnit[], isSent: boolean): void {
  for (const unit of units) unit.sent = isSent;
}

/** Only one of several channels may be at fault: retries each channel separately. */
async function appendEachChannel(
  options: AppendGroupOptions,
  units: readonly WaitingUnit[],
  { problem, everSent }: { readonly problem: unknown; readonly everSent: boolean },
): Promise<void> {
  const isSent = everSent || (problem instanceof DatabaseUnavailableError && problem.sent);
  markSent(units, isSent);
  const channels = Map.groupBy(units, ({ prepared }) => prepared.unit.channel);
  await Promise.all([...channels.values()].map((its) => appendGroup(options, its, isSent)));
}

/** Drops units whose caller was told "nothing was written", unless they may already be written. */
function withoutAnswered(units: readonly WaitingUnit[], everSent: boolean): readonly WaitingUnit[] {
  return everSent ? units : units.filter((unit) => !unit.settled || unit.answeredUnknown);
}

/**
 * The reason why the log of a new record is not known; nothing was sent then. Checked before each call: a channel
 * accepts records in its next epoch only once every call that began without knowing it has ended.
 */
async function epochsProblem(epochs: Epochs): Promise<unknown> {
  try {
    await epochs.fresh();
    return undefined;
  } catch (error) {
    const { cause } = error as Error;
    if (cause instanceof DatabaseRefusedError) return cause;
    if (!(error instanceof LedgerUnavailableError)) return error;
    return new DatabaseUnavailableError(error.message, { sent: false, cause: error });
  }
}

/** Sends one call. Undefined if every unit has its result. `again`: the call may find its own earlier attempt. */
async function sendGroup(options: AppendGroupOptions, units: readonly WaitingUnit[], again: boolean): Promise<unknown> {
  const { duplicates, sql } = options;
  const prepared = units.map((unit) => unit.prepared);
  const { channel } = prepared[0]!.unit;
  const statement = appendStatement(options.appendFunctions, prepared, again || duplicates.has(channel));
  markSent(units, true);
  try {
    const rows = await sql.query<AppendRow>(statement, { deadlineMs: options.callWithinMs });
    if (prepared.every(({ unit }) => unit.channel === channel)) duplicates.saw(channel, isAllNew(rows));
    const results = resultsOf(prepared, rows, options.epochs);
    units.forEach((unit, position) => {
      const result = results[position]!;
      options.onResult(result, { unit: unit.prepared.unit, isLate: unit.settled });
      unit.settled = true;
      unit.resolve(result);
    });
    return undefined;
  } catch (error) {
    return error;
  }
}

function isRetryable(error: unknown): boolean {
  return (error as { code?: unknown }).code === SERIALIZATION_FAILURE || isDeadlock(error);
}

/**
 * Ends the units whose guards the database reported as stale. The others were not written either, and are resent.
 * @returns the others; all units for any other problem.
 */
function refuseStale(units: readonly WaitingUnit[], problem: unknown, everSent: boolean): readonly WaitingUnit[] {
  const { code, detail } = problem as { code?: unknown; detail?: unknown };
  if (code !== STALE_GUARDS || typeof detail !== 'string') return units;
  const stale = new Set(detail.split('\n'));
  const isStale = ({ prepared: { unit } }: WaitingUnit) => unit.guard !== undefined && stale.has(guardText(unit.guard));
  for (const unit of units.filter((one) => isStale(one) && !one.settled)) {
    unit.settled = true;
    // A unit without a response may have been written while its guard was valid.
    const { transactionIdHex } = unit.prepared;
    unit.reject(
      everSent
        ? new OutcomeUnknownError(transactionIdHex, { cause: problem })
        : new StaleGuardError('The guard of the unit is stale.', { cause: problem }),
    );
  }
  const confirmed = units.filter((unit) => !isStale(unit));
  markSent(confirmed, everSent);
  return confirmed;
}

function refuseHalted(units: readonly WaitingUnit[], cause: unknown, everSent: boolean): void {
  for (const unit of units) {
    if (unit.settled) continue;
    unit.settled = true;
    const { transactionIdHex, unit: of } = unit.prepared;
    // A unit without a response may have been written before the halt.
    unit.reject(
      everSent ? new OutcomeUnknownError(transactionIdHex, { cause }) : new ChannelHaltedError(of.channel, { cause }),
    );
  }
}

/** The database rejected the call itself: finds the unit at fault by bisection, so that the others succeed. */
async function bisect(options: AppendGroupOptions, units: readonly WaitingUnit[], problem: unknown): Promise<void> {
  if (units.length === 1) {
    options.onUnexpected(problem);
    units[0]!.settled = true;
    if (problem instanceof DatabaseRefusedError) units[0]!.reject(unavailable(problem));
    else units[0]!.reject(problem instanceof Error ? problem : new Error(String(problem)));
    return;
  }
  const middle = units.length >> 1;
  await appendGroup(options, units.slice(0, middle));
  await appendGroup(options, units.slice(middle));
}

/** Neither a right nor space comes back while a caller waits. */
const isFinal = (problem: unknown): problem is DatabaseRefusedError | DatabaseFullError =>
  problem instanceof DatabaseRefusedError || problem instanceof DatabaseFullError;

function rejectUnsent(
  { onUnexpected }: AppendGroupOptions,
  units: readonly WaitingUnit[],
  problem: DatabaseRefusedError | DatabaseFullError,
): void {
  if (problem instanceof DatabaseRefusedError && problem.code === INSUFFICIENT_PRIVILEGE) onUnexpected(problem);
  rejectAll(units, problem, false);
}

/** Ends the remaining units; most callers have already been answered at their deadline. */
function rejectAll(units: readonly WaitingUnit[], cause: unknown, everSent: boolean): void {
  for (const unit of units) {
    if (unit.settled) continue;
    unit.settled = true;
    unit.reject(everSent ? new OutcomeUnknownError(unit.prepared.transactionIdHex, { cause }) : unavailable(cause));
  }
}

const unavailable = (cause: unknown): LedgerUnavailableError =>
  new LedgerUnavailableError('The ledger cannot be reached.', { cause });
