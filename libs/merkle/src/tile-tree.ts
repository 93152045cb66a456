import { Bytes } from '@sealgate/json';
import { EMPTY_ROOT, HASH_BYTES, nodeHash, perfectRoot } from './tree-hash.ts';
import { TILE_WIDTH, tileWidth } from './tile.ts';
import type { Tile } from './tile.ts';

interface EdgeLevel {
  readonly hashes: Bytes;
  width: number;
}

/**
 * An append-only RFC 6962 tree that keeps only its right edge: at most 255 hashes per level of 256-wide tiles, 32 KiB
 * for 10^9 leaves. The caller stores the full tiles that `append` returns and, to resume after a restart, `edge()`.
 * Compare `root()` with a signed checkpoint after restoring.
 */
export class TileTree {
  readonly #levels: EdgeLevel[] = [];
  #size = 0;

  static empty(): TileTree {
    return new TileTree();
  }

  /**
   * Restores a tree of `size` leaves from its partial tiles, in any order. Throws unless these are exactly the partial
   * tiles of that size. The hashes themselves are not checked.
   */
  static from(size: number, edge: readonly Tile[]): TileTree {
    assertSize(size);
    const tree = new TileTree();
    tree.#size = size;
    const byLevel = new Map(edge.map((tile) => [tile.level, tile]));
    if (byLevel.size !== edge.length) throw new Error('The edge has two tiles of one level.');
    for (let level = 0; TILE_WIDTH ** level <= size; level += 1) {
      tree.#levels.push(edgeLevel(level, size, byLevel.get(level)));
      byLevel.delete(level);
    }
    for (const extra of byLevel.values()) {
      throw new Error(`The edge has a tile of level ${extra.level}, which a tree of ${size} leaves does not reach.`);
    }
    return tree;
  }

  /** Number of leaves. */
  get size(): number {
    return this.#size;
  }

  /**
   * Appends concatenated leaf hashes. Returns the tiles that became full, ordered by level, then index. Throws without
   * changes when the bytes are not whole hashes.
   */
  append(leafHashes: Uint8Array): Tile[] {
    if (leafHashes.length % HASH_BYTES !== 0) {
      throw new Error(`Leaf hashes are ${HASH_BYTES} bytes each; ${leafHashes.length} bytes are not a whole number.`);
    }
    const newSize = this.#size + leafHashes.length / HASH_BYTES;
    assertSize(newSize);
    const completed: Tile[] = [];
    let incoming = leafHashes;
    for (let level = 0; incoming.length > 0; level += 1) {
      const filled = this.#fillLevel(level, incoming);
      completed.push(...filled);
      incoming = Bytes.concat(filled.map((tile) => perfectRoot(tile.hashes, 0, TILE_WIDTH)));
    }
    this.#size = newSize;
    return completed;
  }

  /** The partial tiles, lowest level first; a level without one is left out. Hashes are copies. */
  edge(): Tile[] {
    return this.#levels.flatMap(({ hashes, width }, level) => {
      if (width === 0) return [];
      const index = Math.floor(this.#size / TILE_WIDTH ** (level + 1));
      return [{ level, index, width, hashes: Bytes.from(hashes.subarray(0, width * HASH_BYTES)) }];
    });
  }

  /** The RFC 6962 root. Costs at most 255 hashes per level. */
  root(): Bytes {
    let root: Bytes | undefined;
    for (const { hashes, width } of this.#levels) {
      // A partial tile is a row of perfect subtrees, one per set bit of its width, the smallest on the right.
      let end = width;
      for (let count = 1; count < TILE_WIDTH; count *= 2) {
        if ((width & count) === 0) continue;
        end -= count;
        const subtree = perfectRoot(hashes, end, count);
        root = root === undefined ? subtree : nodeHash(subtree, root);
      }
    }
    return Bytes.from(root ?? EMPTY_ROOT);
  }

  /** Appends hashes to one level and returns copies of the tiles that became full. */
  #fillLevel(level: number, incoming: Uint8Array): Tile[] {
    const open = (this.#levels[level] ??= { hashes: Bytes.alloc(TILE_WIDTH * HASH_BYTES), width: 0 });
    const filled: Tile[] = [];
    let index = Math.floor(this.#size / TILE_WIDTH ** (level + 1));
    for (let offset = 0; offset < incoming.length;) {
      const room = (TILE_WIDTH - open.width) * HASH_BYTES;
      const taken = incoming.subarray(offset, offset + room);
      open.hashes.set(taken, open.width * HASH_BYTES);
      open.width += taken.length / HASH_BYTES;
      offset += taken.length;
      if (open.width < TILE_WIDTH) continue;
      filled.push({ level, index, width: TILE_WIDTH, hashes: Bytes.from(open.hashes) });
      open.width = 0;
      index += 1;
    }
    return filled;
  }
}

function edgeLevel(level: number, size: number, tile: Tile | undefined): EdgeLevel {
  const index = Math.floor(size / TILE_WIDTH ** (level + 1));
  const width = tileWidth(level, index, size);
  const hashes = Bytes.alloc(TILE_WIDTH * HASH_BYTES);
  if (width === 0 && tile === undefined) return { hashes, width };
  const found = tile === undefined ? 'none' : `index ${tile.index}, width ${tile.width}, ${tile.hashes.length} bytes`;
  const expected = width === 0 ? 'none' : `index ${index}, width ${width}, ${width * HASH_BYTES} bytes`;
  if (found !== expected) {
    throw new Error(`The edge of ${size} leaves has on level ${level} ${found}, and needs ${expected}.`);
  }
  if (tile !== undefined) hashes.set(tile.hashes);
  return { hashes, width };
}

function assertSize(size: number): void {
  if (!Number.isSafeInteger(size) || size < 0) throw new Error(`A tree cannot have ${size} leaves.`);
}
