/**
 * An entry that becomes full at some time; `knownFullAtMicros` is the time the heap is ordered by, which may be stale.
 */
export interface Filling {
  readonly name: string;
  fullAtMicros: number;
  knownFullAtMicros: number;
}

/**
 * Finds the bucket that becomes full first; that time moves later with every charge.
 *
 * A binary heap ordered by the last known time, corrected lazily: a charge does not touch it, and a stale entry at the
 * top is moved down when it is read. So charges are free here and removals pay for them.
 */
export class FullnessHeap<Entry extends Filling> {
  readonly #entries: Entry[] = [];

  get size(): number {
    return this.#entries.length;
  }

  add(entry: Entry): void {
    entry.knownFullAtMicros = entry.fullAtMicros;
    this.#entries.push(entry);
    this.#rise(this.#entries.length - 1);
  }

  /** The entry with the earliest time. */
  first(): Entry | undefined {
    for (;;) {
      const top = this.#entries[0];
      if (top === undefined || top.fullAtMicros <= top.knownFullAtMicros) return top;
      top.knownFullAtMicros = top.fullAtMicros;
      this.#sink();
    }
  }

  removeFirst(): Entry | undefined {
    const first = this.first();
    const last = this.#entries.pop();
    if (last !== undefined && last !== first) {
      this.#entries[0] = last;
      this.#sink();
    }
    return first;
  }

  clear(): void {
    this.#entries.length = 0;
  }

  #rise(start: number): void {
    let index = start;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#isBefore(index, parent)) return;
      this.#swap(index, parent);
      index = parent;
    }
  }

  #sink(): void {
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      const right = left + 1;
      let earliest = index;
      if (this.#isBefore(left, earliest)) earliest = left;
      if (this.#isBefore(right, earliest)) earliest = right;
      if (earliest === index) return;
      this.#swap(index, earliest);
      index = earliest;
    }
  }

  #isBefore(index: number, other: number): boolean {
    const entry = this.#entries[index];
    const compared = this.#entries[other];
    return entry !== undefined && compared !== undefined && entry.knownFullAtMicros < compared.knownFullAtMicros;
  }

  #swap(index: number, other: number): void {
    const entry = this.#entries[index];
    const compared = this.#entries[other];
    if (entry === undefined || compared === undefined) return;
    this.#entries[index] = compared;
    this.#entries[other] = entry;
  }
}
