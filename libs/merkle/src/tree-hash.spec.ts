import { describe, expect, it } from '@jest/globals';
import { EMPTY_ROOT, leafHash, nodeHash, perfectRoot, TileNodes } from './tree-hash.ts';

// Leaves and roots published by the Certificate Transparency reference implementation for RFC 6962 hashing.
const EMPTY_LEAF = '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d';
const TWO_LEAVES = 'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125';
const FOUR_LEAVES = 'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7';

describe('tree hashes', () => {
  it('hashes the empty tree as SHA-256 of nothing', () => {
    expect(EMPTY_ROOT.toString('hex')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  });

  it('prefixes a leaf with a zero byte', () => {
    expect(leafHash('').toString('hex')).toBe(EMPTY_LEAF);
    expect(leafHash(Buffer.of(0)).toString('hex')).toBe(
      '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
    );
  });

  it('hashes a string as its UTF-8', () => {
    expect(leafHash('Zürich «€»')).toEqual(leafHash(Buffer.from('Zürich «€»')));
  });

  it('prefixes an inner node with a one byte', () => {
    expect(nodeHash(leafHash(''), leafHash(Buffer.of(0))).toString('hex')).toBe(TWO_LEAVES);
  });

  it('rejects an inner node over anything but two hashes', () => {
    expect(() => nodeHash(EMPTY_ROOT, Buffer.alloc(31))).toThrow('32 bytes, not 32 and 31');
    expect(() => nodeHash(Buffer.alloc(33), EMPTY_ROOT)).toThrow('32 bytes, not 33 and 32');
  });

  it('computes the root of a perfect row of hashes at any offset', () => {
    const row = Buffer.concat(['', '00', '10', '2021'].map((hex) => leafHash(Buffer.from(hex, 'hex'))));
    expect(perfectRoot(row, 0, 4).toString('hex')).toBe(FOUR_LEAVES);
    expect(perfectRoot(Buffer.concat([EMPTY_ROOT, row]), 1, 2).toString('hex')).toBe(TWO_LEAVES);
    expect(perfectRoot(row, 0, 1).toString('hex')).toBe(EMPTY_LEAF);
  });

  it('computes every complete node over a tile', () => {
    for (const width of [1, 2, 7, 255, 256]) {
      const hashes = Buffer.concat(Array.from({ length: width }, (_, place) => leafHash(String(place))));
      const nodes = new TileNodes(hashes);
      expect(nodes.width).toBe(width);
      for (let count = 1; count <= width; count *= 2) {
        for (let from = 0; from + count <= width; from += count)
          expect(nodes.root(from, count)).toEqual(perfectRoot(hashes, from, count));
        expect(() => nodes.root(width - (width % count), count)).toThrow('reaches past');
      }
    }
  });

  it('does not modify its input', () => {
    const row = Buffer.concat([leafHash('a'), leafHash('b')]);
    const before = Buffer.from(row);
    perfectRoot(row, 0, 2);
    expect(row).toEqual(before);
  });

  it('rejects a row that is too short', () => {
    expect(() => perfectRoot(EMPTY_ROOT, 0, 2)).toThrow('reaches past');
  });
});
