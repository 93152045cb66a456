import { timingSafeEqual } from 'node:crypto';
import { sha256 } from '@sealgate/json';

export interface HashedSecret {
  /** SHA-256 of the secret. */
  readonly hash: Buffer;
}

export interface HashedSecretsOptions<Entry extends HashedSecret> {
  /** The list as it stands now. May throw: then the last good one holds. */
  readonly read: () => string;
  /** @throws Error saying what is wrong, without a value: somebody may have put a secret there. */
  readonly parse: (text: string) => readonly Entry[];
  /** Milliseconds of a clock that never goes back. Default: performance.now. */
  readonly now?: () => number;
}

const LOOK_EVERY_MS = 1000;
/** Enough to tell secrets apart, and too little to look for them by it. */
const ID_DIGITS = 8;

/**
 * The tokens or keys that an operator configured, by their hashes: several at once, so that one can be exchanged. The list
 * is read again at most once a second while it is used. One that cannot be read, is malformed or has become empty is not
 * taken over: what was accepted before stays so, and `problem` says why.
 */
export class HashedSecrets<Entry extends HashedSecret = HashedSecret> {
  readonly #options: Required<HashedSecretsOptions<Entry>>;
  readonly #used = new Set<string>();
  #text: string;
  #entries: readonly Entry[];
  #lookedAtMs: number;
  #problem: string | undefined;

  /** @throws Error what `read` or `parse` throws. */
  constructor({ now = () => performance.now(), ...options }: HashedSecretsOptions<Entry>) {
    this.#options = { now, ...options };
    this.#text = options.read();
    this.#entries = options.parse(this.#text);
    this.#lookedAtMs = now();
  }

  /** How many there are; with none, nothing is found. */
  get size(): number {
    return this.#current().length;
  }

  /** The first digits of each hash, which name a secret in logs and audit events. */
  get ids(): readonly string[] {
    return this.#current().map(idOf);
  }

  /** Why the list that is there now is not the one that holds. */
  get problem(): string | undefined {
    this.#current();
    return this.#problem;
  }

  /** The entry of this secret. All are compared, each in constant time, so that time tells nothing. */
  find(presented: string): Entry | undefined {
    const presentedHash = sha256(presented);
    let found: Entry | undefined;
    for (const entry of this.#current()) found = timingSafeEqual(entry.hash, presentedHash) ? entry : found;
    if (found !== undefined) this.#used.add(idOf(found));
    return found;
  }

  /** Ids of those that were presented since this was asked before. */
  takeUsed(): string[] {
    const used = [...this.#used];
    this.#used.clear();
    return used;
  }

  #current(): readonly Entry[] {
    const nowMs = this.#options.now();
    if (nowMs - this.#lookedAtMs < LOOK_EVERY_MS) return this.#entries;
    this.#lookedAtMs = nowMs;
    this.#problem = undefined;
    try {
      const text = this.#options.read();
      if (text === this.#text) return this.#entries;
      const entries = this.#options.parse(text);
      if (entries.length === 0) throw new Error('the list is empty');
      this.#text = text;
      this.#entries = entries;
    } catch (error) {
      this.#problem = (error as Error).message;
    }
    return this.#entries;
  }
}

const idOf = ({ hash }: HashedSecret): string => hash.toString('hex', 0, ID_DIGITS / 2);

/** Reads hashes of 64 hexadecimal digits, separated by commas; blanks around them are ignored. An empty text holds none. @throws Error */
export function tokenHashes(read: () => string, now?: () => number): HashedSecrets {
  return new HashedSecrets({ read, parse: parseHashes, ...(now === undefined ? {} : { now }) });
}

function parseHashes(commaSeparatedHex: string): readonly HashedSecret[] {
  if (commaSeparatedHex.trim() === '') return [];
  const entries = commaSeparatedHex.split(',').map((entry) => entry.trim());
  const wrong = entries.flatMap((entry, index) => (/^[0-9a-f]{64}$/i.test(entry) ? [] : [String(index + 1)]));
  if (wrong.length > 0) {
    throw new Error(`Not a SHA-256 hash of 64 hexadecimal digits: entry ${wrong.join(', ')} of the list.`);
  }
  return entries.map((entry) => ({ hash: Buffer.from(entry, 'hex') }));
}
