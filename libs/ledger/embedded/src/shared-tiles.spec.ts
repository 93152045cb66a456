import { describe, expect, it } from '@jest/globals';
import { inclusionPath, leafHash, TileTree, TileNodes, type TileId } from '@sealgate/merkle';
import { SharedTiles } from './shared-tiles.ts';

/** A log that grows, with a reader that lists what it is asked for. */
function growingLog() {
  const tree = TileTree.empty();
  const stored = new Map<string, Buffer>();
  const asked: string[] = [];
  const nameOf = ({ level, index }: Pick<TileId, 'level' | 'index'>) => `${level}/${index}`;
  return {
    asked,
    grow(count: number) {
      const leaves = Array.from({ length: count }, (_, place) => leafHash(String(tree.size + place)));
      for (const tile of tree.append(Buffer.concat(leaves))) stored.set(nameOf(tile), tile.hashes);
      for (const tile of tree.edge()) stored.set(nameOf(tile), tile.hashes);
      return tree.size;
    },
    read: async (wanted: readonly TileId[]) => {
      asked.push(wanted.map(nameOf).sort().join(' '));
      return wanted.map((tile) => stored.get(nameOf(tile))!);
    },
  };
}

describe('the tiles that proofs share', () => {
  it('are read once, until they have grown; full tiles of leaves are read for each proof', async () => {
    const tiles = new SharedTiles();
    const log = growingLog();
    const prove = async (index: number, size: number) => {
      log.asked.length = 0;
      const path = await inclusionPath(index, size, (wanted) => tiles.read('l', wanted, log.read));
      const asked = [...log.asked];
      expect(path).toEqual(await inclusionPath(index, size, log.read));
      return asked;
    };
    const small = log.grow(600);
    expect(await prove(3, small)).toEqual(['0/0 0/2 1/0']);
    expect(await prove(300, small)).toEqual(['0/1']);
    expect(await prove(599, small)).toEqual([]);
    const grown = log.grow(300);
    expect(await prove(3, grown)).toEqual(['0/0 0/3 1/0']);
    // An older checkpoint has fewer of the nodes that are kept.
    expect(await prove(3, small)).toEqual(['0/0']);

    tiles.forget('l');
    expect(await prove(3, grown)).toEqual(['0/0 0/3 1/0']);
  });

  it('are those of one log, and bounded', async () => {
    const tiles = new SharedTiles();
    let reads = 0;
    const get = (log: string) =>
      tiles.read(log, [{ level: 1, index: 0, width: 1 }], async () => [Buffer.alloc(32, (reads += 1))]);
    const [first] = await get('first');
    expect(first).toBeInstanceOf(TileNodes);
    for (let log = 0; log < 255; log += 1) await get(`other ${log}`);
    expect(await get('first')).toEqual([first]);
    expect(reads).toBe(256);
    await get('one more');
    await get('first');
    expect(reads).toBe(258);
    tiles.forget('fir');
    await get('first');
    expect(reads).toBe(258);
  });
});
