import {
  LedgerOverloadedError,
  LedgerUnavailableError,
  OutcomeUnknownError,
  type UnitResult,
} from '@sealgate/ledger-port';
import { activeSpan, spanChannel, startSpan, withSpan, type Span } from '@sealgate/observability';
import type { PreparedUnit } from './append-statement.ts';

/** A queued or running unit. `sent`: the database may have it, so that no response means an unknown outcome. */
export interface WaitingUnit {
  readonly prepared: PreparedUnit;
  readonly deadlineMs: number;
  /** Trace spans of its append and of its time in the queue. */
  readonly span?: Span | undefined;
  readonly queued?: Span | undefined;
  sent: boolean;
  settled: boolean;
  /** Its caller got "unknown": it must still be settled. */
  answeredUnknown: boolean;
  resolve(result: UnitResult): void;
  reject(error: Error): void;
}

export interface AppendQueueLimits {
  /** Maximum units and bytes of one call. */
  readonly groupUnits: number;
  readonly groupBytes: number;
  /** Maximum concurrent calls, at most one per channel. */
  readonly running: number;
  /** Maximum queued units and bytes; beyond them units are rejected as overload. */
  readonly waitingUnits: number;
  readonly waitingBytes: number;
  /** Deadline of a caller. */
  readonly answerWithinMs: number;
}

interface AppendQueueOptions {
  readonly limits: AppendQueueLimits;
  /** Whether a call may contain several channels. */
  readonly mixes: boolean;
  /** Ends every unit of the group in any case; never rejects. */
  readonly run: (group: readonly WaitingUnit[]) => Promise<void>;
  readonly now: () => number;
}

/** The queue of one channel. */
interface Lane {
  waiting: WaitingUnit[];
  isRunning: boolean;
  /** Units answered since its last call began, minus those added since: senders about to send again. */
  expected: number;
}

/** Interval of the deadline sweep while units are queued. */
const SWEEP_MS = 50;
/** A call is never split below this: its fixed cost is that of about ten units. */
const SMALLEST_SHARE = 16;

/**
 * Group commit without a timer: units collect while the call of their channel is running, and the next call takes them.
 *
 * A call takes at most half of the units that the channel has in circulation: those waiting, and those just answered,
 * whose senders are about to send again. Otherwise one call ends up with nearly all of them, and this process idles
 * while the database works and the database idles while this process parses and answers. With two equal halves each
 * works on one.
 *
 * Calls of one channel are serialised: they would block on the row of its head anyway, each holding a connection.
 * Channels do not block each other. If more channels have units than calls may run, they share a call, because the
 * fixed cost of a call is that of several units. A unit that shares a claim or an id with one of the group waits for
 * the next group: within one call each must be unique.
 */
export class AppendQueue {
  readonly #options: AppendQueueOptions;
  /**
   * The groups of running calls. Not a Set of units: V8 links each table of a Set or Map to its replacement, so once a
   * table is old, everything later ones held is retained until the next full collection.
   */
  #underWay: (readonly WaitingUnit[])[] = [];
  /** Channels with queued units, longest waiting first. */
  readonly #lanes = new Map<string, Lane>();
  #waitingUnits = 0;
  #waitingBytes = 0;
  #scheduled = false;
  #sweeper: NodeJS.Timeout | undefined;

  constructor(options: AppendQueueOptions) {
    this.#options = options;
  }

  /** Queued and running units. */
  get depth(): number {
    return this.#underWay.reduce((sum, { length }) => sum + length, this.#waitingUnits);
  }

