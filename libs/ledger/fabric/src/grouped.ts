interface GroupedOptions<Item, Answer> {
  /** Maximum items per call, and maximum concurrent calls. */
  readonly most: number;
  readonly running: number;
  /** Returns one answer per item, in order; a rejection rejects all of them. */
  readonly run: (items: readonly Item[]) => Promise<readonly Answer[]>;
  /** Items with the same key never share a call; undefined goes with all. */
  readonly keyOf?: (item: Item) => string | undefined;
}

interface Waiting<Item, Answer> {
  readonly item: Item;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/** Batches items into calls without a timer: items collect while calls are running. */
export class Grouped<Item, Answer> {
  readonly #options: GroupedOptions<Item, Answer>;
  #queue: Waiting<Item, Answer>[] = [];
  #running = 0;
  #scheduled = false;

  constructor(options: GroupedOptions<Item, Answer>) {
    this.#options = options;
  }

  add(item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ item, resolve, reject });
      this.#schedule();
    });
  }

  get idle(): boolean {
    return this.#running === 0 && this.#queue.length === 0;
  }

  /** Deferred to the next turn of the event loop, so that items added in the same turn share a call. */
  #schedule(): void {
    if (this.#scheduled || this.#running >= this.#options.running || this.#queue.length === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (this.#running < this.#options.running) this.#start();
    });
  }

  #start(): void {
    const group = this.#take();
    if (group.length === 0) return;
    this.#running += 1;
    this.#schedule();
    this.#options
      .run(group.map(({ item }) => item))
      .then(
        (answers) => group.forEach(({ resolve }, position) => resolve(answers[position]!)),
        (error: unknown) => group.forEach(({ reject }) => reject(error)),
      )
      .finally(() => {
        this.#running -= 1;
        this.#schedule();
      });
  }

  #take(): Waiting<Item, Answer>[] {
    const { most, keyOf } = this.#options;
    const group: Waiting<Item, Answer>[] = [];
    const left: Waiting<Item, Answer>[] = [];
    const keys = new Set<string>();
    for (const waiting of this.#queue) {
      const key = keyOf?.(waiting.item);
      const fits = group.length < most && (key === undefined || !keys.has(key));
      (fits ? group : left).push(waiting);
      if (fits && key !== undefined) keys.add(key);
    }
    this.#queue = left;
    return group;
  }
}
