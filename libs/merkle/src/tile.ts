import { Bytes } from '@sealgate/json';

/** Hashes in a full tile (C2SP tlog-tiles: tiles have height 8). */
export const TILE_WIDTH = 256;

/** The deepest level C2SP tlog-tiles can name. */
const MAX_LEVEL = 63;

/** A tile id: level 0 holds leaf hashes; each hash of level L is the root of a full tile of level L-1. */
export interface TileId {
  readonly level: number;
  /** Index within the level, from 0. */
  readonly index: number;
  /** Number of hashes, 1 to 256; below 256 it is a partial tile at the right edge. */
  readonly width: number;
}

/** An entry bundle: the entries of the level-0 tile with this index and width. */
export type BundleId = Omit<TileId, 'level'>;

export interface Tile extends TileId {
  /** `width` concatenated hashes of 32 bytes. */
  readonly hashes: Bytes;
}

/**
 * Number of hashes of tile (`level`, `index`) in a tree of `size` leaves: 256 when full, 0 when it does not exist yet.
 * Counts only complete subtrees (C2SP tlog-tiles, "Partial Tiles").
 */
export function tileWidth(level: number, index: number, size: number): number {
  const hashesInLevel = Math.floor(size / TILE_WIDTH ** level);
  return Math.max(0, Math.min(TILE_WIDTH, hashesInLevel - index * TILE_WIDTH));
}

/** The C2SP path of a tile, relative to the log prefix: `tile/0/x001/067.p/8`. Throws for an invalid id. */
export function tilePath(tile: TileId): string {
  if (!isTileId(tile)) {
    throw new Error(`No tile has level ${tile.level}, index ${tile.index} and width ${tile.width}.`);
  }
  return `tile/${tile.level}/${placePath(tile)}`;
}

/** The C2SP path of an entry bundle: `tile/entries/x001/067.p/8`. Throws for an invalid id. */
export function bundlePath({ index, width }: BundleId): string {
  return tilePath({ level: 0, index, width }).replace('/0/', '/entries/');
}

function placePath({ index, width }: BundleId): string {
  const groups: string[] = [];
  for (let rest = index; groups.length === 0 || rest > 0; rest = Math.floor(rest / 1000)) {
    const digits = String(rest % 1000).padStart(3, '0');
    groups.unshift(groups.length === 0 ? digits : `x${digits}`);
  }
  return `${groups.join('/')}${width === TILE_WIDTH ? '' : `.p/${width}`}`;
}

// Six groups cover every safe integer; the limit bounds the cost of an untrusted path.
const TILE_PATH = /^tile\/(0|[1-9][0-9]?)\/((?:x[0-9]{3}\/){0,5}[0-9]{3})(?:\.p\/([1-9][0-9]{0,2}))?$/;

/**
 * Parses a C2SP tile path; undefined when it is invalid. Paths are unique: leading zero groups, leading zeros in a
 * level or width and `.p/256` are rejected.
 */
export function parseTilePath(path: string): TileId | undefined {
  const match = TILE_PATH.exec(path);
  if (match === null) return undefined;
  const [, level, index, width] = match;
  const tile = {
    level: Number(level),
    index: Number(index?.replaceAll(/[x/]/g, '')),
    width: width === undefined ? TILE_WIDTH : Number(width),
  };
  return isTileId(tile) && tilePath(tile) === path ? tile : undefined;
}

/** Parses a C2SP entry bundle path; undefined when it is invalid. See `parseTilePath`. */
export function parseBundlePath(path: string): BundleId | undefined {
  if (!path.startsWith('tile/entries/')) return undefined;
  const tile = parseTilePath(path.replace('/entries/', '/0/'));
  return tile === undefined ? undefined : { index: tile.index, width: tile.width };
}

const LENGTH_BYTES = 2;
const MAX_ENTRY_BYTES = 0xffff;

/** Encodes entries as a bundle: each with a 16-bit big-endian length prefix. Throws for an entry that is too long. */
export function bundleOf(entries: readonly Uint8Array[]): Bytes {
  return Bytes.concat(
    entries.flatMap((entry) => {
      if (entry.length > MAX_ENTRY_BYTES) throw new Error(`An entry is at most ${MAX_ENTRY_BYTES} bytes long.`);
      return [Bytes.of(entry.length >> 8, entry.length & 0xff), entry];
    }),
  );
}

/** The entries of a bundle, as views of it. Throws when the last entry is truncated. */
export function entriesOf(bundle: Bytes): Bytes[] {
  const entries: Bytes[] = [];
  for (let at = 0; at < bundle.length;) {
    const start = at + LENGTH_BYTES;
    // A truncated length prefix makes `end` NaN, which is rejected below.
    const end = start + (bundle[at]! << 8) + bundle[at + 1]!;
    if (!(end <= bundle.length)) throw new Error('A bundle of entries ends within one.');
    entries.push(bundle.subarray(start, end));
    at = end;
  }
  return entries;
}

function isTileId({ level, index, width }: TileId): boolean {
  return isWithin(level, 0, MAX_LEVEL) && isWithin(index, 0, Number.MAX_SAFE_INTEGER) && isWithin(width, 1, TILE_WIDTH);
}

function isWithin(value: number, least: number, most: number): boolean {
  return Number.isSafeInteger(value) && value >= least && value <= most;
}
