import { Bytes } from '@sealgate/json';

/** Hashes in a full tile (C2SP tlog-tiles: tiles have height 8). */
export const TILE_WIDTH = 256;

/** The deepest level C2SP tlog-tiles can name. */
const MAX_LEVEL = 63;

/** Which tile: level 0 holds leaf hashes, each hash of level L is the root of a full tile of level L-1. */
export interface TileId {
  readonly level: number;
  /** Its place within the level, from 0. */
  readonly index: number;
  /** How many hashes it holds, 1 to 256; fewer than 256 makes it a partial tile at the right edge. */
  readonly width: number;
}

/** Which bundle of entries: those below the tile of level 0 with this index and width. */
export type BundleId = Omit<TileId, 'level'>;

export interface Tile extends TileId {
  /** `width` hashes of 32 bytes, one after another. */
  readonly hashes: Bytes;
}

/**
 * How many hashes the tile at (`level`, `index`) holds in a tree of `size` leaves: 256 when full, 0 when it does not exist yet.
 * Only hashes over complete subtrees count (C2SP tlog-tiles, "Partial Tiles").
 */
export function tileWidth(level: number, index: number, size: number): number {
  const hashesInLevel = Math.floor(size / TILE_WIDTH ** level);
  return Math.max(0, Math.min(TILE_WIDTH, hashesInLevel - index * TILE_WIDTH));
}

/** The C2SP path of a tile, relative to the prefix of the log: `tile/0/x001/067.p/8`. Throws when no tile can have this id. */
export function tilePath(tile: TileId): string {
  if (!isTileId(tile)) {
    throw new Error(`No tile has level ${tile.level}, index ${tile.index} and width ${tile.width}.`);
  }
  return `tile/${tile.level}/${placePath(tile)}`;
}

/** The C2SP path of the entries below a tile of level 0: `tile/entries/x001/067.p/8`. Throws when no tile can have this id. */
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

// Six groups are enough for every safe integer; the bound keeps a hostile path from costing anything.
const TILE_PATH = /^tile\/(0|[1-9][0-9]?)\/((?:x[0-9]{3}\/){0,5}[0-9]{3})(?:\.p\/([1-9][0-9]{0,2}))?$/;

/**
 * The tile a C2SP path names, or undefined when it names none.
 * Each tile has exactly one path: leading zero groups, leading zeroes in a level or width and `.p/256` are refused.
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

/** The bundle of entries a C2SP path names, or undefined when it names none; see `parseTilePath`. */
export function parseBundlePath(path: string): BundleId | undefined {
  if (!path.startsWith('tile/entries/')) return undefined;
  const tile = parseTilePath(path.replace('/entries/', '/0/'));
  return tile === undefined ? undefined : { index: tile.index, width: tile.width };
}

const LENGTH_BYTES = 2;
const MAX_ENTRY_BYTES = 0xffff;

/** Entries as a bundle holds them: each behind its length in 16 bits, big-endian. Throws for one that is longer. */
export function bundleOf(entries: readonly Uint8Array[]): Bytes {
  return Bytes.concat(
    entries.flatMap((entry) => {
      if (entry.length > MAX_ENTRY_BYTES) throw new Error(`An entry is at most ${MAX_ENTRY_BYTES} bytes long.`);
      return [Bytes.of(entry.length >> 8, entry.length & 0xff), entry];
    }),
  );
}

/** The entries of a bundle, as views of it. Throws when the last one is cut short. */
export function entriesOf(bundle: Bytes): Bytes[] {
  const entries: Bytes[] = [];
  for (let at = 0; at < bundle.length;) {
    const start = at + LENGTH_BYTES;
    // Behind the end there are no numbers, and no entry either.
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
