import { TILE_WIDTH, TileNodes, type TileId } from '@sealgate/merkle';

/** Each takes 16 KiB: what the proofs of some sixteen million records have in common. */
const MAX_KEPT = 256;

type ReadTiles = (wanted: readonly TileId[]) => Promise<readonly Buffer[]>;

/**
 * The tiles that many proofs have in common, with their nodes: those above the leaves, and the partial ones of the right
 * edge. The nodes of a log never change, so a tile is read again only once it has grown. They are not trusted: whoever
 * builds a path verifies it, and forgets the tiles of the log where it leads elsewhere.
 */
export class SharedTiles {
  /** The oldest first. */
  readonly #kept = new Map<string, TileNodes>();

  /** Tiles of a log, in order. `readOthers` reads all those that are not kept. */
  async read(log: string, wanted: readonly TileId[], readOthers: ReadTiles): Promise<(Buffer | TileNodes)[]> {
    const found = new Map<TileId, Buffer | TileNodes>();
    for (const tile of wanted) {
      const nodes = this.#kept.get(keyOf(log, tile));
      if (nodes !== undefined && nodes.width >= tile.width) found.set(tile, nodes);
    }
    const others = wanted.filter((tile) => !found.has(tile));
    const read = others.length === 0 ? [] : await readOthers(others);
    for (const [place, tile] of others.entries()) found.set(tile, this.#taken(log, tile, read[place]!));
    return wanted.map((tile) => found.get(tile)!);
  }

  forget(log: string): void {
    for (const key of this.#kept.keys()) if (key.startsWith(`${log} `)) this.#kept.delete(key);
  }

  /** Full tiles of leaves are not kept: few proofs have one in common. */
  #taken(log: string, tile: TileId, hashes: Buffer): Buffer | TileNodes {
    if (tile.level === 0 && tile.width === TILE_WIDTH) return hashes;
    const nodes = new TileNodes(hashes);
    this.#kept.delete(keyOf(log, tile));
    if (this.#kept.size >= MAX_KEPT) this.#kept.delete(this.#kept.keys().next().value!);
    this.#kept.set(keyOf(log, tile), nodes);
    return nodes;
  }
}

const keyOf = (log: string, { level, index }: TileId): string => `${log} ${level}/${index}`;
