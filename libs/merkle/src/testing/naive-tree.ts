import { createHash, randomBytes } from 'node:crypto';
import { HASH_BYTES } from '../tree-hash.ts';
import { TileTree } from '../tile-tree.ts';
import { tilePath } from '../tile.ts';
import type { TileId } from '../tile.ts';

/**
 * A literal implementation of RFC 6962, section 2.1, with its own hashing: the reference for testing the tiled tree.
 * Deliberately slow.
 */
export class NaiveTree {
  readonly leafHashes: readonly Buffer[];
  readonly #known = new Map<string, Buffer>();

  constructor(leafHashes: readonly Buffer[]) {
    this.leafHashes = leafHashes;
  }

  /** MTH(D[start:end]). */
  root(start: number, end: number): Buffer {
    const key = `${start}:${end}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const root = this.#computeRoot(start, end);
    this.#known.set(key, root);
    return root;
  }

  /** PATH(m, D[start:end]), section 2.1.1; m counts from `start`. */
  path(m: number, start: number, end: number): Buffer[] {
    if (end - start === 1) return [];
    const middle = start + split(end - start);
    return m < middle - start
      ? [...this.path(m, start, middle), this.root(middle, end)]
      : [...this.path(m - (middle - start), middle, end), this.root(start, middle)];
  }

  /** SUBPROOF(m, D[start:end], isWhole), section 2.1.2; PROOF(m, D[n]) is SUBPROOF(m, D[0:n], true). */
  subproof(m: number, range: readonly [number, number], isWhole: boolean): Buffer[] {
    const [start, end] = range;
    if (m === end - start) return isWhole ? [] : [this.root(start, end)];
    const middle = start + split(end - start);
    return m <= middle - start
      ? [...this.subproof(m, [start, middle], isWhole), this.root(middle, end)]
      : [...this.subproof(m - (middle - start), [middle, end], false), this.root(start, middle)];
  }

  #computeRoot(start: number, end: number): Buffer {
    if (end === start) return createHash('sha256').digest();
    const only = this.leafHashes[start];
    if (only === undefined) throw new Error(`No leaf ${start}.`);
    if (end - start === 1) return only;
    const middle = start + split(end - start);
    const children = [this.root(start, middle), this.root(middle, end)];
    return createHash('sha256')
      .update(Buffer.concat([Buffer.of(1), ...children]))
      .digest();
  }
}

/** Random leaf hashes. */
export function randomLeaves(count: number): Buffer[] {
  const bytes = randomBytes(count * HASH_BYTES);
  return Array.from({ length: count }, (_, i) => bytes.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES));
}

/** Every tile of a tree by path, as a store would hold them, and a reader that counts its calls. */
export function storedTiles(leafHashes: readonly Buffer[]) {
  const tree = TileTree.empty();
  const full = tree.append(Buffer.concat(leafHashes));
  const tiles = new Map([...full, ...tree.edge()].map((tile) => [tilePath(tile), tile.hashes]));
  const calls: (readonly TileId[])[] = [];
  const read = (wanted: readonly TileId[]): Promise<Buffer[]> => {
    calls.push(wanted);
    return Promise.resolve(wanted.map((tile) => tiles.get(tilePath(tile)) ?? Buffer.alloc(0)));
  };
  return { tree, tiles, read, calls };
}

function split(count: number): number {
  let left = 1;
  while (left * 2 < count) left *= 2;
  return left;
}
