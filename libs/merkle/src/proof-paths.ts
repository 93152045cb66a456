import type { Bytes } from '@sealgate/json';
import { HASH_BYTES, nodeHash, perfectRoot, TileNodes } from './tree-hash.ts';
import { TILE_WIDTH, tilePath, tileWidth } from './tile.ts';
import type { TileId } from './tile.ts';

/**
 * Reads tiles: one buffer per requested tile, in order, or its nodes where they are known. Called once per proof with
 * every tile it needs. One may hold more hashes than requested (the tile has grown), never fewer.
 */
type ReadTiles = (wanted: readonly TileId[]) => Promise<readonly (Bytes | TileNodes)[]>;

/** The leaves [start, start + count): a node of the tree, possibly with an incomplete right edge. */
interface Subtree {
  readonly start: number;
  readonly count: number;
}

/** A perfect subtree within one tile: `count` consecutive hashes from `from`. */
interface Piece {
  readonly tile: TileId;
  readonly from: number;
  readonly count: number;
}

/**
 * The inclusion path of leaf `index` in the tree of the first `size` leaves (RFC 6962, section 2.1.1), leaf to root.
 * Reads at most two tiles per level. Throws when the leaf does not exist or a tile is too short. Hashes are not
 * checked: verify the path with `verifyInclusion`.
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
 * The consistency path between the trees of `oldSize` and `newSize` leaves (RFC 6962, section 2.1.2). Empty, without a
 * read, for equal sizes or an old size of 0. Throws as `inclusionPath`.
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
  // A subtree at the left edge is the old tree, whose root the verifier already knows.
  if (start > 0) downwards.push({ start, count });
  return readSubtrees(downwards.reverse(), newSize, read);
}

async function readSubtrees(subtrees: readonly Subtree[], size: number, read: ReadTiles): Promise<Bytes[]> {
  const rows = subtrees.map((subtree) => piecesOf(subtree, size));
  const wanted = new Map(rows.flat().map(({ tile }) => [tilePath(tile), tile]));
  const buffers = wanted.size === 0 ? [] : await read([...wanted.values()]);
  const tiles = new Map([...wanted].map(([path, tile], position) => [path, checkedTile(tile, buffers[position])]));
  const hashOf = ({ tile, from, count }: Piece): Bytes => {
    const found = tiles.get(tilePath(tile));
    if (found === undefined) throw new Error('A piece is in a tile that was not requested.');
    return found instanceof TileNodes ? found.root(from, count) : perfectRoot(found, from, count);
  };
  return rows.map((pieces) => pieces.map(hashOf).reduceRight((right, left) => nodeHash(left, right)));
}

/** The perfect subtrees of a node, left to right, each with its tile. */
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

function checkedTile(tile: TileId, read: Bytes | TileNodes | undefined): Bytes | TileNodes {
  const bytes = read instanceof TileNodes ? read.width * HASH_BYTES : read?.length;
  if (read === undefined || bytes === undefined || bytes < tile.width * HASH_BYTES) {
    const found = bytes === undefined ? 'was not read' : `has ${bytes} bytes`;
    throw new Error(`${tilePath(tile)} ${found}, and needs ${tile.width * HASH_BYTES}.`);
  }
  return read;
}

/** The largest power of two smaller than `count`: the RFC 6962 split point. */
function splitPoint(count: number): number {
  let left = 1;
  while (left * 2 < count) left *= 2;
  return left;
}

function assertCount(count: number): void {
  if (!Number.isSafeInteger(count) || count < 0) throw new Error(`A tree cannot have ${count} leaves.`);
}
