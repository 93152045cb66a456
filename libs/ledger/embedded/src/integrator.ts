import { inSpan } from '@sealgate/observability';
import { checkedCheckpoints } from './checked-checkpoint.ts';
import { compareChannels, type Compared } from './compare-channels.ts';
import { ComparisonSchedule, type ComparisonScheduleOptions } from './comparison-schedule.ts';
import { isOutage } from './database-problem.ts';
import { channelOfLog, readCurrentLogs, type CurrentLog } from './epochs.ts';
import { HaltedChannels, readHalts, type HaltedChannelsOptions } from './halts.ts';
import { inGroups, integrateChannels, type Integrated, type IntegrateOptions } from './integrate-channels.ts';
import { isOfKept, LedgerCorruptError, LedgerNotContinuedError } from './ledger-corrupt-error.ts';
import { LogKeyStatements } from './log-keys.ts';
import { NewestCheckpoints } from './newest-checkpoints.ts';
import type { SavedCheckpoints } from './saved-checkpoints.ts';

export interface IntegratorOptions
  extends Omit<IntegrateOptions, 'checked' | 'logKeys'>, Omit<HaltedChannelsOptions, 'sql'>, ComparisonScheduleOptions {
  readonly saved: SavedCheckpoints;
  /** How often work is looked for. */
  readonly everyMs: number;
  readonly onSigned?: (log: string, note: string) => void;
  readonly onError?: (error: unknown) => void;
}

/** A channel that could not be integrated is tried again after so many rounds. */
const RETRY_ROUNDS = 20;
/** Once in so many rounds, the next channel without new records is looked at: its checkpoint may have been exchanged. */
const IDLE_ROUNDS = 10;
/** Channels with few new records share a transaction, a round trip and a sync; so many at most, with so many leaves each. */
const CHANNELS_AT_ONCE = 128;
const LEAVES_TOGETHER = 512;

/**
 * One integrator of a ledger. Any number of processes may run one: a lock lets one at a time work on a channel.
 * A channel that is not as it was left is halted and named, here and in the database; the others go on, and it does once
 * it was mended. One that lost records takes no more until then.
 */
export class Integrator {
  readonly #options: IntegrateOptions & IntegratorOptions;
  readonly #newest: NewestCheckpoints;
  readonly #halted: HaltedChannels;
  readonly #comparison: ComparisonSchedule;
  /** The round in which a log that failed is tried again. */
  readonly #retryRound = new Map<string, number>();
  /** The log that each channel was found to go on in. */
  readonly #logs = new Map<string, string>();
  #channelCount = 0;
  #rounds = 0;
  #idleTurn = 0;
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> | undefined;
  #stopped = false;

  constructor(options: IntegratorOptions) {
    const checked = checkedCheckpoints(options.origin, options.verifier);
    this.#options = { ...options, checked, logKeys: new LogKeyStatements(options) };
    this.#halted = new HaltedChannels(options);
    this.#comparison = new ComparisonSchedule(options);
    this.#newest = new NewestCheckpoints(options.saved);
  }

  /** Why a channel is not signed for any more, by channel. */
  get halted(): ReadonlyMap<string, string> {
    return this.#halted.problems;
  }

  get channelCount(): number {
    return this.#channelCount;
  }

