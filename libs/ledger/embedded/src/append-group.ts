import { setTimeout as delay } from 'node:timers/promises';
import {
  ChannelHaltedError,
  LedgerUnavailableError,
  OutcomeUnknownError,
  type AppendUnit,
  type UnitResult,
} from '@sealgate/ledger-port';
import { DatabaseRefusedError, DatabaseUnavailableError, type Sql } from '@sealgate/storage';
import type { WaitingUnit } from './append-queue.ts';
import { appendStatement, resultOf, type AppendRow } from './append-statement.ts';

/** Told every outcome once. `isLate`: its caller was answered "unknown" before it came. */
export type OnResult = (result: UnitResult, of: { readonly unit: AppendUnit; readonly isLate: boolean }) => void;

export interface AppendGroupOptions {
  readonly sql: Sql;
  /** `ledger.append_v1`, or a surface's function of the same parameters around it. */
  readonly appendFunction: string;
  /** How long one call may take before its connection is given up. */
  readonly callWithinMs: number;
  /** How long a call whose answer was lost is sent again before it is left to the caller's own retry. */
  readonly settleWithinMs: number;
  readonly now: () => number;
  readonly onUnexpected: (error: unknown) => void;
  readonly onResult: OnResult;
}

const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 400;
/** SQLSTATE: append_v1 asks to be called again. */
const SERIALIZATION_FAILURE = '40001';
const DEADLOCK_DETECTED = '40P01';
/** SQLSTATE: channels of the call lost records; its detail names them. See migrations/0009_halts.sql. */
const CHANNELS_HALTED = '08L01';
const INSUFFICIENT_PRIVILEGE = '42501';

/**
 * Runs one group to the end. A lost connection is settled by sending the same bytes again, never by reading: the
 * claim, the ids and the transaction id are the same, so a call that did commit finds itself. Never rejects.
 */
export async function appendGroup(options: AppendGroupOptions, group: readonly WaitingUnit[]): Promise<void> {
  const giveUpAtMs = options.now() + options.settleWithinMs;
  let units = group;
  let everSent = false;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    // Who was told "nothing was written" must stay right: what nobody waits for is dropped unless it may be in already.
    if (!everSent) units = units.filter((unit) => !unit.settled || unit.toldUnknown);
    if (units.length === 0) return;
    const problem = await sendGroup(options, units);
    if (problem === undefined) return;
    const halted = haltedIn(problem);
    const refused = units.filter(({ prepared }) => halted.includes(prepared.unit.channel));
    if (refused.length > 0) {
      // The others of the group do not pay for it.
      units = units.filter((unit) => !refused.includes(unit));
      refuseHalted(refused, problem, everSent);
      continue;
    }
    if (problem instanceof DatabaseRefusedError && !everSent) {
      // A right is kept for each channel, so it may be one unit's alone; anything else keeps all of them out.
      return problem.code === INSUFFICIENT_PRIVILEGE
        ? bisect(options, units, problem)
        : rejectAll(units, problem, everSent);
    }
    if (problem instanceof DatabaseUnavailableError) {
      everSent ||= problem.sent;
      for (const unit of units) unit.sent = everSent;
      if (options.now() > giveUpAtMs) return rejectAll(units, problem, everSent);
    } else if (!isRetryable(problem)) {
      return bisect(options, units, problem);
    } else if (options.now() > giveUpAtMs) {
      return rejectAll(units, problem, everSent);
    }
    await delay(pauseMs);
  }
}

/** One call. Undefined when every unit has its result. */
async function sendGroup(options: AppendGroupOptions, units: readonly WaitingUnit[]): Promise<unknown> {
  const statement = appendStatement(
    options.appendFunction,
    units.map(({ prepared }) => prepared),
  );
  for (const unit of units) unit.sent = true;
  try {
    const rows = await options.sql.query<AppendRow>(statement, { deadlineMs: options.callWithinMs });
    units.forEach((unit, position) => {
      const result = resultOf(unit.prepared, rows[position]!);
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

/** The channels for whose sake the call was refused and undone. */
function haltedIn(problem: unknown): readonly string[] {
  const { code, detail } = ((problem as Error).cause ?? {}) as { code?: unknown; detail?: unknown };
  return code === CHANNELS_HALTED && typeof detail === 'string' ? detail.split(' ') : [];
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
