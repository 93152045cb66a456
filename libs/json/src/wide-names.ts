/** Where names stand in a body. */
export interface NameSource {
  /** The name at a place, in a form that is equal exactly for equal names, however they are escaped. */
  keyAt(place: number): string;
}

const FIRST_CAPACITY = 64;
/** Spreads hashes that follow one another; the odd number nearest to 2^32 divided by the golden ratio. */
const SPREAD = 0x9e3779b1;
/** Chance makes a longer search in a half-filled table about once in ten thousand bodies full of names. */
const LONGEST_SEARCH = 128;
/** Chance makes fewer equal hashes of different names than these, and one more for each so many names. */
const SOME_EQUAL_HASHES = 16;
const NAMES_PER_EQUAL_HASH = 1024;

/**
 * The names of one object that has many. A table of their hashes holds them for a fraction of what a set of strings costs,
 * because the names themselves are not made. Names chosen so that the table would become slow only make it a set of strings.
 */
export class WideNames {
  readonly #source: NameSource;
  #count = 0;
  #equalHashes = 0;
  /** By slot: the place of a name plus one, zero where it is free; and the hash of that name. */
  #places = new Int32Array(FIRST_CAPACITY);
  #hashes = new Int32Array(FIRST_CAPACITY);
  #set: Set<string> | undefined;

  constructor(source: NameSource) {
    this.#source = source;
  }

  /** False when the name is there already. Equal names must come with equal hashes. */
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
