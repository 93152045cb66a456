interface Share {
  /** Places that it holds. */
  held: number;
  /** Oldest first. */
  readonly waiting: Set<() => void>;
}

/**
 * Divides places among callers: a free one goes to the caller that holds least of those who wait, in turn between equals
 * (max-min fairness); of one caller first come, first served. Who neither holds nor waits costs no memory.
 */
export class FairTurns {
  #free: number;
  #waiting = 0;
  /** Those served longest ago first. */
  readonly #shares = new Map<string, Share>();

  constructor(places: number) {
    this.#free = places;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Calls `go` with a place for `caller`: at once, or when one is free. The returned function withdraws what still waits;
   * the place of what was called is given back by `leave`.
   */
  ask(caller: string, go: () => void): () => void {
    let share = this.#shares.get(caller);
    if (share === undefined) this.#shares.set(caller, (share = { held: 0, waiting: new Set() }));
    const { waiting } = share;
    const call = (): void => go();
    waiting.add(call);
    this.#waiting += 1;
    this.#serve();
    return () => {
      if (!waiting.delete(call)) return;
      this.#waiting -= 1;
      this.#drop(caller);
    };
  }

  leave(caller: string): void {
    const share = this.#shares.get(caller);
    if (share === undefined || share.held === 0) throw new Error('A place was given back that nobody had.');
    share.held -= 1;
    this.#free += 1;
    this.#drop(caller);
    this.#serve();
  }

  #serve(): void {
    while (this.#free > 0 && this.#waiting > 0) {
      const [caller, share] = this.#next()!;
      const [go] = share.waiting;
      share.waiting.delete(go!);
      share.held += 1;
      this.#waiting -= 1;
      this.#free -= 1;
      // So that it comes last of those that hold as much.
      this.#shares.delete(caller);
      this.#shares.set(caller, share);
      go!();
    }
  }

  #next(): [string, Share] | undefined {
    let least: [string, Share] | undefined;
    for (const entry of this.#shares) {
      const [, { held, waiting }] = entry;
      if (waiting.size === 0 || (least !== undefined && least[1].held <= held)) continue;
      if (held === 0) return entry;
      least = entry;
    }
    return least;
  }

  #drop(caller: string): void {
    const share = this.#shares.get(caller);
    if (share?.held === 0 && share.waiting.size === 0) this.#shares.delete(caller);
  }
}
