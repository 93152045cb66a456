import { MAX_DEPTH } from './json-value.ts';
import { type NameSource, WideNames } from './wide-names.ts';

/** So many names of an object are compared one by one, by their hashes alone. */
const MOST_COMPARED = 16;
/**
 * The names of all open objects, the innermost last: a hash, and where the name begins. Walks do not interleave, and each
 * writes before it reads, so all share the room that the deepest can need.
 */
const hashes = new Int32Array(MAX_DEPTH * MOST_COMPARED);
const places = new Int32Array(MAX_DEPTH * MOST_COMPARED);

/**
 * The member names of the objects that are open while a body is walked, to find one that is there twice. Most objects have
 * few members: their hashes are compared in a loop and nothing is allocated. An object with two equal hashes, or with many
 * members, gets a table. So the hash needs no secret: the worst that chosen names can cause is a dearer way to keep them.
 */
export class MemberNames {
  readonly #source: NameSource;
  #top = 0;
  /** By what `open` returned for the object. */
  #wide: Map<number, WideNames> | undefined;

  constructor(source: NameSource) {
    this.#source = source;
  }

  /** Begins an object as a member or an item of the innermost one; the result stands for it. */
  open(): number {
    return this.#top;
  }

  /** Ends the innermost object. */
  close(object: number): void {
    this.#top = object;
    this.#wide?.delete(object);
  }

  /** Adds a name to the innermost object; false when it is there already. Equal names must come with equal hashes. */
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
