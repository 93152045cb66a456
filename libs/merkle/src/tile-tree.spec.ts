import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { EMPTY_ROOT } from './tree-hash.ts';
import { TileTree } from './tile-tree.ts';
import { tilePath } from './tile.ts';
import { NaiveTree, randomLeaves } from './testing/naive-tree.ts';

// The eight leaves of the Certificate Transparency reference implementation, and the root over the first n of them.
const REFERENCE_LEAVES = [
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
  '0298d122906dcfc10892cb53a73992fc5b9f493ea4c9badb27b791b4127a7fe7',
  '07506a85fd9dd2f120eb694f86011e5bb4662e5c415a62917033d4a9624487e7',
  'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
  '4271a26be0d8a84f0bd54c8c302e7cb3a3b5d1fa6780a40bcce2873477dab658',
  'b08693ec2e721597130641e8211e7eedccb4c26413963eee6c1e2ed16ffb1a5f',
  '46f6ffadd3d06a09ff3c5860d2755c8b9819db7df44251788c7d8e3180de8eb1',
];
const REFERENCE_ROOTS = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];

describe('a tile tree', () => {
  it('has the published root at every size of the reference tree', () => {
    const tree = TileTree.empty();
    const roots = [tree.root().toString('hex')];
    for (const leaf of REFERENCE_LEAVES) {
      expect(tree.append(Buffer.from(leaf, 'hex'))).toEqual([]);
      roots.push(tree.root().toString('hex'));
    }
    expect(roots).toEqual(REFERENCE_ROOTS);
  });

  it('equals the recursive tree of the RFC at every size from 0 to 600', () => {
    const leaves = randomLeaves(600);
    const naive = new NaiveTree(leaves);
    const tree = TileTree.empty();
    expect(tree.root()).toEqual(EMPTY_ROOT);
    for (const [index, leaf] of leaves.entries()) {
      tree.append(leaf);
      expect(tree.size).toBe(index + 1);
      expect(tree.root().equals(naive.root(0, index + 1))).toBe(true);
    }
  });

  it('equals the recursive tree at large sizes, for any partition of the leaves', () => {
    const leaves = randomLeaves(70_000);
    const naive = new NaiveTree(leaves);
    const portions = fc.array(fc.integer({ min: 0, max: 9000 }), { minLength: 1, maxLength: 7 });
    fc.assert(
      fc.property(portions, (counts) => {
        const tree = TileTree.empty();
        const tiles = new Set<string>();
        for (const count of counts) {
          const portion = leaves.slice(tree.size, tree.size + count);
          for (const tile of tree.append(Buffer.concat(portion))) tiles.add(tilePath(tile));
        }
        expect(tree.root().equals(naive.root(0, tree.size))).toBe(true);
        const whole = TileTree.empty().append(Buffer.concat(leaves.slice(0, tree.size)));
        expect(tiles).toEqual(new Set(whole.map(tilePath)));
      }),
      { numRuns: 20 },
    );
  });

  it('returns the tiles of the example in C2SP tlog-tiles, a tree of 70,000', () => {
    const leaves = randomLeaves(70_000);
    const tree = TileTree.empty();
    const full = tree.append(Buffer.concat(leaves));
    const zeroes = Array.from({ length: 273 }, (_, index) => tilePath({ level: 0, index, width: 256 }));
    expect(full.map(tilePath)).toEqual([...zeroes, 'tile/1/000']);
    expect(tree.edge().map(tilePath)).toEqual(['tile/0/273.p/112', 'tile/1/001.p/17', 'tile/2/000.p/1']);
    const naive = new NaiveTree(leaves);
    expect(full[5]?.hashes).toEqual(Buffer.concat(leaves.slice(5 * 256, 6 * 256)));
    expect(full.at(-1)?.hashes.subarray(32, 64)).toEqual(naive.root(256, 512));
    expect(tree.edge()[2]?.hashes).toEqual(naive.root(0, 65_536));
  });

  it('has no partial tile on a level that just became full', () => {
    const tree = TileTree.empty();
    expect(tree.append(Buffer.concat(randomLeaves(256))).map(tilePath)).toEqual(['tile/0/000']);
    expect(tree.edge().map(tilePath)).toEqual(['tile/1/000.p/1']);
  });

  it('continues from its edge as if never interrupted', () => {
    const leaves = randomLeaves(70_000);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 69_000 }), fc.integer({ min: 0, max: 1000 }), (size, more) => {
        const first = TileTree.empty();
        first.append(Buffer.concat(leaves.slice(0, size)));
        const second = TileTree.from(size, first.edge());
        expect(second.root()).toEqual(first.root());
        const rest = Buffer.concat(leaves.slice(size, size + more));
        expect(second.append(rest)).toEqual(first.append(rest));
        expect(second.edge()).toEqual(first.edge());
        expect(second.root()).toEqual(first.root());
      }),
      { numRuns: 15 },
    );
  });

  it('returns copies, so that callers cannot modify it', () => {
    const tree = TileTree.empty();
    const [full] = tree.append(Buffer.concat(randomLeaves(300)));
    const root = tree.root();
    full?.hashes.fill(0);
    for (const tile of tree.edge()) tile.hashes.fill(0);
    tree.root().fill(0);
    expect(tree.root()).toEqual(root);
    const edge = tree.edge();
    const copy = TileTree.from(300, edge);
    for (const tile of edge) tile.hashes.fill(0);
    expect(copy.root()).toEqual(root);
  });

  it('rejects bytes that are not whole hashes, and stays unchanged', () => {
    const tree = TileTree.empty();
    expect(() => tree.append(Buffer.alloc(33))).toThrow('33 bytes are not a whole number');
    expect(tree.size).toBe(0);
    expect(tree.root()).toEqual(EMPTY_ROOT);
  });

  it('rejects growth beyond safe integers', () => {
    const size = 2 ** 53 - 1;
    const edge = [0, 1, 2, 3, 4, 5, 6].map((level) => {
      const width = level === 6 ? 31 : 255;
      return { level, index: Math.floor(size / 256 ** (level + 1)), width, hashes: Buffer.alloc(width * 32) };
    });
    const tree = TileTree.from(size, edge);
    expect(() => tree.append(Buffer.alloc(32))).toThrow('cannot have');
    expect(tree.size).toBe(size);
  });

  describe('restored from an edge that does not fit its size', () => {
    const whole = TileTree.empty();
    whole.append(Buffer.concat(randomLeaves(70_000)));
    const edge = whole.edge();
    const [low, middle, high] = edge;
    if (low === undefined || middle === undefined || high === undefined) throw new Error('The edge has three tiles.');

    it.each([
      ['a missing tile', 70_000, [low, high], 'has on level 1 none'],
      ['two tiles of one level', 70_000, [...edge, low], 'two tiles of one level'],
      ['a tile of a level it does not reach', 70_000, [...edge, { ...high, level: 3 }], 'a tile of level 3'],
      ['a wrong width', 70_000, [{ ...low, width: 111 }, middle, high], 'needs index 273, width 112'],
      ['a wrong index', 70_000, [{ ...low, index: 272 }, middle, high], 'index 272'],
      ['too few bytes', 70_000, [{ ...low, hashes: low.hashes.subarray(32) }, middle, high], '3552 bytes'],
      ['another size', 70_001, edge, 'width 113'],
      ['a tile of a level that is just full', 256, [{ ...low, index: 1, width: 112 }], 'needs none'],
      ['a size below nothing', -1, [], 'cannot have -1 leaves'],
      ['half a leaf', 0.5, [], 'cannot have 0.5 leaves'],
    ])('rejects %s', (_, size, tiles, message) => {
      expect(() => TileTree.from(size, tiles)).toThrow(message);
    });

    it('accepts the tiles in any order', () => {
      expect(TileTree.from(70_000, [...edge].reverse()).root()).toEqual(whole.root());
    });
  });
});
