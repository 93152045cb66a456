import { setTimeout as delay } from 'node:timers/promises';
import {
  ChannelHaltedError,
  LedgerUnavailableError,
  OutcomeUnknownError,
  StaleGuardError,
  type AppendUnit,
  type UnitResult,
} from '@sealgate/ledger-port';
import { DatabaseRefusedError, DatabaseUnavailableError, type Sql } from '@sealgate/storage';
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

/** Told every outcome once. `isLate`: its caller was answered "unknown" before it came. */
export type OnResult = (result: UnitResult, of: { readonly unit: AppendUnit; readonly isLate: boolean }) => void;

export interface AppendGroupOptions {
  readonly sql: Sql;
  /** In which log what is written stands. */
  readonly epochs: Epochs;
  readonly appendFunctions: AppendFunctions;
  /** How long one call may take before its connection is given up. */
  readonly callWithinMs: number;
  /** How long a call whose answer was lost is sent again before it is left to the caller's own retry. */
  readonly settleWithinMs: number;
  readonly now: () => number;
  readonly onUnexpected: (error: unknown) => void;
  readonly onResult: OnResult;
  readonly duplicates: MetDuplicates;
}

/** After so many groups without a duplicate a channel is expected to meet none. */
const CALM_GROUPS = 8;

/**
 * The channels whose last groups met what was there before. They are written carefully at once, so that senders who repeat
 * themselves cost one rollback in so many groups, and not one each.
 */
export class MetDuplicates {
  /** How many groups without a duplicate are still wanted. */
  readonly #wanted = new Map<string, number>();

  has(channel: string): boolean {
    return this.#wanted.has(channel);
  }

  saw(channel: string, isNew: boolean): void {
    const wanted = isNew ? (this.#wanted.get(channel) ?? 0) - 1 : CALM_GROUPS;
    if (wanted > 0) this.#wanted.set(channel, wanted);
    else this.#wanted.delete(channel);
  }
}

const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 400;
/** SQLSTATE: the function asks to be called again. */
const SERIALIZATION_FAILURE = '40001';
const DEADLOCK_DETECTED = '40P01';
const INSUFFICIENT_PRIVILEGE = '42501';
/** SQLSTATE of a surface's function: guards of the call are stale, and none of its units was written. */
const STALE_GUARDS = 'SG001';

/**
 * Runs one group to the end. A lost connection is settled by sending the same bytes again, never by reading: the claim, the
 * ids and the transaction id are the same, so a call that did commit finds itself. Never rejects.
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
    const stale = await staleness(options.epochs);
    units = stillWanted(units, everSent);
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
    if (problem instanceof DatabaseRefusedError && !everSent) return rejectForbidden(options, units, problem);
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

/** What is wrong may be wrong with one of several channels: the others do not pay for it. */
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

/** Who was told "nothing was written" must stay right: what nobody waits for is dropped unless it may be in already. */
function stillWanted(units: readonly WaitingUnit[], everSent: boolean): readonly WaitingUnit[] {
  return everSent ? units : units.filter((unit) => !unit.settled || unit.toldUnknown);
}

/**
 * Why it is not known in which log a record will stand; nothing was sent then. Asked before each call: a channel takes no
 * record of its next epoch before every call that began without knowing of it has ended.
 */
async function staleness(epochs: Epochs): Promise<unknown> {
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

/** One call. Undefined when every unit has its result. `again`: it may find itself. */
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
  const { code } = error as { code?: unknown };
  return code === SERIALIZATION_FAILURE || code === DEADLOCK_DETECTED;
}

/**
 * Ends the units whose guards the database named as stale. The others were not written either, and are sent again.
 * @returns them; all where the problem is another.
 */
function refuseStale(units: readonly WaitingUnit[], problem: unknown, everSent: boolean): readonly WaitingUnit[] {
  const { code, detail } = problem as { code?: unknown; detail?: unknown };
  if (code !== STALE_GUARDS || typeof detail !== 'string') return units;
  const stale = new Set(detail.split('\n'));
  const isStale = ({ prepared: { unit } }: WaitingUnit) => unit.guard !== undefined && stale.has(guardText(unit.guard));
  for (const unit of units.filter((one) => isStale(one) && !one.settled)) {
    unit.settled = true;
    // One whose answer was lost may have been written while its guard was good.
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
    // One whose answer was lost may have been written before the halt.
    unit.reject(
      everSent ? new OutcomeUnknownError(transactionIdHex, { cause }) : new ChannelHaltedError(of.channel, { cause }),
    );
  }
}

/** The database refused the call itself: one of its units must be at fault, and the others must not pay for it. */
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

function rejectForbidden(
  { onUnexpected }: AppendGroupOptions,
  units: readonly WaitingUnit[],
  problem: DatabaseRefusedError,
): void {
  if (problem.code === INSUFFICIENT_PRIVILEGE) onUnexpected(problem);
  rejectAll(units, problem, false);
}

/** Callers were answered at their own deadline already; this frees what is left. */
function rejectAll(units: readonly WaitingUnit[], cause: unknown, everSent: boolean): void {
  for (const unit of units) {
    if (unit.settled) continue;
    unit.settled = true;
    unit.reject(everSent ? new OutcomeUnknownError(unit.prepared.transactionIdHex, { cause }) : unavailable(cause));
  }
}

const unavailable = (cause: unknown): LedgerUnavailableError =>
  new LedgerUnavailableError('The ledger cannot be reached.', { cause });