  add(prepared: PreparedUnit): Promise<UnitResult> {
    const { limits, now } = this.#options;
    if (this.#waitingUnits >= limits.waitingUnits || this.#waitingBytes + prepared.bytes > limits.waitingBytes) {
      return Promise.reject(new LedgerOverloadedError('The queue of the ledger is full.'));
    }
    const { channel } = prepared.unit;
    const lane = this.#lanes.get(channel) ?? { waiting: [], isRunning: false, expected: 0 };
    const isTraced = spanChannel.hasSubscribers;
    return new Promise((resolve, reject) => {
      const unit: WaitingUnit = {
        prepared,
        deadlineMs: now() + limits.answerWithinMs,
        span: isTraced ? activeSpan() : undefined,
        queued: isTraced ? startSpan({ name: 'ledger queue' }) : undefined,
        sent: false,
        settled: false,
        answeredUnknown: false,
        resolve(result) {
          lane.expected += 1;
          resolve(result);
        },
        reject,
      };
      lane.waiting.push(unit);
      lane.expected = Math.max(0, lane.expected - 1);
      this.#lanes.set(channel, lane);
      this.#waitingUnits += 1;
      this.#waitingBytes += prepared.bytes;
      this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_MS);
      this.#schedule();
    });
  }

  /** Resolves when nothing is queued or running. */
  async drained(): Promise<void> {
    while (this.depth > 0) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }

  /** Deferred to the next turn of the event loop, so that units added in the same turn share a call. */
  #schedule(): void {
    if (this.#scheduled || this.#underWay.length >= this.#options.limits.running || this.#waitingUnits === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      const free = this.#options.limits.running - this.#underWay.length;
      const ready = [...this.#lanes].filter(([, { isRunning, waiting }]) => !isRunning && waiting.length > 0);
      if (this.#options.mixes && ready.length > free) this.#start(ready);
      else for (const one of ready.slice(0, free)) this.#start([one]);
    });
  }

  #start(ready: readonly (readonly [channel: string, lane: Lane])[]): void {
    const { group, taken } = this.#takeGroup(ready);
    if (group.length === 0) return;
    for (const [, lane] of taken) lane.isRunning = true;
    this.#underWay.push(group);
    const run = spanChannel.hasSubscribers ? this.#runTraced(group) : this.#options.run(group);
    void run.then(() => {
      this.#underWay = this.#underWay.filter((other) => other !== group);
      for (const [channel, lane] of taken) {
        lane.isRunning = false;
        // Moves to the end of the order, or is removed.
        this.#lanes.delete(channel);
        if (lane.waiting.length > 0) this.#lanes.set(channel, lane);
      }
      this.#schedule();
    });
  }

  /** Traces the call of a group below its first unit's span, with links to the others. */
  async #runTraced(group: readonly WaitingUnit[]): Promise<void> {
    for (const { queued } of group) queued?.end();
    const [parent = null, ...links] = group.flatMap(({ span }) => (span?.isSampled === true ? [span] : []));
    const span = startSpan({ name: 'ledger write', parent, links, attributes: { 'sealgate.units': group.length } });
    await withSpan(span, () => this.#options.run(group));
    span?.end();
  }

  #takeGroup<Ready extends readonly [channel: string, lane: Lane]>(
    ready: readonly Ready[],
  ): { group: WaitingUnit[]; taken: Ready[] } {
    const { groupBytes } = this.#options.limits;
    const groupUnits = this.#shareOf(ready);
    const group: WaitingUnit[] = [];
    const names = new TakenNames();
    let bytes = 0;
    const taken = ready.filter(([, lane]) => {
      const left: WaitingUnit[] = [];
      for (const unit of lane.waiting) {
        const fits = group.length < groupUnits && (group.length === 0 || bytes + unit.prepared.bytes <= groupBytes);
        if (!fits || !names.enter(unit.prepared)) {
          left.push(unit);
          continue;
        }
        bytes += unit.prepared.bytes;
        group.push(unit);
      }
      const isTaken = left.length < lane.waiting.length;
      lane.waiting = left;
      if (isTaken) lane.expected = 0;
      return isTaken;
    });
    this.#waitingUnits -= group.length;
    this.#waitingBytes -= bytes;
    return { group, taken };
  }

  /** Maximum units of the next call of these channels. */
  #shareOf(ready: readonly (readonly [channel: string, lane: Lane])[]): number {
    const circulating = ready.reduce((sum, [, { waiting, expected }]) => sum + waiting.length + expected, 0);
    return Math.min(this.#options.limits.groupUnits, Math.max(SMALLEST_SHARE, Math.ceil(circulating / 2)));
  }

  /** Answers callers whose deadline has passed: unavailable if the unit was never sent, unknown otherwise. */
  #sweep(): void {
    if (this.depth === 0) {
      clearInterval(this.#sweeper);
      this.#sweeper = undefined;
      return;
    }
    const now = this.#options.now();
    for (const group of this.#underWay) for (const unit of group) tellIfLate(unit, now);
    for (const [channel, lane] of this.#lanes) {
      for (const unit of lane.waiting) tellIfLate(unit, now);
      this.#dropSettled(channel, lane);
    }
  }

  /** Removes settled units, which frees their space in the queue. */
  #dropSettled(channel: string, lane: Lane): void {
    const gone = lane.waiting.filter(({ settled }) => settled);
    if (gone.length === 0) return;
    for (const { prepared } of gone) this.#waitingBytes -= prepared.bytes;
    this.#waitingUnits -= gone.length;
    lane.waiting = lane.waiting.filter(({ settled }) => !settled);
    if (lane.waiting.length === 0 && !lane.isRunning) this.#lanes.delete(channel);
  }
}

function tellIfLate(unit: WaitingUnit, now: number): void {
  if (unit.settled || now < unit.deadlineMs) return;
  unit.settled = true;
  unit.answeredUnknown = unit.sent;
  unit.queued?.end('TIMEOUT');
  unit.reject(
    unit.sent
      ? new OutcomeUnknownError(unit.prepared.transactionIdHex)
      : new LedgerUnavailableError('The unit was not sent to the ledger in time.'),
  );
}

/** Claims, and ids by channel, of the units in a group. */
class TakenNames {
  readonly #claims = new Set<string>();
  readonly #ids = new Map<string, Set<string>>();

  /** Adds the unit's claim and ids; false, with nothing added, if one of them is present. */
  enter({ unit }: PreparedUnit): boolean {
    const claim = unit.claim?.claim.toString('latin1');
    const ids = this.#ids.get(unit.channel);
    if (claim !== undefined && this.#claims.has(claim)) return false;
    if (ids !== undefined && unit.records.some(({ id }) => ids.has(id))) return false;
    if (claim !== undefined) this.#claims.add(claim);
    const into = ids ?? new Set();
    if (ids === undefined) this.#ids.set(unit.channel, into);
    for (const { id } of unit.records) into.add(id);
    return true;
  }
}
