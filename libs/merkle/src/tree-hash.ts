import { Bytes, sha256, sha256Text } from '@sealgate/json';

/** Bytes in one hash of the tree: SHA-256. */
export const HASH_BYTES = 32;

const LEAF_PREFIX = 0x00;
const NODE_PREFIX = 0x01;

// One buffer for every inner node: the call is synchronous and copies its input.
const nodeBlock = Bytes.alloc(1 + 2 * HASH_BYTES);
nodeBlock[0] = NODE_PREFIX;

/** The root of an empty tree: SHA-256 of the empty string (RFC 6962, section 2.1). */
export const EMPTY_ROOT: Bytes = sha256('');

/** The RFC 6962 hash of one leaf, SHA-256(0x00 ‖ data). A string is hashed as its UTF-8. */
export function leafHash(data: string | Uint8Array): Bytes {
  const length = typeof data === 'string' ? Bytes.byteLength(data) : data.length;
  const block = Bytes.allocUnsafe(1 + length);
  block[0] = LEAF_PREFIX;
  if (typeof data === 'string') block.write(data, 1);
  else block.set(data, 1);
  return sha256(block);
}

/**
 * The RFC 6962 hash of an inner node, SHA-256(0x01 ‖ left ‖ right). Throws unless both sides are 32 bytes; a shorter
 * one would leave bytes of an earlier call in the buffer.
 */
export function nodeHash(left: Uint8Array, right: Uint8Array): Bytes {
  if (left.length !== HASH_BYTES || right.length !== HASH_BYTES) {
    throw new Error(`An inner node joins two hashes of ${HASH_BYTES} bytes, not ${left.length} and ${right.length}.`);
  }
  nodeBlock.set(left, 1);
  nodeBlock.set(right, 1 + HASH_BYTES);
  return sha256(nodeBlock);
}

const MOST_PAIRS = 128;
/** Views of consecutive inner nodes, created once: creating a view costs half as much as a hash. */
const nodes = Array.from({ length: MOST_PAIRS }, () => Bytes.from(nodeBlock));
/** The offset of the hash of node `index` within its parent node. */
const sideOf = (index: number): number => 1 + (index & 1) * HASH_BYTES;

/**
 * The root over `count` consecutive hashes in `hashes`, starting at hash `from`. `count` is a power of two of at most
 * 256. This is the inner loop of all tile reads.
 */
export function perfectRoot(hashes: Uint8Array, from: number, count: number): Bytes {
  if ((from + count) * HASH_BYTES > hashes.length)
    throw new Error('A perfect subtree reaches past the hashes it was given.');
  const row = Bytes.from(hashes.buffer, hashes.byteOffset + from * HASH_BYTES, count * HASH_BYTES);
  if (count === 1) return Bytes.from(row);
  for (let pair = 0; pair < count / 2; pair += 1)
    row.copy(nodes[pair]!, 1, pair * 2 * HASH_BYTES, (pair + 1) * 2 * HASH_BYTES);
  for (let width = count / 2; width > 1; width /= 2) {
    // Node `index` is hashed before its buffer is reused for the next level.
    for (let index = 0; index < width; index += 1) {
      nodes[index >> 1]!.write(sha256Text(nodes[index]!, 'binary'), sideOf(index), 'latin1');
    }
  }
  return sha256(nodes[0]!);
}

/** A tile with every complete node over its hashes, each computed once: for a tile that many proofs read. */
export class TileNodes {
  /** Row r has the roots of each 2^r consecutive hashes. */
  readonly #rows: Bytes[];

  constructor(hashes: Bytes) {
    this.#rows = [hashes];
    for (let row = hashes; row.length >= 2 * HASH_BYTES; this.#rows.push(row)) row = rowAbove(row);
  }

  /** Number of hashes. */
  get width(): number {
    return Math.floor(this.#rows[0]!.length / HASH_BYTES);
  }

  /** As `perfectRoot`. */
  root(from: number, count: number): Bytes {
    const at = (from / count) * HASH_BYTES;
    const root = this.#rows[Math.log2(count)]?.subarray(at, at + HASH_BYTES);
    if (root?.length !== HASH_BYTES) throw new Error('A perfect subtree reaches past the hashes it was given.');
    return root;
  }
}

function rowAbove(row: Bytes): Bytes {
  const above = Bytes.allocUnsafe(Math.floor(row.length / (2 * HASH_BYTES)) * HASH_BYTES);
  for (let at = 0; at < above.length; at += HASH_BYTES) {
    row.copy(nodeBlock, 1, 2 * at, 2 * at + 2 * HASH_BYTES);
    above.write(sha256Text(nodeBlock, 'binary'), at, 'latin1');
  }
  return above;
}
