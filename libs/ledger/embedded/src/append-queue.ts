import type { UnitResult } from '@sealgate/ledger-port';
import { LedgerOverloadedError, LedgerUnavailableError, OutcomeUnknownError } from '@sealgate/ledger-port';
import { activeSpan, spanChannel, startSpan, withSpan, type Span } from '@sealgate/observability';
import type { PreparedUnit } from './prepared-unit.ts';

/** A unit on its way. `sent` is true while the database may have it: from then on silence means unknown. */
export interface WaitingUnit {
  readonly prepared: PreparedUnit;
  readonly deadlineMs: number;
  /** Of its append, where somebody traces, and of its time in the queue. */
  readonly span?: Span | undefined;
  readonly queued?: Span | undefined;
  sent: boolean;
  settled: boolean;
  /** Its caller was answered "unknown": whatever is learned of it later, it is still to be settled. */
  toldUnknown: boolean;
  resolve(result: UnitResult): void;
  reject(error: Error): void;
}

export interface AppendQueueLimits {
  /** Most units and bytes of one call. */
  readonly groupUnits: number;
  readonly groupBytes: number;
  /** Calls under way at once, no two of the same channel. */
  readonly running: number;
  /** Most units and bytes that may wait; one more is refused as overload. */
  readonly waitingUnits: number;
  readonly waitingBytes: number;
  /** How long a caller waits for the outcome. */
  readonly answerWithinMs: number;
}

export interface AppendQueueOptions {
  readonly limits: AppendQueueLimits;
  /** Whether a call may be of several channels. */
  readonly mixes: boolean;
  /** Ends every unit of the group, whatever happens; never rejects. */
  readonly run: (group: readonly WaitingUnit[]) => Promise<void>;
  readonly now: () => number;
}

/** The queue of one channel. */
interface Lane {
  waiting: WaitingUnit[];
  isRunning: boolean;
  /** Units answered since its last call began, less those added since: senders that are about to send again. */
  expected: number;
}

/** Interval of the deadline sweep while units are queued. */
const SWEEP_MS = 50;
/** A call is never split below this: its fixed cost is that of about ten units. */
const SMALLEST_SHARE = 16;

/**
 * Group commit without a timer: units collect while the call of their channel is under way, and the next call takes them.
 *
 * A call takes at most half of the units that the channel has in circulation: those waiting, and those just answered,
 * whose senders are about to send again. Otherwise one call ends up with nearly all of them, and this process idles while
 * the database works and the database idles while this process parses and answers. With two equal halves each works on one.
 *
 * Calls of one channel are serialised: they would block on the row of its head anyway, each holding a connection. Channels do
 * not block each other. If more channels have units than calls may run, they share a call, because the fixed cost of a call is
 * that of several units. A unit that shares a claim or an id with one of the group waits for the next group: within one call
 * each must be unique.
 */
export class AppendQueue {
  readonly #options: AppendQueueOptions;
  /**
   * The groups of calls under way. No Set of units: V8 links each table of a Set or Map to the one that took its place, so
   * once a table is old, all that later ones held is kept until the next full collection.
   */
  #underWay: (readonly WaitingUnit[])[] = [];
  /** The channels that have something to write, the one that waited longest first. */
  readonly #lanes = new Map<string, Lane>();
  #waitingUnits = 0;
  #waitingBytes = 0;
  #scheduled = false;
  #sweeper: NodeJS.Timeout | undefined;

  constructor(options: AppendQueueOptions) {
    this.#options = options;
  }

  /** Units that wait or are under way. */
  get depth(): number {
    return this.#underWay.reduce((sum, { length }) => sum + length, this.#waitingUnits);
  }

  add(prepared: PreparedUnit): Promise<UnitResult> {
    const { limits, now } = this.#options;
    if (this.#waitingUnits >= limits.waitingUnits || this.#waitingBytes + prepared.bytes > limits.waitingBytes) {
      return Promise.reject(new LedgerOverloadedError('More units are waiting than the ledger takes.'));
    }
    const { channel } = prepared.unit;
    const lane = this.#lanes.get(channel) ?? { waiting: [], isRunning: false, expected: 0 };
    return new Promise((resolve, reject) => {
      const unit: WaitingUnit = {
        prepared,
        deadlineMs: now() + limits.answerWithinMs,
        ...(spanChannel.hasSubscribers && { span: activeSpan(), queued: startSpan({ name: 'ledger queue' }) }),
        sent: false,
        settled: false,
        toldUnknown: false,
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

  /** Resolves when nothing waits and nothing runs. */
  async drained(): Promise<void> {
    while (this.depth > 0) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }

  /** One turn of the event loop later, so that what arrives in the same turn goes together. */
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
        // To the end of the line, or out of it.
        this.#lanes.delete(channel);
        if (lane.waiting.length > 0) this.#lanes.set(channel, lane);
      }
      this.#schedule();
    });
  }

  /** A group is written for all its units: as part of the first one's trace, with links to the others. */
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

  /** The most units of the next call of these channels. */
  #shareOf(ready: readonly (readonly [channel: string, lane: Lane])[]): number {
    const circulating = ready.reduce((sum, [, { waiting, expected }]) => sum + waiting.length + expected, 0);
    return Math.min(this.#options.limits.groupUnits, Math.max(SMALLEST_SHARE, Math.ceil(circulating / 2)));
  }

  /** Tells those who waited long enough what is known: never sent is unavailable, sent is unknown. */
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

  /** What nobody waits for takes no room from others. */
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
  unit.toldUnknown = unit.sent;
  unit.queued?.end('TIMEOUT');
  unit.reject(
    unit.sent
      ? new OutcomeUnknownError(unit.prepared.transactionIdHex)
      : new LedgerUnavailableError('The ledger did not take the unit in time.'),
  );
}

/** What the units of a group have taken already: claims, and ids by channel. */
class TakenNames {
  readonly #claims = new Set<string>();
  readonly #ids = new Map<string, Set<string>>();

  /** Enters the unit's claim and ids; false, and nothing entered, when one of them is taken. */
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
