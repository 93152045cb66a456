import type { Checkpoint } from '@sealgate/merkle';
import { LedgerForbiddenError, LedgerUnavailableError } from '@sealgate/ledger-port';
import { DatabaseRefusedError, DatabaseUnavailableError } from '@sealgate/storage';
import { checkedCheckpoints, type CheckedCheckpoint } from './checked-checkpoint.ts';
import { compareChannels, type CompareOptions, type Compared, type SignedCheckpoint } from './compare-channels.ts';
import { readHalts, storeHalt, storeResume } from './halts.ts';
import { integrateChannels, type Integrated, type IntegrateOptions } from './integrate-channels.ts';
import { LedgerCorruptError, LedgerLostError, LedgerNotContinuedError } from './ledger-corrupt-error.ts';
import type { SavedCheckpoints } from './saved-checkpoints.ts';

export interface IntegratorOptions extends Omit<IntegrateOptions, 'checked'> {
  readonly saved: SavedCheckpoints;
  /** How often work is looked for. */
  readonly everyMs: number;
  /** How often every channel is held against what is kept of it. */
  readonly compareEveryMs: number;
  readonly now: () => number;
  readonly onSigned?: (channel: string, size: number, head: number) => void;
  /** A channel was halted: nothing is signed for it until it is as it was left. */
  readonly onHalted?: (channel: string, problem: string) => void;
  readonly onResumed?: (channel: string) => void;
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
  readonly #compare: CompareOptions;
  /** The newest checkpoint this process knows of each channel; null where there was none yet. */
  readonly #newest = new Map<string, Checkpoint | null>();
  readonly #halted = new Map<string, LedgerCorruptError>();
  /** What the database says of halted channels: the problem of each. */
  readonly #stored = new Map<string, string>();
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
    this.#compare = this.#options;
  }

  /** Why a channel is not signed for any more, by channel. */
  get halted(): ReadonlyMap<string, string> {
    return new Map([...this.#halted].map(([channel, { message }]) => [channel, message]));
  }

  /** How many channels there are. */
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
        if (isOutage(done)) throw done;
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
      .map((channel) => ({ channel, signedLast: this.#newest.get(channel) ?? undefined }));
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
    for (const { channel, outcome, current } of await compareChannels(this.#compare, unknown, [])) {
      if (outcome instanceof Error) {
        await this.#halt(channel, outcome);
        problems.set(channel, outcome);
      } else this.#newest.set(channel, newerOf(this.#newest.get(channel), current?.checkpoint));
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
        this.#newest.set(channel, this.#checked(channel, result.note));
        await this.#options.saved.save(channel, result.note);
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
    const [compared] = await compareChannels(this.#compare, [channel], []);
    if (compared?.outcome instanceof Error) throw compared.outcome;
    this.#newest.set(channel, newerOf(this.#newest.get(channel), compared?.current?.checkpoint));
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
    const compared = await compareChannels(this.#compare, channels, halts);
    look(compared);
    const stored = new Map(halts.map((halt) => [halt.channel, halt]));
    for (const { channel, outcome, current, isAhead } of compared) {
      const halt = stored.get(channel);
      if (halt === undefined) this.#stored.delete(channel);
      else this.#stored.set(channel, halt.problem);
      if (outcome instanceof Error) {
        await this.#halt(channel, outcome);
        continue;
      }
      if (isAhead) await this.#keep(channel, current!);
      this.#newest.set(channel, newerOf(this.#newest.get(channel), current?.checkpoint));
      const known = this.#halted.get(channel);
      if (halt?.loss !== undefined || isOfKept(known)) await this.#resume(channel);
      // Other damage is not mended by being long enough: integrating shows whether it is.
      else if (halt !== undefined && known === undefined) this.#retryRound.set(channel, this.#rounds);
    }
  }

  /** What was signed and shown is kept, also where a crash came before its file. What this process signed it keeps itself. */
  async #keep(channel: string, { note, checkpoint }: SignedCheckpoint): Promise<void> {
    if ((this.#newest.get(channel)?.size ?? 0) < checkpoint.size) await this.#options.saved.save(channel, note);
  }

  async #halt(channel: string, error: LedgerCorruptError): Promise<void> {
    const isNew = this.#halted.get(channel)?.message !== error.message;
    this.#halted.set(channel, error);
    this.#retryRound.set(channel, this.#rounds + RETRY_ROUNDS);
    if (isNew) this.#options.onHalted?.(channel, error.message);
    if (this.#stored.get(channel) === error.message && !(error instanceof LedgerLostError)) return;
    try {
      await storeHalt(this.#options.sql, error, this.#options.now());
      this.#stored.set(channel, error.message);
    } catch (failure) {
      // Nothing is signed here in any case. The next comparison stores it.
      this.#compareAtMs = 0;
      if (!isOutage(failure)) this.#options.onError?.(failure);
    }
  }

  async #resume(channel: string): Promise<void> {
    if (this.#stored.has(channel)) await storeResume(this.#options.sql, channel);
    this.#stored.delete(channel);
    this.#retryRound.delete(channel);
    if (this.#halted.delete(channel)) this.#options.onResumed?.(channel);
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

/** What this process signed while it was asked may be newer than what it read. */
function newerOf(known: Checkpoint | null | undefined, read: Checkpoint | undefined): Checkpoint | null {
  return read !== undefined && (known == null || known.size < read.size) ? read : (known ?? null);
}

/** Found by comparing with what is kept, and by nothing else. */
const isOfKept = (error: LedgerCorruptError | undefined): boolean =>
  error instanceof LedgerLostError || error instanceof LedgerNotContinuedError;

const isSmall = ({ size, integrated }: ChannelRow): boolean => Number(size) - Number(integrated) <= LEAVES_TOGETHER;

/** What heals by itself. A right that is missing does not. */
const isOutage = (error: unknown): boolean => {
  if (error instanceof DatabaseRefusedError || error instanceof LedgerForbiddenError) return false;
  return error instanceof DatabaseUnavailableError || error instanceof LedgerUnavailableError;
};
