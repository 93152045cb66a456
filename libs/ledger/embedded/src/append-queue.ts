import type { UnitResult } from '@sealgate/ledger-port';
import { LedgerOverloadedError, LedgerUnavailableError, OutcomeUnknownError } from '@sealgate/ledger-port';
import type { PreparedUnit } from './prepared-unit.ts';

/** A unit on its way. `sent` is true while the database may have it: from then on silence means unknown. */
export interface WaitingUnit {
  readonly prepared: PreparedUnit;
  readonly deadlineMs: number;
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
  /** Calls under way at once: the second is sent and parsed while the first waits for the disk. */
  readonly running: number;
  /** Most units and bytes that may wait; one more is refused as overload. */
  readonly waitingUnits: number;
  readonly waitingBytes: number;
  /** How long a caller waits for the outcome. */
  readonly answerWithinMs: number;
}

export interface AppendQueueOptions {
  readonly limits: AppendQueueLimits;
  /** Ends every unit of the group, whatever happens; never rejects. */
  readonly run: (group: readonly WaitingUnit[]) => Promise<void>;
  readonly now: () => number;
}

/** How often deadlines are looked at while anything waits. */
const SWEEP_MS = 50;

/**
 * Group commit without a timer: while the calls that may run are running, units collect; the next call takes all that
 * fit. A unit that shares a claim or an id with one of the group waits for the next group, because within one call
 * each may stand once only.
 */
export class AppendQueue {
  readonly #options: AppendQueueOptions;
  readonly #alive = new Set<WaitingUnit>();
  #queue: WaitingUnit[] = [];
  #queuedBytes = 0;
  #running = 0;
  #scheduled = false;
  #sweeper: NodeJS.Timeout | undefined;

  constructor(options: AppendQueueOptions) {
    this.#options = options;
  }

  /** Units that wait or are under way. */
  get depth(): number {
    return this.#alive.size;
  }

  add(prepared: PreparedUnit): Promise<UnitResult> {
    const { limits, now } = this.#options;
    if (this.#queue.length >= limits.waitingUnits || this.#queuedBytes + prepared.bytes > limits.waitingBytes) {
      return Promise.reject(new LedgerOverloadedError('More units are waiting than the ledger takes.'));
    }
    return new Promise((resolve, reject) => {
      const unit: WaitingUnit = {
        prepared,
        deadlineMs: now() + limits.answerWithinMs,
        sent: false,
        settled: false,
        toldUnknown: false,
        resolve,
        reject,
      };
      this.#queue.push(unit);
      this.#queuedBytes += prepared.bytes;
      this.#alive.add(unit);
      this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_MS);
      this.#schedule();
    });
  }

  /** Resolves when nothing waits and nothing runs. */
  async drained(): Promise<void> {
    while (this.#running > 0 || this.#queue.length > 0) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }

  /** One turn of the event loop later, so that what arrives in the same turn goes together. */
  #schedule(): void {
    if (this.#scheduled || this.#running >= this.#options.limits.running || this.#queue.length === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#start();
    });
  }

  #start(): void {
    const group = this.#takeGroup();
    if (group.length === 0) return;
    this.#running += 1;
    void this.#options.run(group).then(() => {
      this.#running -= 1;
      for (const unit of group) this.#alive.delete(unit);
      this.#schedule();
    });
    this.#schedule();
  }

  #takeGroup(): WaitingUnit[] {
    const { groupUnits, groupBytes } = this.#options.limits;
    const group: WaitingUnit[] = [];
    const left: WaitingUnit[] = [];
    const taken = new TakenNames();
    let bytes = 0;
    for (const unit of this.#queue) {
      if (unit.settled) {
        this.#queuedBytes -= unit.prepared.bytes;
        continue;
      }
      const fits = group.length < groupUnits && (group.length === 0 || bytes + unit.prepared.bytes <= groupBytes);
      if (!fits || !taken.enter(unit.prepared)) {
        left.push(unit);
        continue;
      }
      bytes += unit.prepared.bytes;
      group.push(unit);
    }
    this.#queue = left;
    this.#queuedBytes -= bytes;
    return group;
  }

  /** Tells those who waited long enough what is known: never sent is unavailable, sent is unknown. */
  #sweep(): void {
    if (this.#alive.size === 0) {
      clearInterval(this.#sweeper);
      this.#sweeper = undefined;
      return;
    }
    const now = this.#options.now();
    for (const unit of this.#alive) {
      if (unit.settled || now < unit.deadlineMs) continue;
      unit.settled = true;
      unit.toldUnknown = unit.sent;
      unit.reject(
        unit.sent
          ? new OutcomeUnknownError(unit.prepared.transactionIdHex)
          : new LedgerUnavailableError('The ledger did not take the unit in time.'),
      );
      if (!unit.sent) this.#alive.delete(unit);
    }
  }
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
