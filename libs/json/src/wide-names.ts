/** Source of the member names of a body. */
export interface NameSource {
  /** The name at an offset, in a form that is equal exactly for equal names, with or without escapes. */
  keyAt(place: number): string;
}

const FIRST_CAPACITY = 64;
/** Fibonacci hashing: the odd number nearest to 2^32 divided by the golden ratio spreads consecutive hashes. */
const SPREAD = 0x9e3779b1;
/** Random names need a longer probe in a half-filled table about once in ten thousand large bodies. */
const LONGEST_SEARCH = 128;
/** Random names have fewer collisions than this, plus one more per so many names. */
const SOME_EQUAL_HASHES = 16;
const NAMES_PER_EQUAL_HASH = 1024;

/**
 * The member names of one large object. A hash table of offsets costs a fraction of a set of strings, because no string
 * is created. Falls back to a set of strings when chosen names collide too often.
 */
export class WideNames {
  readonly #source: NameSource;
  #count = 0;
  #equalHashes = 0;
  /** Per slot: the offset of a name plus one, or zero when free; and the hash of that name. */
  #places = new Int32Array(FIRST_CAPACITY);
  #hashes = new Int32Array(FIRST_CAPACITY);
  #set: Set<string> | undefined;

  constructor(source: NameSource) {
    this.#source = source;
  }

  /** Adds a name; false for a duplicate. Equal names must have equal hashes. */
  add(place: number, hash: number): boolean {
    if (this.#set !== undefined) return addTo(this.#set, this.#source.keyAt(place));
    const mask = this.#places.length - 1;
    let slot = firstSlot(hash, mask);
    for (let searched = 0; this.#places[slot] !== 0; searched++) {
      if (searched === LONGEST_SEARCH) return this.#becomeSet(place);
      if (this.#hashes[slot] === hash) {
        if (this.#keyIn(slot) === this.#source.keyAt(place)) return false;
        this.#equalHashes++;
        if (this.#equalHashes > SOME_EQUAL_HASHES + this.#count / NAMES_PER_EQUAL_HASH) return this.#becomeSet(place);
      }
      slot = (slot + 1) & mask;
    }
    this.#places[slot] = place + 1;
    this.#hashes[slot] = hash;
    this.#count++;
    if (this.#count * 2 > mask) this.#grow();
    return true;
  }

  #keyIn(slot: number): string {
    return this.#source.keyAt((this.#places[slot] as number) - 1); // Slots are masked into range.
  }

  #grow(): void {
    const [places, hashes] = [this.#places, this.#hashes];
    const mask = places.length * 2 - 1;
    this.#places = new Int32Array(mask + 1);
    this.#hashes = new Int32Array(mask + 1);
    for (let from = 0; from < places.length; from++) {
      const place = places[from] as number; // `from` is below the length, here and below.
      if (place === 0) continue;
      const hash = hashes[from] as number;
      let to = firstSlot(hash, mask);
      while (this.#places[to] !== 0) to = (to + 1) & mask;
      this.#places[to] = place;
      this.#hashes[to] = hash;
    }
  }

  #becomeSet(place: number): boolean {
    this.#set = new Set();
    for (let slot = 0; slot < this.#places.length; slot++) {
      if (this.#places[slot] !== 0) this.#set.add(this.#keyIn(slot));
    }
    return addTo(this.#set, this.#source.keyAt(place));
  }
}

function firstSlot(hash: number, mask: number): number {
  return (Math.imul(hash, SPREAD) >>> 7) & mask;
}

function addTo(names: Set<string>, name: string): boolean {
  const { size } = names;
  return names.add(name).size > size;
}
