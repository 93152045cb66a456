import { MAX_DEPTH } from './opens-too-deep.ts';
import { type NameSource, WideNames } from './wide-names.ts';

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
