import { timingSafeEqual } from 'node:crypto';
import { sha256 } from '@sealgate/json';

/** The SHA-256 hashes of the tokens that an operator configured, several at once so that one can be exchanged. */
export class TokenHashes {
  readonly #hashes: readonly Buffer[];

  private constructor(hashes: readonly Buffer[]) {
    this.#hashes = hashes;
  }

  /**
   * Reads hashes of 64 hexadecimal digits, separated by commas; blanks around them are ignored. An empty text holds none.
   * @throws Error naming every wrong entry by its position, never by its value: somebody may have put a token there.
   */
  static parse(commaSeparatedHex: string): TokenHashes {
    if (commaSeparatedHex.trim() === '') return new TokenHashes([]);
    const entries = commaSeparatedHex.split(',').map((entry) => entry.trim());
    const wrong = entries.flatMap((entry, index) => (/^[0-9a-f]{64}$/i.test(entry) ? [] : [String(index + 1)]));
    if (wrong.length > 0) {
      throw new Error(`Not a SHA-256 hash of 64 hexadecimal digits: entry ${wrong.join(', ')} of the list.`);
    }
    return new TokenHashes(entries.map((entry) => Buffer.from(entry, 'hex')));
  }

  /** How many hashes there are; with none, nothing matches. */
  get size(): number {
    return this.#hashes.length;
  }

  /** Whether the token is one of them. All are compared, each in constant time, so that time tells nothing. */
  matches(presented: string): boolean {
    const presentedHash = sha256(presented);
    let matched = false;
    for (const hash of this.#hashes) matched = timingSafeEqual(hash, presentedHash) || matched;
    return matched;
  }
}
