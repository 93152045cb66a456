import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { bundleOf, bundlePath, entriesOf, parseBundlePath, parseTilePath, tilePath, tileWidth } from './tile.ts';

describe('tile paths', () => {
  // Index 1234067 is the example of C2SP tlog-tiles; the others follow from its rules.
  it.each([
    [{ level: 0, index: 0, width: 256 }, 'tile/0/000'],
    [{ level: 0, index: 1234067, width: 256 }, 'tile/0/x001/x234/067'],
    [{ level: 0, index: 1067, width: 8 }, 'tile/0/x001/067.p/8'],
    [{ level: 1, index: 999, width: 255 }, 'tile/1/999.p/255'],
    [{ level: 63, index: 1000, width: 1 }, 'tile/63/x001/000.p/1'],
  ])('are correct for %j', (tile, path) => {
    expect(tilePath(tile)).toBe(path);
    expect(parseTilePath(path)).toEqual(tile);
  });

  it('round-trip for every tile', () => {
    const tile = fc.record({
      level: fc.integer({ min: 0, max: 63 }),
      index: fc.maxSafeNat(),
      width: fc.integer({ min: 1, max: 256 }),
    });
    fc.assert(fc.property(tile, (id) => expect(parseTilePath(tilePath(id))).toEqual(id)));
  });

  it.each([
    'tile/0/0',
    'tile/0/00',
    'tile/0/0000',
    'tile/0/x000/001',
    'tile/0/x001',
    'tile/0/001/002',
    'tile/0/x1/000',
    'tile/00/000',
    'tile/64/000',
    'tile/-1/000',
    'tile/0/000.p/0',
    'tile/0/000.p/256',
    'tile/0/000.p/08',
    'tile/0/000.p/',
    'tile/0/000.p/8/',
    'tile/entries/000',
    '/tile/0/000',
    'tile/0/000\n',
    'tile/0/../000',
    'tile/0/x999/x999/x999/x999/x999/999',
    `tile/0/${'x001/'.repeat(500)}000`,
    '',
  ])('reject %j', (path) => {
    expect(parseTilePath(path)).toBeUndefined();
  });

  it.each([
    { level: 64, index: 0, width: 1 },
    { level: -1, index: 0, width: 1 },
    { level: 0, index: -1, width: 1 },
    { level: 0, index: 0.5, width: 1 },
    { level: 0, index: 2 ** 53, width: 1 },
    { level: 0, index: 0, width: 0 },
    { level: 0, index: 0, width: 257 },
  ])('do not exist for %j', (tile) => {
    expect(() => tilePath(tile)).toThrow('No tile has');
  });
});

describe('tile widths', () => {
  it('match the example in C2SP tlog-tiles, a tree of 70,000', () => {
    expect(tileWidth(0, 272, 70_000)).toBe(256);
    expect(tileWidth(0, 273, 70_000)).toBe(112);
    expect(tileWidth(0, 274, 70_000)).toBe(0);
    expect(tileWidth(1, 0, 70_000)).toBe(256);
    expect(tileWidth(1, 1, 70_000)).toBe(17);
    expect(tileWidth(2, 0, 70_000)).toBe(1);
    expect(tileWidth(3, 0, 70_000)).toBe(0);
  });

  it('count only complete subtrees', () => {
    expect(tileWidth(1, 0, 255)).toBe(0);
    expect(tileWidth(1, 0, 256)).toBe(1);
    expect(tileWidth(1, 0, 511)).toBe(1);
  });
});

describe('a bundle of entries', () => {
  it.each([
    [{ index: 0, width: 256 }, 'tile/entries/000'],
    [{ index: 1234067, width: 8 }, 'tile/entries/x001/x234/067.p/8'],
  ])('%j has the path of C2SP', (bundle, path) => {
    expect(bundlePath(bundle)).toBe(path);
    expect(parseBundlePath(path)).toEqual(bundle);
  });

  it.each(['tile/0/000', 'tile/entries/0', 'tile/entries/000.p/256', 'tile/entries/x000/001', 'entries/000', ''])(
    'is not found in %j',
    (path) => expect(parseBundlePath(path)).toBeUndefined(),
  );

  it('prefixes each entry with its length in 16 bits', () => {
    expect(
      bundleOf([Buffer.from('ab'), Buffer.from(''), Buffer.alloc(258, 'x')])
        .subarray(0, 8)
        .toString('hex'),
    ).toBe('0002616200000102');
    const entries = fc.array(fc.uint8Array({ maxLength: 600 }));
    fc.assert(
      fc.property(entries, (each) => {
        expect(entriesOf(bundleOf(each)).map((entry) => [...entry])).toEqual(each.map((entry) => [...entry]));
      }),
    );
  });

  it.each(['00', '0001', '000261', '000161ff'])('is rejected if truncated: %s', (hex) => {
    expect(() => entriesOf(Buffer.from(hex, 'hex'))).toThrow('ends within one');
  });

  it('accepts entries of up to 65,535 bytes', () => {
    expect(entriesOf(bundleOf([Buffer.alloc(65_535)]))[0]).toHaveLength(65_535);
    expect(() => bundleOf([Buffer.alloc(65_536)])).toThrow('at most 65535 bytes');
  });
});
