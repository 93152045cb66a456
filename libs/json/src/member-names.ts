import { Bytes } from '#platform';
import { MAX_DEPTH } from './opens-too-deep.ts';

/**
 * Source of the member names of a body. Names are compared by key: the unescaped name as UTF-8, one character per byte.
 * A name without escapes is its own key.
 */
export interface NameSource {
  /** The key of the name at an offset. */
  keyAt(place: number): string;
}

/** The key of an escaped name, given with its quotes and one character per byte. */
export function unescapedKey(quoted: string): string {
  const key = String(JSON.parse(quoted));
  // ASCII keys come from ASCII bytes, so reading bytes as characters lost nothing.
  if (Bytes.byteLength(key) === key.length) return key;
  const name = String(JSON.parse(Bytes.from(quoted, 'latin1').toString('utf8')));
  return Bytes.from(name).toString('latin1');
}

/** FNV-1a offset basis; the prime 0x01000193 is multiplied in after each byte. */
export const FIRST_HASH = 0x811c9dc5 | 0;

/** The hash of a key. Equals the hash that a walk computes while reading the name. */
export function hashOfKey(key: string): number {
  let hash = FIRST_HASH;
  for (let index = 0; index < key.length; index++) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  return hash;
}

/** Up to this many names of an object are compared one by one, by hash. */
const MOST_COMPARED = 16;
/**
 * Hash and start offset of the names of all open objects, innermost last. Shared by all walks: they do not interleave,
 * and each writes before it reads.
 */
const hashes = new Int32Array(MAX_DEPTH * MOST_COMPARED);
const places = new Int32Array(MAX_DEPTH * MOST_COMPARED);

/**
 * Member names of the open objects of a walk, to find duplicates. Small objects: hashes are compared in a loop without
 * allocation. Objects with two equal hashes or many members get a table. The hash needs no secret seed: chosen
 * collisions only cause the switch to the table.
 */
export class MemberNames {
  readonly #source: NameSource;
  #top = 0;
  /** Keyed by the return value of `open`. */
  #wide: Map<number, WideNames> | undefined;

  constructor(source: NameSource) {
    this.#source = source;
  }

  /** Opens an object within the innermost one; returns its handle. */
  open(): number {
    return this.#top;
  }

  /** Closes the innermost object. */
  close(object: number): void {
    this.#top = object;
    this.#wide?.delete(object);
  }

  /** Adds a name to the innermost object; false for a duplicate. Equal names must have equal hashes. */
  add(object: number, place: number, hash: number): boolean {
    const top = this.#top;
    const wide = this.#wide?.get(object);
    if (wide !== undefined) return wide.add(place, hash);
    if (top - object === MOST_COMPARED) return this.#widen(object).add(place, hash);
    for (let index = object; index < top; index++) {
      if (hashes[index] === hash) return this.#widen(object).add(place, hash);
    }
    hashes[top] = hash;
    places[top] = place;
    this.#top = top + 1;
    return true;
  }

  #widen(object: number): WideNames {
    const wide = new WideNames(this.#source);
    for (let index = object; index < this.#top; index++) {
      wide.add(places[index] as number, hashes[index] as number); // `index` is below the length.
    }
    this.#wide ??= new Map();
    this.#wide.set(object, wide);
    return wide;
  }
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
