import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { leafHash, nodeHash, TileNodes } from './tree-hash.ts';
import { consistencyPath, inclusionPath } from './proof-paths.ts';
import { verifyConsistency, verifyInclusion } from './verify-proof.ts';
import { NaiveTree, randomLeaves, storedTiles } from './testing/naive-tree.ts';
import type { TileId } from './tile.ts';

describe('proof paths', () => {
  it("equal the RFC's reference tree, for every leaf and old size of seven", async () => {
    const data = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657'];
    const { read } = storedTiles(data.map((hex) => leafHash(Buffer.from(hex, 'hex'))));
    const short = (path: Buffer[]) => path.map((hash) => hash.toString('hex').slice(0, 8));
    const inclusion = await Promise.all(data.map(async (_, index) => short(await inclusionPath(index, 7, read))));
    expect(inclusion).toEqual([
      ['96a296d2', '5f083f0a', '837dbb15'],
      ['6e340b9c', '5f083f0a', '837dbb15'],
      ['07506a85', 'fac54203', '837dbb15'],
      ['0298d122', 'fac54203', '837dbb15'],
      ['4271a26b', 'b08693ec', 'd37ee418'],
      ['bc1a0643', 'b08693ec', 'd37ee418'],
      ['0ebc5d34', 'd37ee418'],
    ]);
    const sizes = [0, 1, 2, 3, 4, 5, 6, 7];
    const consistency = await Promise.all(sizes.map(async (size) => short(await consistencyPath(size, 7, read))));
    expect(consistency).toEqual([
      [],
      ['96a296d2', '5f083f0a', '837dbb15'],
      ['5f083f0a', '837dbb15'],
      ['0298d122', '07506a85', 'fac54203', '837dbb15'],
      ['837dbb15'],
      ['bc1a0643', '4271a26b', 'b08693ec', 'd37ee418'],
      ['0ebc5d34', 'b08693ec', 'd37ee418'],
      [],
    ]);
  });

  it('equal those of the RFC, and verify, at every size from 1 to 600', async () => {
    const leaves = randomLeaves(600);
    const naive = new NaiveTree(leaves);
    for (let size = 1; size <= leaves.length; size += 1) {
      const { read } = storedTiles(leaves.slice(0, size));
      const root = naive.root(0, size);
      for (const index of samples(size - 1)) {
        const path = await inclusionPath(index, size, read);
        expect(equal(path, naive.path(index, 0, size))).toBe(true);
        const leaf = leaves[index] ?? Buffer.alloc(0);
        expect(verifyInclusion({ leafHash: leaf, index, size, path, root })).toBe(true);
      }
      for (const oldSize of samples(size)) {
        const path = await consistencyPath(oldSize, size, read);
        expect(equal(path, oldSize === 0 ? [] : naive.subproof(oldSize, [0, size], true))).toBe(true);
        const oldRoot = naive.root(0, oldSize);
        expect(verifyConsistency({ oldSize, newSize: size, path, oldRoot, newRoot: root })).toBe(true);
      }
    }
  });

  it('equal those of the RFC in a large tree, each from one read of few tiles', async () => {
    const leaves = randomLeaves(70_000);
    const naive = new NaiveTree(leaves);
    const trees = [65_535, 65_536, 65_537, 68_123, 70_000].map((size) => ({
      size,
      ...storedTiles(leaves.slice(0, size)),
    }));
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...trees), fc.maxSafeNat(), async ({ size, read, calls }, chance) => {
        calls.length = 0;
        const index = chance % size;
        expect(equal(await inclusionPath(index, size, read), naive.path(index, 0, size))).toBe(true);
        const oldSize = 1 + (chance % (size - 1));
        const proof = await consistencyPath(oldSize, size, read);
        expect(equal(proof, naive.subproof(oldSize, [0, size], true))).toBe(true);
        expect(calls).toHaveLength(2);
        // Three levels, each with at most the tile above the leaf and the one at the edge.
        for (const wanted of calls) expect(wanted.length).toBeLessThanOrEqual(6);
      }),
      { numRuns: 200 },
    );
  });

  it('are correct at sizes beyond 32 bits', async () => {
    // With equal leaves a node's hash depends on its height only, so no tree has to be built.
    const heights = [leafHash('one')];
    for (let height = 1; height < 53; height += 1) heights.push(nodeHash(at(heights, -1), at(heights, -1)));
    const rootOf = (size: number): Buffer => {
      let height = 0;
      while (2 ** (height + 1) <= size) height += 1;
      const rest = size - 2 ** height;
      return rest === 0 ? at(heights, height) : nodeHash(at(heights, height), rootOf(rest));
    };
    const read = (wanted: readonly TileId[]) =>
      Promise.resolve(wanted.map(({ level, width }) => Buffer.alloc(width * 32, at(heights, 8 * level))));
    const size = fc.integer({ min: 2 ** 31, max: 2 ** 50 });
    await fc.assert(
      fc.asyncProperty(size, size, async (one, other) => {
        const [less, more] = [Math.min(one, other), Math.max(one, other) + 1];
        const [oldRoot, newRoot] = [rootOf(less), rootOf(more)];
        const path = await inclusionPath(less, more, read);
        expect(verifyInclusion({ leafHash: at(heights, 0), index: less, size: more, path, root: newRoot })).toBe(true);
        const proof = await consistencyPath(less, more, read);
        expect(verifyConsistency({ oldSize: less, newSize: more, path: proof, oldRoot, newRoot })).toBe(true);
      }),
    );
  });

  it('are the same where the reader gives the nodes of a tile', async () => {
    const { tree, read } = storedTiles(randomLeaves(70_000));
    const nodes = async (wanted: readonly TileId[]) => (await read(wanted)).map((hashes) => new TileNodes(hashes));
    for (const index of samples(tree.size - 1)) {
      expect(await inclusionPath(index, tree.size, nodes)).toEqual(await inclusionPath(index, tree.size, read));
    }
    const short = (wanted: readonly TileId[]) => Promise.resolve(wanted.map(() => new TileNodes(Buffer.alloc(32))));
    await expect(inclusionPath(0, 300, short)).rejects.toThrow('tile/0/000 has 32 bytes, and needs 8192.');
  });

  it('accept a tile that has grown since, as C2SP clients may', async () => {
    const leaves = randomLeaves(600);
    const naive = new NaiveTree(leaves);
    const { tiles } = storedTiles(leaves);
    const grown = (wanted: readonly TileId[]) =>
      Promise.resolve(wanted.map((tile) => tiles.get(`tile/${tile.level}/00${tile.index}`) ?? Buffer.alloc(0)));
    expect(await inclusionPath(3, 200, grown)).toEqual(naive.path(3, 0, 200));
  });

  it('name a tile that is missing or too short', async () => {
    const { tree } = storedTiles(randomLeaves(300));
    const short = (wanted: readonly TileId[]) => Promise.resolve(wanted.map(() => Buffer.alloc(32)));
    await expect(inclusionPath(0, 300, short)).rejects.toThrow('tile/0/000 has 32 bytes, and needs 8192.');
    await expect(consistencyPath(256, tree.size, () => Promise.resolve([]))).rejects.toThrow(
      'tile/0/001.p/44 was not read, and needs 1408.',
    );
  });

  it('pass on exceptions of the reader', async () => {
    const failing = () => Promise.reject(new Error('no disk'));
    await expect(inclusionPath(0, 2, failing)).rejects.toThrow('no disk');
  });

  it.each([
    [0, 0],
    [5, 5],
    [-1, 5],
    [1.5, 5],
    [0, -1],
    [0, 2 ** 53],
  ])('reject leaf %d in a tree of %d', async (index, size) => {
    await expect(inclusionPath(index, size, neverRead)).rejects.toThrow(/no leaf|cannot have/);
  });

  it.each([
    [6, 5],
    [-1, 5],
    [1.5, 5],
    [0, 2 ** 53],
  ])('reject consistency from %d to %d', async (oldSize, newSize) => {
    await expect(consistencyPath(oldSize, newSize, neverRead)).rejects.toThrow(/cannot/);
  });

  it('read nothing for an empty path', async () => {
    expect(await inclusionPath(0, 1, neverRead)).toEqual([]);
    expect(await consistencyPath(0, 500, neverRead)).toEqual([]);
    expect(await consistencyPath(500, 500, neverRead)).toEqual([]);
  });
});

function neverRead(): Promise<Buffer[]> {
  throw new Error('Nothing needs to be read.');
}

/** Indexes up to `most`: all of a small tree, else the ends, tile edges and some in between. */
function samples(most: number): number[] {
  if (most <= 40) return Array.from({ length: most + 1 }, (_, place) => place);
  const places = [0, 1, 128, 255, 256, 257, 512, Math.floor(most / 3), most - 1, most];
  return [...new Set(places)].filter((place) => place <= most);
}

function equal(left: readonly Buffer[], right: readonly Buffer[]): boolean {
  return Buffer.concat(left).equals(Buffer.concat(right));
}

function at(hashes: readonly Buffer[], index: number): Buffer {
  const hash = hashes.at(index);
  if (hash === undefined) throw new Error(`No hash ${index}.`);
  return hash;
}
