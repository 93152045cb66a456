import { hash } from 'node:crypto';

const NODE = Buffer.of(1);
const nodeHash = (left: Buffer, right: Buffer): Buffer => hash('sha256', Buffer.concat([NODE, left, right]), 'buffer');

/** The roots of a growing tree (RFC 6962, section 2.1): keeps only the perfect subtrees at its left edge. */
export class MerkleRoots {
  readonly #peaks: Buffer[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Adds the hash of the next leaf. */
  add(leafHash: Buffer): void {
    let joined = leafHash;
    for (let bits = this.#size; bits % 2 === 1; bits = Math.floor(bits / 2))
      joined = nodeHash(this.#peaks.pop()!, joined);
    this.#peaks.push(joined);
    this.#size += 1;
  }

  /** The root over all leaves so far, in base64. */
  root(): string {
    const root = this.#peaks.reduceRight<Buffer | undefined>(
      (right, left) => (right === undefined ? left : nodeHash(left, right)),
      undefined,
    );
    return (root ?? hash('sha256', '', 'buffer')).toString('base64');
  }
}