  /**
   * Holds every channel against the newest checkpoint kept outside the database, then begins.
   *
   * @throws LedgerNotContinuedError when nothing that is kept was signed by this key: this is another ledger.
   */
  async start(): Promise<void> {
    await this.#compareThese(await this.#channelsToCompare(), (compared) => {
      const kept = compared.filter(({ isKept }) => isKept).map(({ outcome }) => outcome);
      const foreign = kept.filter((outcome) => outcome instanceof LedgerNotContinuedError);
      if (foreign[0] !== undefined && foreign.length === kept.length) throw foreign[0];
    });
    this.#comparison.done();
    this.#schedule();
  }

  /** Holds one channel against what is kept of it, now. */
  async compare(channel: string): Promise<void> {
    await this.#compareThese([channel]);
  }

  /** Integrates until the tree of a log holds `size` leaves, or as much as there is. */
  async catchUp(log: string, size: number): Promise<void> {
    for (;;) {
      const done = (await this.#integrate([log], this.#options.leavesAtOnce)).get(log);
      if (done instanceof Error) throw done;
      if (done === undefined || done.size >= size || done.size >= done.head) return;
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#round;
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.#round = this.#runRound().finally(() => this.#schedule());
    }, this.#options.everyMs);
  }

  async #runRound(): Promise<void> {
    this.#rounds += 1;
    try {
      await this.#comparison.run(
        () => this.#channelsToCompare(),
        (channels) => this.#compareThese(channels),
      );
      const logs = await this.#currentLogs();
      const waiting = logs.filter((row) => row.is_declared && row.integrated !== '0').map(({ channel }) => channel);
      if (waiting.length > 0) await this.#compareThese(waiting);
      const idle = this.#nextIdle(logs);
      const due = logs.filter((row) => row === idle || this.#isDue(row));
      const start = { name: 'ledger integrate', beginsTrace: due.some((row) => row.size !== row.integrated) };
      await inSpan(start, async () => {
        await inGroups(due.filter(isSmall), CHANNELS_AT_ONCE, (few) => this.#tryTogether(few));
        for (const row of due) if (!isSmall(row) && !this.#stopped) await this.#tryCatchUp(row);
      });
    } catch (error) {
      // The database is away: the next round tries again. It may come back as an older one.
      if (isOutage(error)) return this.#comparison.anew();
      this.#comparison.postpone();
      this.#options.onError?.(error);
    }
  }

  #isDue({ log, size, integrated }: CurrentLog): boolean {
    const retryRound = this.#retryRound.get(log);
    return retryRound === undefined ? size !== integrated : this.#rounds >= retryRound;
  }

  #nextIdle(logs: readonly CurrentLog[]): CurrentLog | undefined {
    if (this.#rounds % IDLE_ROUNDS !== 0) return undefined;
    this.#idleTurn += 1;
    const row = logs[this.#idleTurn % logs.length];
    return row === undefined || this.#retryRound.has(row.log) ? undefined : row;
  }

  /** Where the transaction of all fails, it may be one of them that is at fault: then each has its own. */
  async #tryTogether(rows: readonly CurrentLog[]): Promise<void> {
    if (this.#stopped) return;
    const logs = rows.map(({ log }) => log);
    try {
      for (const [log, done] of await this.#integrate(logs, LEAVES_TOGETHER)) {
        if (done instanceof Error && isOutage(done)) throw done;
        if (done instanceof Error) this.#leaveForLater(log, done);
      }
    } catch (error) {
      if (isOutage(error)) throw error;
      for (const row of rows) if (!this.#stopped) await this.#tryCatchUp(row);
    }
  }

  /** What is wrong with one channel keeps nobody from the next; an outage of the database ends the round. */
  async #tryCatchUp({ log, size }: CurrentLog): Promise<void> {
    try {
      await this.catchUp(log, Number(size));
    } catch (error) {
      if (isOutage(error)) throw error;
      this.#leaveForLater(log, error);
    }
  }

  #leaveForLater(log: string, error: unknown): void {
    this.#retryRound.set(log, this.#rounds + RETRY_ROUNDS);
    // Halted channels were told in their own place.
    if (!(error instanceof LedgerCorruptError)) this.#options.onError?.(error);
  }

  /**
   * What became of each log; one that another process holds is left out, and so is one that ended. Those that are not as they
   * were left are halted, and those alone. @throws what failed with all of them.
   */
  async #integrate(logs: readonly string[], leavesAtOnce: number): Promise<Map<string, Integrated | Error>> {
    const results = new Map<string, Integrated | Error>(await this.#problemsOf(logs));
    const work = logs
      .filter((log) => !results.has(log) && this.#newest.has(log))
      .map((log) => ({ log, signedLast: this.#newest.get(log) }));
    if (work.length === 0) return results;
    const done = await integrateChannels({ ...this.#options, leavesAtOnce }, work);
    await Promise.all([...done].map(async ([log, result]) => results.set(log, await this.#settle(log, result))));
    return results;
  }

  /** Of these logs, those that do not continue what was kept of them, where this process has not seen them before. */
  async #problemsOf(logs: readonly string[]): Promise<Map<string, LedgerCorruptError>> {
    const problems = new Map<string, LedgerCorruptError>();
    for (const log of logs) {
      const halted = this.#halted.get(channelOfLog(log));
      // Only the comparison finds that it is whole again.
      if (halted !== undefined && isOfKept(halted, log)) problems.set(log, halted);
    }
    const unknown = logs.filter((log) => !problems.has(log) && !this.#newest.has(log));
    if (unknown.length === 0) return problems;
    for (const { log, outcome, current } of await compareChannels(this.#options, unknown.map(channelOfLog), [])) {
      if (outcome instanceof Error) {
        await this.#halt(log, outcome);
        problems.set(log, outcome);
      } else this.#newest.read(log, current?.checkpoint);
    }
    return problems;
  }

  /** Keeps the new checkpoint outside the database, too; or halts the channel. */
  async #settle(log: string, result: Integrated | LedgerCorruptError): Promise<Integrated | Error> {
    try {
      if (result instanceof LedgerCorruptError) {
        // What is wrong may be that records were lost.
        const worse = (await this.#lossOf(channelOfLog(log)).catch(() => undefined)) ?? result;
        await this.#halt(log, worse);
        return worse;
      }
      if (result.note !== undefined) {
        await this.#newest.save(log, { note: result.note, checkpoint: this.#options.checked(log, result.note) });
        this.#options.onSigned?.(log, result.note);
      }
      await this.#resume(log);
      return result;
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  async #lossOf(channel: string): Promise<LedgerCorruptError | undefined> {
    const [compared] = await compareChannels(this.#options, [channel], []);
    if (compared?.outcome instanceof Error) return compared.outcome;
    if (compared !== undefined) this.#newest.read(compared.log, compared.current?.checkpoint);
    return undefined;
  }

  /** Every channel of the database, and every one of which something is kept. */
  async #channelsToCompare(): Promise<string[]> {
    const current = (await this.#currentLogs()).map(({ channel }) => channel);
    return [...new Set([...current, ...(await this.#options.saved.channels())])];
  }

  /** `look` may refuse what was found. */
  async #compareThese(channels: readonly string[], look?: (compared: readonly Compared[]) => void): Promise<void> {
    const halts = await readHalts(this.#options.sql);
    const compared = await compareChannels(this.#options, channels, halts);
    look?.(compared);
    const stored = new Map(halts.map((halt) => [halt.channel, halt]));
    for (const { channel, log, outcome, current, isKept, isAhead } of compared) {
      const halt = stored.get(channel);
      this.#halted.seen(channel, halt);
      if (outcome instanceof Error) {
        await this.#halt(log, outcome);
        continue;
      }
      // A failure keeps nobody from comparing the next channel.
      if (isAhead) await this.#newest.keep(log, current!).catch((error: unknown) => this.#options.onError?.(error));
      else this.#newest.read(log, current?.checkpoint);
      const known = this.#halted.get(channel);
      // An epoch is gone on with once its first checkpoint was found to be kept.
      const isMended = halt?.isDeclared === true ? isKept : halt?.losses !== undefined || isOfKept(known, log);
      if (isMended) await this.#resume(log);
      // Other damage is not mended by being long enough: integrating shows whether it is.
      else if (halt !== undefined && known === undefined) this.#retryRound.set(log, this.#rounds);
    }
  }

  async #halt(log: string, error: LedgerCorruptError): Promise<void> {
    this.#retryRound.set(log, this.#rounds + RETRY_ROUNDS);
    try {
      await this.#halted.halt(channelOfLog(log), error);
    } catch (failure) {
      // Nothing is signed here in any case. The next comparison stores it.
      this.#comparison.anew();
      if (!isOutage(failure)) this.#options.onError?.(failure);
    }
  }

  async #resume(log: string): Promise<void> {
    await this.#halted.resume(channelOfLog(log));
    this.#retryRound.delete(log);
  }

  /** The log that each channel goes on in. */
  async #currentLogs(): Promise<CurrentLog[]> {
    const rows = await readCurrentLogs(this.#options.sql);
    for (const { channel, log } of rows) {
      const before = this.#logs.get(channel);
      if (before !== undefined && before !== log) this.#newest.forget(before);
      this.#logs.set(channel, log);
    }
    this.#channelCount = rows.length;
    return rows;
  }
}

const isSmall = ({ size, integrated }: CurrentLog): boolean => Number(size) - Number(integrated) <= LEAVES_TOGETHER;
