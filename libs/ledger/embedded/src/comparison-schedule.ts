/** Most channels held against what is kept of them between two rounds: some tens of milliseconds. */
const COMPARED_A_ROUND = 100;
const AFTER_FAILURE_MS = 1000;

export interface ComparisonScheduleOptions {
  /** How often every channel is held against what is kept of it. */
  readonly compareEveryMs: number;
  readonly now: () => number;
}

/**
 * When which channels are compared. All at once before anything is signed, where the database was away and may have come
 * back as an older one; else some in each round, so that the others are signed for meanwhile.
 */
export class ComparisonSchedule {
  readonly #options: ComparisonScheduleOptions;
  /** All at once, once the time has come. */
  #isAll = true;
  #atMs = 0;
  /** What is left to be compared since then. */
  #left: readonly string[] = [];

  constructor(options: ComparisonScheduleOptions) {
    this.#options = options;
  }

  /** Compares what is due. */
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
    // One of them may have asked for all anew meanwhile.
    if (this.#isAll) return;
    this.#left = left;
    if (left.length === 0) this.done();
  }

  /** All were compared. */
  done(): void {
    this.#isAll = false;
    this.#atMs = this.#options.now() + this.#options.compareEveryMs;
  }

  /** From the beginning, now, and all at once. */
  anew(): void {
    this.#isAll = true;
    this.#atMs = 0;
    this.#left = [];
  }

  /** From the beginning, and not at once: it failed otherwise than by an outage, as where checkpoints cannot be read. */
  postpone(): void {
    this.#atMs = Math.max(this.#atMs, this.#options.now() + AFTER_FAILURE_MS);
    this.#left = [];
  }
}
