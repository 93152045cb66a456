import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { EMPTY_ROOT } from './tree-hash.ts';
import { rootFromInclusion, rootsFromConsistency, verifyConsistency, verifyInclusion } from './verify-proof.ts';
import { NaiveTree, randomLeaves } from './testing/naive-tree.ts';

const leaves = randomLeaves(600);
const naive = new NaiveTree(leaves);

function inclusionOf(index: number, size: number) {
  const leafHash = leaves[index] ?? EMPTY_ROOT;
  return { leafHash, index, size, path: naive.path(index, 0, size), root: naive.root(0, size) };
}

function consistencyOf(oldSize: number, newSize: number) {
  const path = naive.subproof(oldSize, [0, newSize], true);
  return { oldSize, newSize, path, oldRoot: naive.root(0, oldSize), newRoot: naive.root(0, newSize) };
}

/** The same bytes with one bit flipped, chosen by `chance`. */
function flipped(bytes: Buffer, chance: number): Buffer {
  const copy = Buffer.from(bytes);
  const bit = chance % (copy.length * 8);
  copy.writeUInt8(copy.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
  return copy;
}

/** All variants of the path with exactly one hash damaged. */
function spoiledPaths(path: readonly Buffer[], chance: number): Buffer[][] {
  return path.map((hash, place) => path.with(place, flipped(hash, chance)));
}

const sizes = fc.tuple(fc.integer({ min: 1, max: 600 }), fc.nat(), fc.nat());

describe('an inclusion proof', () => {
  it('fails with any bit flipped in leaf, path or root', () => {
    fc.assert(
      fc.property(sizes, ([size, place, chance]) => {
        const proof = inclusionOf(place % size, size);
        expect(verifyInclusion(proof)).toBe(true);
        expect(verifyInclusion({ ...proof, leafHash: flipped(proof.leafHash, chance) })).toBe(false);
        expect(verifyInclusion({ ...proof, root: flipped(proof.root, chance) })).toBe(false);
        for (const path of spoiledPaths(proof.path, chance)) expect(verifyInclusion({ ...proof, path })).toBe(false);
      }),
    );
  });

  it('fails for every other index in the tree', () => {
    const proof = inclusionOf(77, 100);
    const places = Array.from({ length: 100 }, (_, index) => index);
    expect(places.filter((index) => verifyInclusion({ ...proof, index }))).toEqual([77]);
  });

  it('fails with a hash too many, too few or out of order', () => {
    fc.assert(
      fc.property(sizes, ([size, place]) => {
        const proof = inclusionOf(place % size, size);
        expect(verifyInclusion({ ...proof, path: [...proof.path, EMPTY_ROOT] })).toBe(false);
        if (proof.path.length > 0) expect(verifyInclusion({ ...proof, path: proof.path.slice(1) })).toBe(false);
        if (proof.path.length > 0) expect(verifyInclusion({ ...proof, path: proof.path.slice(0, -1) })).toBe(false);
        if (proof.path.length > 1) expect(verifyInclusion({ ...proof, path: proof.path.toReversed() })).toBe(false);
      }),
    );
  });

  it.each([
    ['an index past the end', { index: 5 }],
    ['an index below 0', { index: -1 }],
    ['half an index', { index: 0.5 }],
    ['an index of NaN', { index: Number.NaN }],
    ['an empty tree', { size: 0, index: 0 }],
    ['an endless tree', { size: Number.POSITIVE_INFINITY }],
    ['a short leaf hash', { leafHash: Buffer.alloc(31) }],
    ['a short hash in the path', { path: [Buffer.alloc(31), Buffer.alloc(32), Buffer.alloc(32)] }],
    ['a long hash in the path', { path: [Buffer.alloc(33), Buffer.alloc(32), Buffer.alloc(32)] }],
  ])('has no root with %s', (_, spoiled) => {
    expect(rootFromInclusion({ ...inclusionOf(2, 5), ...spoiled })).toBeUndefined();
  });

  it('is false, not an error, for a root of another length', () => {
    expect(verifyInclusion({ ...inclusionOf(2, 5), root: Buffer.alloc(0) })).toBe(false);
  });

  it('does not modify its input', () => {
    const proof = inclusionOf(0, 1);
    rootFromInclusion(proof)?.fill(0);
    expect(proof.leafHash.equals(naive.root(0, 1))).toBe(true);
  });
});

describe('a consistency proof', () => {
  it('fails with any bit flipped in path or roots', () => {
    fc.assert(
      fc.property(sizes, ([newSize, place, chance]) => {
        const proof = consistencyOf(1 + (place % newSize), newSize);
        expect(verifyConsistency(proof)).toBe(true);
        expect(verifyConsistency({ ...proof, oldRoot: flipped(proof.oldRoot, chance) })).toBe(false);
        expect(verifyConsistency({ ...proof, newRoot: flipped(proof.newRoot, chance) })).toBe(false);
        for (const path of spoiledPaths(proof.path, chance)) expect(verifyConsistency({ ...proof, path })).toBe(false);
      }),
    );
  });

  it('fails with a hash too many or too few', () => {
    fc.assert(
      fc.property(sizes, ([newSize, place]) => {
        const proof = consistencyOf(1 + (place % newSize), newSize);
        expect(verifyConsistency({ ...proof, path: [...proof.path, EMPTY_ROOT] })).toBe(false);
        if (proof.path.length > 0) expect(verifyConsistency({ ...proof, path: proof.path.slice(1) })).toBe(false);
        if (proof.path.length > 0) expect(verifyConsistency({ ...proof, path: proof.path.slice(0, -1) })).toBe(false);
      }),
    );
  });

  it('never connects a log with a fork of it', () => {
    const fork = new NaiveTree([...leaves.slice(0, 99), ...randomLeaves(501)]);
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 600 }), fc.nat(), (newSize, place) => {
        const proof = consistencyOf(100 + (place % (newSize - 99)), newSize);
        const newRoot = fork.root(0, newSize);
        const path = fork.subproof(proof.oldSize, [0, newSize], true);
        expect(verifyConsistency({ ...proof, newRoot })).toBe(false);
        expect(verifyConsistency({ ...proof, newRoot, path })).toBe(false);
      }),
    );
  });

  it('from the empty tree is empty and requires the empty root', () => {
    const proof = { oldSize: 0, newSize: 9, path: [], oldRoot: EMPTY_ROOT, newRoot: naive.root(0, 9) };
    expect(verifyConsistency(proof)).toBe(true);
    expect(verifyConsistency({ ...proof, oldRoot: naive.root(0, 1) })).toBe(false);
    expect(verifyConsistency({ ...proof, path: [EMPTY_ROOT] })).toBe(false);
    expect(verifyConsistency({ ...proof, newRoot: Buffer.alloc(31) })).toBe(false);
  });

  it('between equal sizes is empty and requires equal roots', () => {
    const proof = consistencyOf(9, 9);
    expect(verifyConsistency(proof)).toBe(true);
    expect(verifyConsistency({ ...proof, newRoot: naive.root(0, 8) })).toBe(false);
    expect(verifyConsistency({ ...proof, path: [EMPTY_ROOT] })).toBe(false);
    const empty = { oldSize: 0, newSize: 0, path: [], oldRoot: EMPTY_ROOT, newRoot: EMPTY_ROOT };
    expect(verifyConsistency(empty)).toBe(true);
    const wrong = naive.root(0, 1);
    expect(verifyConsistency({ ...empty, oldRoot: wrong, newRoot: wrong })).toBe(false);
  });

  it.each([
    ['a tree that shrank', { oldSize: 8 }],
    ['a size below 0', { oldSize: -1 }],
    ['half a size', { oldSize: 2.5 }],
    ['a size of NaN', { newSize: Number.NaN }],
    ['a short root', { oldRoot: Buffer.alloc(31) }],
    ['a short hash in the path', { path: [Buffer.alloc(31), Buffer.alloc(32), Buffer.alloc(32), Buffer.alloc(32)] }],
    ['no path', { path: [] }],
  ])('has no roots with %s', (_, spoiled) => {
    expect(rootsFromConsistency({ ...consistencyOf(3, 7), ...spoiled })).toBeUndefined();
    expect(verifyConsistency({ ...consistencyOf(3, 7), ...spoiled })).toBe(false);
  });
});
