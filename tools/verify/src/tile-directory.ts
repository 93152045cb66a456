import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  consistencyPath,
  HASH_BYTES,
  type Tile,
  TILE_WIDTH,
  type TileId,
  tilePath,
  TileTree,
  tileWidth,
} from '@sealgate/merkle';
import type { Connection } from './check-consistency.ts';
import { readBytesIfThere } from './read-file.ts';
import type { Reporter } from './report.ts';
import { checkpointIn } from './signed-checkpoint.ts';

interface FoundTile {
  /** The file it was read from, relative to the directory. */
  readonly path: string;
  /** Exactly the width that was asked for. */
  readonly hashes: Buffer;
}

/**
 * Reads one tile from a directory of C2SP tiles. Where a partial tile is not there any more, the same tile in a wider form
 * holds its hashes too, as C2SP tlog-tiles lets clients do. Throws UnreadableError when a file is there and cannot be read.
 */
async function readTile(
  directory: string,
  tile: TileId,
): Promise<FoundTile | { readonly path: string; readonly problem: string }> {
  const path = tilePath(tile);
  const wanted = tile.width * HASH_BYTES;
  for (const width of await widthsOf(directory, tile)) {
    const candidate = tilePath({ ...tile, width });
    const bytes = await readBytesIfThere(join(directory, candidate));
    if (bytes === undefined) continue;
    if (bytes.length === width * HASH_BYTES) return { path: candidate, hashes: bytes.subarray(0, wanted) };
    return { path: candidate, problem: `has ${bytes.length} bytes instead of ${width * HASH_BYTES}` };
  }
  return { path, problem: 'is missing' };
}

/**
 * Makes what connects two checkpoints from a directory of tiles. Undefined where there is nothing to connect: one of the two
 * is no checkpoint, or the older tree is empty or not the smaller one. Throws UnreadableError as `readTile` does.
 */
export async function connectionByTiles(
  directory: string,
  notes: { readonly older: string; readonly newer: string },
): Promise<Connection | undefined> {
  const first = checkpointIn(notes.older)?.size ?? 0;
  const second = checkpointIn(notes.newer)?.size ?? 0;
  if (first === 0 || first >= second) return undefined;
  let problem = '';
  const path = await consistencyPath(first, second, (wanted) =>
    Promise.all(
      wanted.map(async (tile) => {
        const found = await readTile(directory, tile);
        if ('hashes' in found) return found.hashes;
        problem ||= `A tile that is needed: ${found.path} ${found.problem}.`;
        return Buffer.alloc(tile.width * HASH_BYTES);
      }),
    ),
  );
  const name = directory;
  return problem === '' ? { name, path: path.map((hash) => hash.toString('hex')) } : { name, problem };
}

/** The widths that this tile may be found in, the exact one first, then the full tile, then wider partial ones. */
async function widthsOf(directory: string, tile: TileId): Promise<number[]> {
  if (tile.width === TILE_WIDTH) return [TILE_WIDTH];
  const names = await namesIn(dirname(join(directory, tilePath(tile))));
  const wider = names
    .map(Number)
    .filter((width) => Number.isInteger(width) && width > tile.width && width < TILE_WIDTH);
  return [tile.width, TILE_WIDTH, ...wider.toSorted((a, b) => a - b)];
}

async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch {
    // A directory that is not there, or not readable, holds no tile for us: the caller says which tile is missing.
    return [];
  }
}

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
