/** What a sender or everybody may have waiting, in bytes. */
export interface TurnBounds {
  readonly maxBytes: number;
  readonly maxBytesOfOne: number;
}

interface Waiting<Item> {
  readonly item: Item;
  readonly bytes: number;
}

/** A bounded queue in which senders take turns, so that whoever sends much waits for himself. */
export class TurnQueue<Item> {
  readonly #bounds: TurnBounds;
  /** By sender, in the order of their turns; none is empty. */
  readonly #lines = new Map<string, Waiting<Item>[]>();
  #bytes = 0;
  #size = 0;

  constructor(bounds: TurnBounds) {
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#size;
  }

  /** @returns false, and the item does not wait, where it would be too much. */
  add(sender: string, bytes: number, item: Item): boolean {
    const line = this.#lines.get(sender) ?? [];
    const ofSender = line.reduce((sum, waiting) => sum + waiting.bytes, bytes);
    if (ofSender > this.#bounds.maxBytesOfOne || this.#bytes + bytes > this.#bounds.maxBytes) return false;
    line.push({ item, bytes });
    this.#lines.set(sender, line);
    this.#count(bytes, 1);
    return true;
  }

  /** The first item of the sender whose turn it is, who then comes last. */
  take(): Item | undefined {
    for (const [sender, line] of this.#lines) {
      const first = line.shift();
      this.#lines.delete(sender);
      if (line.length > 0) this.#lines.set(sender, line);
      if (first === undefined) continue;
      this.#count(-first.bytes, -1);
      return first.item;
    }
    return undefined;
  }

  /** Forgets an item that has waited too long. */
  remove(sender: string, item: Item): void {
    const line = this.#lines.get(sender) ?? [];
    const place = line.findIndex((waiting) => waiting.item === item);
    const [removed] = place < 0 ? [] : line.splice(place, 1);
    if (removed === undefined) return;
    this.#count(-removed.bytes, -1);
    if (line.length === 0) this.#lines.delete(sender);
  }

  #count(bytes: number, items: number): void {
    this.#bytes += bytes;
    this.#size += items;
  }
}
