import { consistencyPath, parseCheckpoint, verifyConsistency, type Checkpoint } from '@sealgate/merkle';
import { DatabaseUnavailableError } from '@sealgate/storage';
import { integrateChannel, type Integrated, type IntegrateOptions } from './integrate-channel.ts';
import { LedgerCorruptError } from './ledger-corrupt-error.ts';
import type { SavedCheckpoints } from './saved-checkpoints.ts';
import { tileReader } from './tile-store.ts';

export interface IntegratorOptions extends IntegrateOptions {
  readonly saved: SavedCheckpoints;
  /** How often work is looked for. */
  readonly everyMs: number;
  readonly onSigned?: (channel: string, size: number, head: number) => void;
  /** A channel was halted: nothing is signed for it until the process is started again. */
  readonly onHalted?: (channel: string, problem: string) => void;
  readonly onError?: (error: unknown) => void;
}

interface ChannelRow {
  channel: string;
  size: string;
  integrated: string;
}

/** One integrator of a ledger. Any number of processes may run one: an advisory lock lets one at a time work on a channel. */
export class Integrator {
  readonly #options: IntegratorOptions;
  /** The newest checkpoint this process knows of each channel; null where there was none yet. */
  readonly #newest = new Map<string, Checkpoint | null>();
  readonly #halted = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> | undefined;
  #stopped = false;

  constructor(options: IntegratorOptions) {
    this.#options = options;
  }

  /** Why a channel is not signed for any more, by channel. */
  get halted(): ReadonlyMap<string, string> {
    return this.#halted;
  }

  /**
   * Holds every channel against the newest checkpoint kept outside the database, then begins.
   *
   * @throws LedgerCorruptError when the database is behind it, or is not the log it was signed over.
   */
  async start(): Promise<void> {
    for (const { channel } of await this.#channels()) await this.#checkSaved(channel);
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
    try {
      for (const { channel, size, integrated } of await this.#channels()) {
        if (size === integrated || this.#halted.has(channel) || this.#stopped) continue;
        await this.catchUp(channel, Number(size));
      }
    } catch (error) {
      // The database is away: the next round tries again. Halted channels were told in their own place.
      if (!(error instanceof DatabaseUnavailableError || error instanceof LedgerCorruptError))
        this.#options.onError?.(error);
    }
  }

  async #integrate(channel: string): Promise<Integrated | undefined> {
    try {
      if (!this.#newest.has(channel)) await this.#checkSaved(channel);
      const done = await integrateChannel(this.#options, channel, this.#newest.get(channel) ?? undefined);
      if (done?.note !== undefined) {
        this.#newest.set(channel, parseCheckpoint(done.note));
        await this.#options.saved.save(channel, done.note);
        this.#options.onSigned?.(channel, done.size, done.head);
      }
      return done;
    } catch (error) {
      if (error instanceof LedgerCorruptError) this.#halt(channel, error.message);
      throw error;
    }
  }

  #halt(channel: string, problem: string): void {
    if (this.#halted.has(channel)) return;
    this.#halted.set(channel, problem);
    this.#options.onHalted?.(channel, problem);
  }

  /** The kept checkpoint must be of this log, and the log must not end before it. */
  async #checkSaved(channel: string): Promise<void> {
    const { saved, sql, verifier, deadlineMs } = this.#options;
    const keptNote = await saved.newest(channel);
    if (keptNote === undefined) {
      this.#newest.set(channel, null);
    } else {
      if (verifier.verify(keptNote) === undefined) {
        throw new LedgerCorruptError(channel, 'the newest kept checkpoint does not carry our signature');
      }
      const kept = parseCheckpoint(keptNote);
      const [row] = await sql.query<{ note: string | null }>({
        text: 'SELECT ledger.checkpoint_v1($1) AS note',
        values: [channel],
      });
      const current = row?.note == null ? undefined : parseCheckpoint(row.note);
      if (current === undefined || current.size < kept.size) {
        throw new LedgerCorruptError(
          channel,
          `the database was rolled back: it holds ${current?.size ?? 0} signed records, ${kept.size} were signed for`,
        );
      }
      const path = await consistencyPath(kept.size, current.size, tileReader(sql, channel, deadlineMs));
      const sizes = { oldSize: kept.size, newSize: current.size };
      if (!verifyConsistency({ ...sizes, path, oldRoot: kept.root, newRoot: current.root })) {
        throw new LedgerCorruptError(
          channel,
          `the log is a fork: it does not continue the checkpoint kept at ${kept.size}`,
        );
      }
      this.#newest.set(channel, current);
    }
  }

  #channels(): Promise<ChannelRow[]> {
    return this.#options.sql.query<ChannelRow>({
      name: 'ledger channels',
      text: 'SELECT channel, size, integrated FROM ledger.channels_v1()',
    });
  }
}
