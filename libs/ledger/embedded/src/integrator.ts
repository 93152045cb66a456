import { checkedCheckpoints, type CheckedCheckpoint } from './checked-checkpoint.ts';
import { compareChannels, type Compared } from './compare-channels.ts';
import { isOutage } from './database-problem.ts';
import { HaltedChannels, readHalts, type HaltedChannelsOptions } from './halts.ts';
import { integrateChannels, type Integrated, type IntegrateOptions } from './integrate-channels.ts';
import { isOfKept, LedgerCorruptError, LedgerNotContinuedError } from './ledger-corrupt-error.ts';
import { NewestCheckpoints } from './newest-checkpoints.ts';
import type { SavedCheckpoints } from './saved-checkpoints.ts';

export interface IntegratorOptions extends Omit<IntegrateOptions, 'checked'>, Omit<HaltedChannelsOptions, 'sql'> {
  readonly saved: SavedCheckpoints;
  /** How often work is looked for. */
  readonly everyMs: number;
  /** How often every channel is held against what is kept of it. */
  readonly compareEveryMs: number;
  readonly onSigned?: (channel: string, size: number, head: number) => void;
  readonly onError?: (error: unknown) => void;
}

interface ChannelRow {
  channel: string;
  size: string;
  integrated: string;
}

/** A channel that could not be integrated is tried again after so many rounds. */
const RETRY_ROUNDS = 20;
/** Once in so many rounds, the next channel without new records is looked at: its checkpoint may have been exchanged. */
const IDLE_ROUNDS = 10;
/** A round that failed otherwise than by an outage (checkpoints that cannot be read, say) is not repeated at once. */
const AFTER_FAILURE_MS = 1000;
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
  readonly #checked: CheckedCheckpoint;
  readonly #newest: NewestCheckpoints;
  readonly #halted: HaltedChannels;
  /** The round in which a channel that failed is tried again. */
  readonly #retryRound = new Map<string, number>();
  #channelCount = 0;
  #rounds = 0;
  #idleTurn = 0;
  #compareAtMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> | undefined;
  #stopped = false;

  constructor(options: IntegratorOptions) {
    this.#checked = checkedCheckpoints(options.origin, options.verifier);
    this.#options = { ...options, checked: this.#checked };
    this.#halted = new HaltedChannels(options);
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
    await this.#compareAll((compared) => {
      const kept = compared.filter(({ isKept }) => isKept).map(({ outcome }) => outcome);
      const foreign = kept.filter((outcome) => outcome instanceof LedgerNotContinuedError);
      if (foreign[0] !== undefined && foreign.length === kept.length) throw foreign[0];
    });
    this.#schedule();
  }

  /** Holds one channel against what is kept of it, now. */
  async compare(channel: string): Promise<void> {
    await this.#compareThese([channel], () => undefined);
  }

  /** Integrates until the channel's tree holds `size` leaves, or as much as there is. */
  async catchUp(channel: string, size: number): Promise<void> {
    for (;;) {
      const done = (await this.#integrate([channel], this.#options.leavesAtOnce)).get(channel);
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
      if (this.#options.now() >= this.#compareAtMs) await this.#compareAll(() => undefined);
      const channels = await this.#channels();
      const idle = this.#nextIdle(channels);
      const due = channels.filter((row) => row === idle || this.#isDue(row));
      const [few, many] = [due.filter(isSmall), due.filter((row) => !isSmall(row))];
      for (let at = 0; at < few.length; at += CHANNELS_AT_ONCE) {
        if (this.#stopped) return;
        await this.#tryTogether(few.slice(at, at + CHANNELS_AT_ONCE));
      }
      for (const row of many) {
        if (this.#stopped) return;
        await this.#tryCatchUp(row);
      }
    } catch (error) {
      // The database is away: the next round tries again. It may come back as an older one.
      this.#compareAtMs = isOutage(error) ? 0 : Math.max(this.#compareAtMs, this.#options.now() + AFTER_FAILURE_MS);
      if (!isOutage(error)) this.#options.onError?.(error);
    }
  }

  #isDue({ channel, size, integrated }: ChannelRow): boolean {
    const retryRound = this.#retryRound.get(channel);
    return retryRound === undefined ? size !== integrated : this.#rounds >= retryRound;
  }

  #nextIdle(channels: readonly ChannelRow[]): ChannelRow | undefined {
    if (this.#rounds % IDLE_ROUNDS !== 0) return undefined;
    this.#idleTurn += 1;
    const row = channels[this.#idleTurn % channels.length];
    return row === undefined || this.#retryRound.has(row.channel) ? undefined : row;
  }

  /** Where the transaction of all fails, it may be one of them that is at fault: then each has its own. */
  async #tryTogether(rows: readonly ChannelRow[]): Promise<void> {
    const channels = rows.map(({ channel }) => channel);
    try {
      for (const [channel, done] of await this.#integrate(channels, LEAVES_TOGETHER)) {
        if (done instanceof Error && isOutage(done)) throw done;
        if (done instanceof Error) this.#leaveForLater(channel, done);
      }
    } catch (error) {
      if (isOutage(error)) throw error;
      for (const row of rows) if (!this.#stopped) await this.#tryCatchUp(row);
    }
  }

  /** What is wrong with one channel keeps nobody from the next; an outage of the database ends the round. */
  async #tryCatchUp({ channel, size }: ChannelRow): Promise<void> {
    try {
      await this.catchUp(channel, Number(size));
    } catch (error) {
      if (isOutage(error)) throw error;
      this.#leaveForLater(channel, error);
    }
  }

  #leaveForLater(channel: string, error: unknown): void {
    this.#retryRound.set(channel, this.#rounds + RETRY_ROUNDS);
    // Halted channels were told in their own place.
    if (!(error instanceof LedgerCorruptError)) this.#options.onError?.(error);
  }

  /**
   * What became of each channel; one that another process holds is left out. Those that are not as they were left are halted,
   * and those alone. @throws what failed with all of them.
   */
  async #integrate(channels: readonly string[], leavesAtOnce: number): Promise<Map<string, Integrated | Error>> {
    const results = new Map<string, Integrated | Error>(await this.#problemsOf(channels));
    const work = channels
      .filter((channel) => !results.has(channel))
      .map((channel) => ({ channel, signedLast: this.#newest.get(channel) }));
    if (work.length === 0) return results;
    const done = await integrateChannels({ ...this.#options, leavesAtOnce }, work);
    await Promise.all(
      [...done].map(async ([channel, result]) => results.set(channel, await this.#settle(channel, result))),
    );
    return results;
  }

  /** Of these channels, those that do not continue what was kept of them, where this process has not seen them before. */
  async #problemsOf(channels: readonly string[]): Promise<Map<string, LedgerCorruptError>> {
    const problems = new Map<string, LedgerCorruptError>();
    for (const channel of channels) {
      const halted = this.#halted.get(channel);
      // Only the comparison finds that it is whole again.
      if (halted !== undefined && isOfKept(halted)) problems.set(channel, halted);
    }
    const unknown = channels.filter((channel) => !problems.has(channel) && !this.#newest.has(channel));
    if (unknown.length === 0) return problems;
    for (const { channel, outcome, current } of await compareChannels(this.#options, unknown, [])) {
      if (outcome instanceof Error) {
        await this.#halt(channel, outcome);
        problems.set(channel, outcome);
      } else this.#newest.read(channel, current?.checkpoint);
    }
    return problems;
  }

  /** Keeps the new checkpoint outside the database, too; or halts the channel. */
  async #settle(channel: string, result: Integrated | LedgerCorruptError): Promise<Integrated | Error> {
    try {
      if (result instanceof LedgerCorruptError) {
        // What is wrong may be that records were lost.
        const worse = await this.#mustContinue(channel).then(
          () => result,
          (found: unknown) => (found instanceof LedgerCorruptError ? found : result),
        );
        await this.#halt(channel, worse);
        return worse;
      }
      if (result.note !== undefined) {
        await this.#newest.save(channel, { note: result.note, checkpoint: this.#checked(channel, result.note) });
        this.#options.onSigned?.(channel, result.size, result.head);
      }
      await this.#resume(channel);
      return result;
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  /** @throws LedgerCorruptError */
  async #mustContinue(channel: string): Promise<void> {
    const [compared] = await compareChannels(this.#options, [channel], []);
    if (compared?.outcome instanceof Error) throw compared.outcome;
    this.#newest.read(channel, compared?.current?.checkpoint);
  }

  /** Every channel of the database, and every one of which something is kept. `look` may refuse what was found. */
  async #compareAll(look: (compared: readonly Compared[]) => void): Promise<void> {
    const { saved, now, compareEveryMs } = this.#options;
    const names = new Set([...(await this.#channels()).map(({ channel }) => channel), ...(await saved.channels())]);
    await this.#compareThese([...names], look);
    this.#compareAtMs = now() + compareEveryMs;
  }

  async #compareThese(channels: readonly string[], look: (compared: readonly Compared[]) => void): Promise<void> {
    const halts = await readHalts(this.#options.sql);
    const compared = await compareChannels(this.#options, channels, halts);
    look(compared);
    const stored = new Map(halts.map((halt) => [halt.channel, halt]));
    for (const { channel, outcome, current, isAhead } of compared) {
      const halt = stored.get(channel);
      this.#halted.seen(channel, halt);
      if (outcome instanceof Error) {
        await this.#halt(channel, outcome);
        continue;
      }
      // A failure keeps nobody from comparing the next channel.
      if (isAhead) await this.#newest.keep(channel, current!).catch((error: unknown) => this.#options.onError?.(error));
      else this.#newest.read(channel, current?.checkpoint);
      const known = this.#halted.get(channel);
      if (halt?.loss !== undefined || isOfKept(known)) await this.#resume(channel);
      // Other damage is not mended by being long enough: integrating shows whether it is.
      else if (halt !== undefined && known === undefined) this.#retryRound.set(channel, this.#rounds);
    }
  }

  async #halt(channel: string, error: LedgerCorruptError): Promise<void> {
    this.#retryRound.set(channel, this.#rounds + RETRY_ROUNDS);
    try {
      await this.#halted.halt(channel, error);
    } catch (failure) {
      // Nothing is signed here in any case. The next comparison stores it.
      this.#compareAtMs = 0;
      if (!isOutage(failure)) this.#options.onError?.(failure);
    }
  }

  async #resume(channel: string): Promise<void> {
    await this.#halted.resume(channel);
    this.#retryRound.delete(channel);
  }

  async #channels(): Promise<ChannelRow[]> {
    const channels = await this.#options.sql.query<ChannelRow>({
      name: 'ledger channels',
      text: 'SELECT channel, size, integrated FROM ledger.channels_v1()',
    });
    this.#channelCount = channels.length;
    return channels;
  }
}

const isSmall = ({ size, integrated }: ChannelRow): boolean => Number(size) - Number(integrated) <= LEAVES_TOGETHER;
