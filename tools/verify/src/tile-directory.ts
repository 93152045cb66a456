import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { HASH_BYTES, TILE_WIDTH, consistencyPath, tilePath } from '@sealgate/merkle';
import type { TileId } from '@sealgate/merkle';
import type { Connection } from './check-consistency.ts';
import { readBytesIfThere } from './read-file.ts';
import { checkpointIn } from './signed-checkpoint.ts';

export interface FoundTile {
  /** The file it was read from, relative to the directory. */
  readonly path: string;
  /** Exactly the width that was asked for. */
  readonly hashes: Buffer;
}

export interface MissingTile {
  readonly path: string;
  readonly problem: string;
}

/**
 * Reads one tile from a directory of C2SP tiles. Where a partial tile is not there any more, the same tile in a wider form
 * holds its hashes too, as C2SP tlog-tiles lets clients do. Throws UnreadableError when a file is there and cannot be read.
 */
export async function readTile(directory: string, tile: TileId): Promise<FoundTile | MissingTile> {
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
