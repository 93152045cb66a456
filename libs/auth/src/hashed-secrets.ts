import { timingSafeEqual } from 'node:crypto';
import { sha256 } from '@sealgate/json';

export interface HashedSecret {
  /** SHA-256 of the secret. */
  readonly hash: Buffer;
}

interface HashedSecretsOptions<Entry extends HashedSecret> {
  /** Returns the current list. May throw: the last valid list stays in use. */
  readonly read: () => string;
  /** @throws Error that describes the fault without quoting a value, which may be a secret. */
  readonly parse: (text: string) => readonly Entry[];
  /** Milliseconds of a monotonic clock. Default: performance.now. */
  readonly now?: () => number;
}

const REREAD_AFTER_MS = 1000;
/** Enough to tell secrets apart, too little to search for them. */
const ID_DIGITS = 8;

/**
 * Tokens or keys configured by hash; several at once, to allow rotation. The list is re-read at most once a second
 * while in use. An unreadable, malformed or empty list is ignored: the previous one stays in use, and `problem` says
 * why.
 */
export class HashedSecrets<Entry extends HashedSecret = HashedSecret> {
  readonly #options: Required<HashedSecretsOptions<Entry>>;
  readonly #used = new Set<string>();
  #text: string;
  #entries: readonly Entry[];
  #readAtMs: number;
  #problem: string | undefined;

  /** @throws Error of `read` or `parse`. */
  constructor({ now = () => performance.now(), ...options }: HashedSecretsOptions<Entry>) {
    this.#options = { now, ...options };
    this.#text = options.read();
    this.#entries = options.parse(this.#text);
    this.#readAtMs = now();
  }

  /** Number of entries. */
  get size(): number {
    return this.#current().length;
  }

  /** The current list. */
  protected get entries(): readonly Entry[] {
    return this.#current();
  }

  /** The first digits of each hash, which identify a secret in logs and audit events. */
  get ids(): readonly string[] {
    return this.#current().map(idOf);
  }

  /** Why the current list is not in use. */
  get problem(): string | undefined {
    this.#current();
    return this.#problem;
  }

  /** Finds the entry of a secret. All entries are compared, each in constant time, to prevent timing attacks. */
  find(presented: string): Entry | undefined {
    const presentedHash = sha256(presented);
    let found: Entry | undefined;
    for (const entry of this.#current()) found = timingSafeEqual(entry.hash, presentedHash) ? entry : found;
    if (found !== undefined) this.#used.add(idOf(found));
    return found;
  }

  /** Ids of secrets presented since the last call. */
  takeUsed(): string[] {
    const used = [...this.#used];
    this.#used.clear();
    return used;
  }

  #current(): readonly Entry[] {
    const nowMs = this.#options.now();
    if (nowMs - this.#readAtMs < REREAD_AFTER_MS) return this.#entries;
    this.#readAtMs = nowMs;
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

/**
 * Parses hashes of 64 hexadecimal digits, separated by commas and optional blanks. An empty text is an empty list.
 * @throws Error
 */
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
