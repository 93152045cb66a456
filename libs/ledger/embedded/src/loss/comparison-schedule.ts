/** Maximum channels compared per round: some tens of milliseconds. */
const COMPARED_A_ROUND = 100;
const AFTER_FAILURE_MS = 1000;

export interface ComparisonScheduleOptions {
  /** Interval at which every channel is compared with its kept checkpoints. */
  readonly compareEveryMs: number;
  readonly now: () => number;
}

/**
 * Decides which channels are compared when. After an outage all are compared at once before anything is signed, since
 * the database may have come back as an older one; otherwise some per round, so that signing continues for the others.
 */
export class ComparisonSchedule {
  readonly #options: ComparisonScheduleOptions;
  /** Whether the next comparison covers all channels at once. */
  #isAll = true;
  #atMs = 0;
  /** Channels of the current pass still to be compared. */
  #left: readonly string[] = [];

  constructor(options: ComparisonScheduleOptions) {
    this.#options = options;
  }

  /** Compares the channels that are due. */
  async run(
    channels: () => Promise<readonly string[]>,
    compare: (channels: readonly string[]) => Promise<void>,
  ): Promise<void> {
    if (this.#left.length === 0 && this.#options.now() < this.#atMs) return;
    if (this.#left.length === 0) this.#left = await channels();
    const isAll = this.#isAll;
    const some = isAll ? this.#left : this.#left.slice(0, COMPARED_A_ROUND);
    const left = this.#left.slice(some.length);
    this.#isAll = false;
    try {
      await compare(some);
    } catch (error) {
      this.#isAll ||= isAll;
      throw error;
    }
    // A comparison may have requested a full restart.
    if (this.#isAll) return;
    this.#left = left;
    if (left.length === 0) this.done();
  }

  /** Ends the pass: all channels were compared. */
  done(): void {
    this.#isAll = false;
    this.#atMs = this.#options.now() + this.#options.compareEveryMs;
  }

  /** Restarts with all channels at once, immediately. */
  restart(): void {
    this.#isAll = true;
    this.#atMs = 0;
    this.#left = [];
  }

  /** Restarts after a pause, for failures other than an outage, such as unreadable checkpoints. */
  postpone(): void {
    this.#atMs = Math.max(this.#atMs, this.#options.now() + AFTER_FAILURE_MS);
    this.#left = [];
  }
}
