export interface GroupedOptions<Item, Answer> {
  /** Most items of one call, and most calls at once. */
  readonly most: number;
  readonly running: number;
  /** One answer per item, in order; a rejection is everybody's. */
  readonly run: (items: readonly Item[]) => Promise<readonly Answer[]>;
  /** Two items with the same key never go into one call; undefined goes with all. */
  readonly keyOf?: (item: Item) => string | undefined;
}

interface Waiting<Item, Answer> {
  readonly item: Item;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/** Calls for one thing become calls for many, without a timer: while some run, the others collect. */
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

  /** One turn of the event loop later, so that what comes in the same turn goes together. */
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
