import type { Bytes } from '@sealgate/json';
import { HASH_BYTES, nodeHash, perfectRoot } from './tree-hash.ts';
import { TILE_WIDTH, tilePath, tileWidth } from './tile.ts';
import type { TileId } from './tile.ts';

/**
 * Reads tiles: one buffer per tile asked for, in the same order. It is called once per proof, with every tile the proof needs.
 * A buffer may hold more hashes than the width asked for (the same tile, grown since), never fewer.
 */
export type ReadTiles = (wanted: readonly TileId[]) => Promise<readonly Bytes[]>;

/** The leaves [start, start + count): a node of the tree, perhaps with an incomplete right edge. */
interface Subtree {
  readonly start: number;
  readonly count: number;
}

/** A perfect subtree as it lies in one tile: `count` neighbouring hashes from `from` on. */
interface Piece {
  readonly tile: TileId;
  readonly from: number;
  readonly count: number;
}

/**
 * The inclusion path of leaf `index` in the tree of the first `size` leaves (RFC 6962, section 2.1.1), from the leaf up.
 * Reads at most two tiles per level. Throws when the tree has no such leaf or a tile is too short; what the tiles hold is
 * not checked, so a path is only worth what `verifyInclusion` says of it.
 */
export async function inclusionPath(index: number, size: number, read: ReadTiles): Promise<Bytes[]> {
  assertCount(size);
  if (!Number.isSafeInteger(index) || index < 0 || index >= size) {
    throw new Error(`A tree of ${size} leaves has no leaf ${index}.`);
  }
  const downwards: Subtree[] = [];
  let [start, count] = [0, size];
  while (count > 1) {
    const left = splitPoint(count);
    const isLeft = index - start < left;
    downwards.push(isLeft ? { start: start + left, count: count - left } : { start, count: left });
    [start, count] = isLeft ? [start, left] : [start + left, count - left];
  }
  return readSubtrees(downwards.reverse(), size, read);
}

/**
 * The consistency path between the trees of the first `oldSize` and `newSize` leaves (RFC 6962, section 2.1.2).
 * Empty, without reading, for equal sizes and for an old size of 0. Throws as `inclusionPath` does.
 */
export async function consistencyPath(oldSize: number, newSize: number, read: ReadTiles): Promise<Bytes[]> {
  assertCount(oldSize);
  assertCount(newSize);
  if (oldSize > newSize) throw new Error(`A tree of ${newSize} leaves cannot hold one of ${oldSize}.`);
  if (oldSize === 0) return [];
  const downwards: Subtree[] = [];
  let [start, old, count] = [0, oldSize, newSize];
  while (old !== count) {
    const left = splitPoint(count);
    const isLeft = old <= left;
    downwards.push(isLeft ? { start: start + left, count: count - left } : { start, count: left });
    [start, old, count] = isLeft ? [start, old, left] : [start + left, old - left, count - left];
  }
  // A verifier knows the old tree's root; where the walk never left the left edge, that root is this subtree.
  if (start > 0) downwards.push({ start, count });
  return readSubtrees(downwards.reverse(), newSize, read);
}

async function readSubtrees(subtrees: readonly Subtree[], size: number, read: ReadTiles): Promise<Bytes[]> {
  const rows = subtrees.map((subtree) => piecesOf(subtree, size));
  const wanted = new Map(rows.flat().map(({ tile }) => [tilePath(tile), tile]));
  const buffers = wanted.size === 0 ? [] : await read([...wanted.values()]);
  const tiles = new Map([...wanted].map(([path, tile], position) => [path, checkedTile(tile, buffers[position])]));
  const hashOf = ({ tile, from, count }: Piece): Bytes => {
    const hashes = tiles.get(tilePath(tile));
    if (hashes === undefined) throw new Error('A piece lies in a tile that was not asked for.');
    return perfectRoot(hashes, from, count);
  };
  return rows.map((pieces) => pieces.map(hashOf).reduceRight((right, left) => nodeHash(left, right)));
}

/** The perfect subtrees that make up a node, left to right, each with the tile it lies in. */
function piecesOf({ start, count }: Subtree, size: number): Piece[] {
  const pieces: Piece[] = [];
  const end = start + count;
  for (let at = start; at < end;) {
    let leaves = 1;
    while (leaves * 2 <= end - at) leaves *= 2;
    pieces.push(pieceOf(at, leaves, size));
    at += leaves;
  }
  return pieces;
}

function pieceOf(start: number, leaves: number, size: number): Piece {
  let level = 0;
  let count = leaves;
  while (count >= TILE_WIDTH) {
    count /= TILE_WIDTH;
    level += 1;
  }
  const first = start / TILE_WIDTH ** level;
  const index = Math.floor(first / TILE_WIDTH);
  return { tile: { level, index, width: tileWidth(level, index, size) }, from: first % TILE_WIDTH, count };
}

function checkedTile(tile: TileId, hashes: Bytes | undefined): Bytes {
  if (hashes === undefined || hashes.length < tile.width * HASH_BYTES) {
    const found = hashes === undefined ? 'was not read' : `has ${hashes.length} bytes`;
    throw new Error(`${tilePath(tile)} ${found}, and needs ${tile.width * HASH_BYTES}.`);
  }
  return hashes;
}

/** The largest power of two smaller than `count`: where RFC 6962 splits a node. */
function splitPoint(count: number): number {
  let left = 1;
  while (left * 2 < count) left *= 2;
  return left;
}

function assertCount(count: number): void {
  if (!Number.isSafeInteger(count) || count < 0) throw new Error(`A tree cannot have ${count} leaves.`);
}
