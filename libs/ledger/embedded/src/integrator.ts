import { consistencyPath, verifyConsistency, type Checkpoint } from '@sealgate/merkle';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import { DatabaseUnavailableError } from '@sealgate/storage';
import { checkedCheckpoints, signersOf, type CheckedCheckpoint } from './checked-checkpoint.ts';
import { integrateChannel, type Integrated, type IntegrateOptions } from './integrate-channel.ts';
import { LedgerNotContinuedError, LedgerCorruptError } from './ledger-corrupt-error.ts';
import type { SavedCheckpoints } from './saved-checkpoints.ts';
import { tileReader } from './tile-store.ts';

export interface IntegratorOptions extends Omit<IntegrateOptions, 'checked'> {
  readonly saved: SavedCheckpoints;
  /** How often work is looked for. */
  readonly everyMs: number;
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

/**
 * One integrator of a ledger. Any number of processes may run one: a lock lets one at a time work on a channel.
 * A channel that is not as it was left is halted and named; the others go on, and it does once it was mended.
 */
export class Integrator {
  readonly #options: IntegrateOptions & IntegratorOptions;
  readonly #checked: CheckedCheckpoint;
  /** The newest checkpoint this process knows of each channel; null where there was none yet. */
  readonly #newest = new Map<string, Checkpoint | null>();
  readonly #halted = new Map<string, string>();
  /** The round in which a channel that failed is tried again. */
  readonly #retryRound = new Map<string, number>();
  #channelCount = 0;
  #rounds = 0;
  #idleTurn = 0;
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> | undefined;
  #stopped = false;

  constructor(options: IntegratorOptions) {
    this.#checked = checkedCheckpoints(options.origin, options.verifier);
    this.#options = { ...options, checked: this.#checked };
  }

  /** Why a channel is not signed for any more, by channel. */
  get halted(): ReadonlyMap<string, string> {
    return this.#halted;
  }

  /** How many channels there are. */
  get channelCount(): number {
    return this.#channelCount;
  }

  /**
   * Holds every channel against the newest checkpoint kept outside the database, then begins.
   *
   * @throws LedgerNotContinuedError when no channel continues what was kept of it: the database as a whole is an older one, or
   *   another. One channel that does not is halted.
   */
  async start(): Promise<void> {
    const behind: LedgerNotContinuedError[] = [];
    let kept = 0;
    for (const { channel } of await this.#channels()) {
      try {
        if (await this.#checkSaved(channel)) kept += 1;
      } catch (error) {
        if (!(error instanceof LedgerCorruptError)) throw error;
        if (error instanceof LedgerNotContinuedError) behind.push(error);
        else kept += 1;
        this.#halt(channel, error.message);
      }
    }
    if (kept === 0 && behind[0] !== undefined) throw behind[0];
    this.#schedule();
  }

  /** Integrates until the channel's tree holds `size` leaves, or as much as there is. */
  async catchUp(channel: string, size: number): Promise<void> {
    for (;;) {
      const done = await this.#integrate(channel);
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
      const channels = await this.#channels();
      const idle = this.#nextIdle(channels);
      for (const row of channels) {
        if (this.#stopped) return;
        if (row === idle || this.#isDue(row)) await this.#tryCatchUp(row);
      }
    } catch (error) {
      // The database is away: the next round tries again.
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

  /** What is wrong with one channel keeps nobody from the next; an outage of the database ends the round. */
  async #tryCatchUp({ channel, size }: ChannelRow): Promise<void> {
    try {
      await this.catchUp(channel, Number(size));
    } catch (error) {
      if (isOutage(error)) throw error;
      this.#retryRound.set(channel, this.#rounds + RETRY_ROUNDS);
      // Halted channels were told in their own place.
      if (!(error instanceof LedgerCorruptError)) this.#options.onError?.(error);
    }
  }

  async #integrate(channel: string): Promise<Integrated | undefined> {
    try {
      if (!this.#newest.has(channel)) await this.#checkSaved(channel);
      const done = await integrateChannel(this.#options, channel, this.#newest.get(channel) ?? undefined);
      if (done?.note !== undefined) {
        this.#newest.set(channel, this.#checked(channel, done.note));
        await this.#options.saved.save(channel, done.note);
        this.#options.onSigned?.(channel, done.size, done.head);
      }
      // Another process that holds the channel says nothing of it.
      if (done !== undefined) this.#resume(channel);
      return done;
    } catch (error) {
      if (error instanceof LedgerCorruptError) this.#halt(channel, error.message);
      throw error;
    }
  }

  #halt(channel: string, problem: string): void {
    const isNew = this.#halted.get(channel) !== problem;
    this.#halted.set(channel, problem);
    this.#retryRound.set(channel, this.#rounds + RETRY_ROUNDS);
    if (isNew) this.#options.onHalted?.(channel, problem);
  }

  #resume(channel: string): void {
    this.#retryRound.delete(channel);
    if (this.#halted.delete(channel)) this.#options.onResumed?.(channel);
  }

  /**
   * The kept checkpoint must be of this log, and the log must not end before it. False: none is kept.
   * @throws LedgerCorruptError
   */
  async #checkSaved(channel: string): Promise<boolean> {
    const { saved, sql, verifier, deadlineMs } = this.#options;
    const keptNote = await saved.newest(channel);
    if (keptNote === undefined) {
      this.#newest.set(channel, null);
      return false;
    }
    if (verifier.verify(keptNote) === undefined) {
      const by = signersOf(keptNote);
      throw new LedgerNotContinuedError(
        channel,
        `the newest kept checkpoint is signed by no published key, but by ${by}`,
      );
    }
    const kept = this.#checked(channel, keptNote);
    const [row] = await sql.query<{ note: string | null }>({
      text: 'SELECT ledger.checkpoint_v1($1) AS note',
      values: [channel],
    });
    const current = row?.note == null ? undefined : this.#checked(channel, row.note);
    if (current === undefined || current.size < kept.size) {
      throw new LedgerNotContinuedError(
        channel,
        `the database was rolled back: it holds ${current?.size ?? 0} signed records, ${kept.size} were signed for`,
      );
    }
    const path = await consistencyPath(kept.size, current.size, tileReader(sql, channel, deadlineMs));
    const sizes = { oldSize: kept.size, newSize: current.size };
    if (!verifyConsistency({ ...sizes, path, oldRoot: kept.root, newRoot: current.root })) {
      throw new LedgerNotContinuedError(
        channel,
        `the log is a fork: it does not continue the checkpoint kept at ${kept.size}`,
      );
    }
    this.#newest.set(channel, current);
    return true;
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

const isOutage = (error: unknown): boolean =>
  error instanceof DatabaseUnavailableError || error instanceof LedgerUnavailableError;
