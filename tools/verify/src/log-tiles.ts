import { HASH_BYTES, TILE_WIDTH, TileTree, tilePath, tileWidth } from '@sealgate/merkle';
import type { Tile } from '@sealgate/merkle';
import type { Reporter } from './report.ts';
import { readTile } from './tile-directory.ts';

/**
 * All leaf hashes of a tree of `size`, from its tiles of level 0. Undefined, and a failed step that names the first tile
 * that is missing or has the wrong length, when they are not all there.
 */
export async function readLeafTiles(report: Reporter, directory: string, size: number): Promise<Buffer | undefined> {
  const hashes: Buffer[] = [];
  for (let index = 0; index * TILE_WIDTH < size; index += 1) {
    const found = await readTile(directory, { level: 0, index, width: tileWidth(0, index, size) });
    if ('problem' in found) {
      const first = index * TILE_WIDTH;
      const detail = `A tile ${found.problem}: entries ${first} to ${Math.min(first + TILE_WIDTH, size) - 1} are not shown.`;
      report.failed('tiles', { detail, where: `${directory}/${found.path}` });
      return undefined;
    }
    hashes.push(found.hashes);
  }
  return Buffer.concat(hashes);
}

/** Recomputes every tile above level 0 and compares it with the stored one; the first that disagrees is named. */
export async function checkUpperTiles(report: Reporter, directory: string, leafHashes: Buffer): Promise<void> {
  const tree = TileTree.empty();
  const upper = [...tree.append(leafHashes), ...tree.edge()].filter(({ level }) => level > 0);
  for (const tile of upper) {
    const found = await readTile(directory, tile);
    if ('problem' in found) {
      report.failed('tiles', { detail: `A tile ${found.problem}.`, where: `${directory}/${found.path}` });
      return;
    }
    const different = firstDifference(tile.hashes, found.hashes);
    if (different === undefined) continue;
    report.failed('tiles', {
      detail: `A tile disagrees with the tiles below it: hash ${different}, over entries ${entriesUnder(tile, different)}.`,
      where: `${directory}/${found.path}`,
      expected: hashAt(tile.hashes, different).toString('hex'),
      found: hashAt(found.hashes, different).toString('hex'),
    });
    return;
  }
  const count = Math.ceil(leafHashes.length / HASH_BYTES / TILE_WIDTH) + upper.length;
  report.ok('tiles', `All ${count} tiles are there and agree with each other.`);
}

/** The place of the first hash in which two rows of hashes differ, as far as both reach. */
export function firstDifference(left: Buffer, right: Buffer): number | undefined {
  const length = Math.min(left.length, right.length);
  if (left.subarray(0, length).equals(right.subarray(0, length))) return undefined;
  let byte = 0;
  while (left[byte] === right[byte]) byte += 1;
  return Math.floor(byte / HASH_BYTES);
}

export function hashAt(hashes: Buffer, index: number): Buffer {
  return hashes.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES);
}

/** For messages: the file of the leaf tile that an entry is in. */
export function leafTileOf(index: number, size: number): string {
  const tile = Math.floor(index / TILE_WIDTH);
  return tilePath({ level: 0, index: tile, width: tileWidth(0, tile, size) });
}

function entriesUnder({ level, index }: Tile, place: number): string {
  const span = TILE_WIDTH ** level;
  const first = (index * TILE_WIDTH + place) * span;
  return `${first} to ${first + span - 1}`;
}
