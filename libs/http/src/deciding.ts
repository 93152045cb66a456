/** Requests come one after the other: so long after the last one the next is expected. */
const MOMENT_MS = 20;

/**
 * Whether requests that decide are under way in this process: writes, checks, reads of one row. While they are, what
 * looks takes less (`openPools` of the storage library).
 */
export class Deciding {
  readonly #nowMs: () => number;
  #underWay = 0;
  #endedAtMs = Number.NEGATIVE_INFINITY;

  /** `nowMs`: a monotonic clock. */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Returns what ends it, to be called once. */
  begin(): () => void {
    this.#underWay += 1;
    return this.#end;
  }

  readonly #end = (): void => {
    this.#underWay -= 1;
    this.#endedAtMs = this.#nowMs();
  };

  /** Until a moment after the last one has ended. */
  isUnderWay(): boolean {
    return this.#underWay > 0 || this.#nowMs() - this.#endedAtMs < MOMENT_MS;
  }
}
