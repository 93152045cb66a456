import { Bytes } from '@sealgate/json';
import { EMPTY_ROOT, HASH_BYTES, nodeHash } from './tree-hash.ts';

interface InclusionProof {
  readonly leafHash: Uint8Array;
  readonly index: number;
  readonly size: number;
  /** Sibling hashes, leaf to root. */
  readonly path: readonly Uint8Array[];
}

interface ConsistencyProof {
  readonly oldSize: number;
  readonly newSize: number;
  readonly path: readonly Uint8Array[];
  readonly oldRoot: Uint8Array;
}

/**
 * The root computed from an inclusion proof; undefined for a malformed proof: index out of range, wrong path length,
 * wrong hash length. Never throws. RFC 9162, section 2.1.3.2.
 */
export function rootFromInclusion({ leafHash, index, size, path }: InclusionProof): Bytes | undefined {
  if (!isCount(index) || !isCount(size) || index >= size || !areHashes([leafHash, ...path])) return undefined;
  let position = index;
  let last = size - 1;
  let root: Bytes = Bytes.from(leafHash);
  for (const sibling of path) {
    if (last === 0) return undefined;
    if (isOdd(position) || position === last) {
      root = nodeHash(sibling, root);
      // A node without a right sibling is promoted until it is a right child.
      while (!isOdd(position) && position > 0) [position, last] = [half(position), half(last)];
    } else {
      root = nodeHash(root, sibling);
    }
    [position, last] = [half(position), half(last)];
  }
  return last === 0 ? root : undefined;
}

/** True when the proof leads from this leaf index in a tree of this size to `root`. Never throws. */
export function verifyInclusion(proof: InclusionProof & { readonly root: Uint8Array }): boolean {
  return rootFromInclusion(proof)?.equals(proof.root) ?? false;
}

/**
 * Both roots computed from a consistency proof; undefined when its shape fits no trees of these sizes. Never throws.
 * RFC 9162, section 2.1.4.2; equal sizes and an old size of 0 need an empty path. `oldRoot` is an input when the old
 * tree is a perfect subtree of the new one, because the path then omits it.
 */
export function rootsFromConsistency(
  proof: ConsistencyProof,
): { oldRoot: Bytes; newRoot: Bytes | undefined } | undefined {
  const { oldSize, newSize, path, oldRoot } = proof;
  if (!isCount(oldSize) || !isCount(newSize) || oldSize > newSize || !areHashes([oldRoot, ...path])) return undefined;
  if (oldSize === newSize) {
    const root = Bytes.from(oldSize === 0 ? EMPTY_ROOT : oldRoot);
    return path.length === 0 ? { oldRoot: root, newRoot: root } : undefined;
  }
  // Every tree extends the empty tree, so the proof does not determine the new root.
  if (oldSize === 0) return path.length === 0 ? { oldRoot: EMPTY_ROOT, newRoot: undefined } : undefined;
  return path.length === 0 ? undefined : climb(proof);
}

function climb({ oldSize, newSize, path, oldRoot }: ConsistencyProof): { oldRoot: Bytes; newRoot: Bytes } | undefined {
  let [position, last] = [oldSize - 1, newSize - 1];
  while (isOdd(position)) [position, last] = [half(position), half(last)];
  const [first, ...rest] = position === 0 ? [oldRoot, ...path] : path;
  if (first === undefined) return undefined;
  let oldHash: Bytes = Bytes.from(first);
  let newHash = oldHash;
  for (const sibling of rest) {
    if (last === 0) return undefined;
    if (isOdd(position) || position === last) {
      oldHash = nodeHash(sibling, oldHash);
      newHash = nodeHash(sibling, newHash);
      while (!isOdd(position) && position > 0) [position, last] = [half(position), half(last)];
    } else {
      newHash = nodeHash(newHash, sibling);
    }
    [position, last] = [half(position), half(last)];
  }
  return last === 0 ? { oldRoot: oldHash, newRoot: newHash } : undefined;
}

/** True when the tree of `oldSize` and `oldRoot` is a prefix of that of `newSize` and `newRoot`. Never throws. */
export function verifyConsistency(proof: ConsistencyProof & { readonly newRoot: Uint8Array }): boolean {
  if (!areHashes([proof.newRoot])) return false;
  const roots = rootsFromConsistency(proof);
  if (roots === undefined || !roots.oldRoot.equals(proof.oldRoot)) return false;
  return roots.newRoot?.equals(proof.newRoot) ?? true;
}

// Arithmetic instead of bit operators, because sizes may exceed 2^32.
function isOdd(value: number): boolean {
  return value % 2 === 1;
}

function half(value: number): number {
  return Math.floor(value / 2);
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

function areHashes(hashes: readonly Uint8Array[]): boolean {
  return hashes.every((hash) => hash.length === HASH_BYTES);
}
