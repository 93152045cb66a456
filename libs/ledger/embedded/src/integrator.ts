import { inSpan } from '@sealgate/observability';
import { checkedCheckpoints } from './checked-checkpoint.ts';
import { compareChannels, type Compared } from './loss/compare-channels.ts';
import { ComparisonSchedule, type ComparisonScheduleOptions } from './loss/comparison-schedule.ts';
import { isOutage } from './database-problem.ts';
import { channelOfLog, readCurrentLogs, type CurrentLog } from './epochs.ts';
import { HaltedChannels, readHalts, type HaltedChannelsOptions } from './halts.ts';
import { inGroups, integrateChannels, type Integrated, type IntegrateOptions } from './integrate-channels.ts';
import { needsComparison, LedgerCorruptError, LedgerNotContinuedError } from './ledger-corrupt-error.ts';
import { LogKeyStatements } from './log-keys.ts';
import { NewestCheckpoints, type SavedCheckpoints } from './saved-checkpoints.ts';

interface IntegratorOptions
  extends Omit<IntegrateOptions, 'checked' | 'logKeys'>, Omit<HaltedChannelsOptions, 'sql'>, ComparisonScheduleOptions {
  readonly saved: SavedCheckpoints;
  /** Interval between rounds. */
  readonly everyMs: number;
  readonly onSigned?: (log: string, note: string) => void;
  readonly onError?: (error: unknown) => void;
}

/** Rounds until a failed channel is retried. */
const RETRY_ROUNDS = 20;
/** Every so many rounds one idle channel is checked: its checkpoint may have been replaced. */
const IDLE_ROUNDS = 10;
/** Channels with at most LEAVES_TOGETHER new records share a transaction and a sync: at most this many. */
const CHANNELS_AT_ONCE = 128;
const LEAVES_TOGETHER = 512;

/**
 * The integrator of a process. Any number of processes may run one: a lock admits one at a time per channel. A corrupt
 * channel is halted and named, here and in the database, while the others continue; it resumes once it is restored. A
 * channel that lost records refuses appends until then.
 */
export class Integrator {
  readonly #options: IntegrateOptions & IntegratorOptions;
  readonly #newest: NewestCheckpoints;
  readonly #halted: HaltedChannels;
  readonly #comparison: ComparisonSchedule;
  /** The round in which a failed log is retried. */
  readonly #retryRound = new Map<string, number>();
  /** The last known current log of each channel. */
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

  /** Why each halted channel is not signed, by channel. */
  get halted(): ReadonlyMap<string, string> {
    return this.#halted.problems;
  }

  get channelCount(): number {
    return this.#channelCount;
  }

  /**
   * Compares every channel with its newest checkpoint kept outside the database, then starts the rounds.
   *
   * @throws LedgerNotContinuedError if no kept checkpoint was signed by a published key: this is another ledger.
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

  /** Compares one channel with its kept checkpoints now. */
  async compare(channel: string): Promise<void> {
    await this.#compareThese([channel]);
  }

  /** Integrates until the tree of a log holds `size` leaves, or all there are. */
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
      // The database is down: the next round retries. It may come back as an older one.
      if (isOutage(error)) return this.#comparison.restart();
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

  /** If the shared transaction fails, a single log may be at fault: each is then tried in its own transaction. */
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

  /** A failing channel does not stop the others; an outage of the database ends the round. */
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
    // Halts were already reported.
    if (!(error instanceof LedgerCorruptError)) this.#options.onError?.(error);
  }

  /**
   * Integrates the logs. Those locked by another process or ended are left out of the result; corrupt ones are halted.
   * @throws errors that concern all of them.
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

  /** Compares logs that this process has not seen before; returns those that do not continue their kept checkpoints. */
  async #problemsOf(logs: readonly string[]): Promise<Map<string, LedgerCorruptError>> {
    const problems = new Map<string, LedgerCorruptError>();
    for (const log of logs) {
      const halted = this.#halted.get(channelOfLog(log));
      // Only a comparison can find that it is whole again.
      if (halted !== undefined && needsComparison(halted, log)) problems.set(log, halted);
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

  /** Saves the new checkpoint outside the database, or halts the channel. */
  async #settle(log: string, result: Integrated | LedgerCorruptError): Promise<Integrated | Error> {
    try {
      if (result instanceof LedgerCorruptError) {
        // The cause may be lost records: report that instead.
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

  /** Every channel of the database, and every one with kept checkpoints. */
  async #channelsToCompare(): Promise<string[]> {
    const current = (await this.#currentLogs()).map(({ channel }) => channel);
    return [...new Set([...current, ...(await this.#options.saved.channels())])];
  }

  /** `look` may throw to reject the result. */
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
      // A failure must not stop the comparison of other channels.
      if (isAhead) await this.#newest.keep(log, current!).catch((error: unknown) => this.#options.onError?.(error));
      else this.#newest.read(log, current?.checkpoint);
      const known = this.#halted.get(channel);
      // An epoch resumes once its first checkpoint is kept.
      const isMended = halt?.isDeclared === true ? isKept : halt?.losses !== undefined || needsComparison(known, log);
      if (isMended) await this.#resume(log);
      // Other damage cannot be excluded by comparing: integrating shows whether it is gone.
      else if (halt !== undefined && known === undefined) this.#retryRound.set(log, this.#rounds);
    }
  }

  async #halt(log: string, error: LedgerCorruptError): Promise<void> {
    this.#retryRound.set(log, this.#rounds + RETRY_ROUNDS);
    try {
      await this.#halted.halt(channelOfLog(log), error);
    } catch (failure) {
      // Nothing is signed in any case. The next comparison stores the halt.
      this.#comparison.restart();
      if (!isOutage(failure)) this.#options.onError?.(failure);
    }
  }

  async #resume(log: string): Promise<void> {
    await this.#halted.resume(channelOfLog(log));
    this.#retryRound.delete(log);
  }

  /** Refreshes the current log of each channel. */
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
