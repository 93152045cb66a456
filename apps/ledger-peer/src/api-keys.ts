import { HashedSecrets, type HashedSecret } from '@sealgate/auth';

export interface ConfiguredKey extends HashedSecret {
  readonly familyId: string;
}

const ENTRY = /^(?:([a-z0-9][a-z0-9-]{0,62}):)?([0-9a-f]{64})$/i;
/** Keys are chosen by operators; what is shorter than this was chosen badly, or is none of theirs. */
const MIN_CHARACTERS = 32;
const MAX_CHARACTERS = 1024;
const FAMILY_DIGITS = 16;

/** The keys that an operator configured, by their SHA-256 hashes. */
export class ConfiguredKeys extends HashedSecrets<ConfiguredKey> {
  /**
   * Reads `hash` or `family:hash`, separated by commas; the hash is 64 hexadecimal digits. A key without a family is one
   * by itself, called by the first 16 digits of its hash: so a key that replaces another one names that to go on as it.
   * @throws Error naming every wrong entry by its position, never by its value.
   */
  static of(read: () => string): ConfiguredKeys {
    return new ConfiguredKeys({ read, parse: parseKeys });
  }

  /** The key, or undefined. With none at all the surface asks for no key. */
  override find(presented: string): ConfiguredKey | undefined {
    return ConfiguredKeys.mayBe(presented) ? super.find(presented) : undefined;
  }

  /** Whether it could be a key at all: what cannot is refused without being counted where others look. */
  static mayBe(presented: string): boolean {
    return presented.length >= MIN_CHARACTERS && presented.length <= MAX_CHARACTERS;
  }
}

function parseKeys(text: string): readonly ConfiguredKey[] {
  const entries = text.trim() === '' ? [] : text.split(',').map((entry) => ENTRY.exec(entry.trim()));
  const wrong = entries.flatMap((entry, index) => (entry === null ? [String(index + 1)] : []));
  if (wrong.length > 0) {
    throw new Error(
      `Not a SHA-256 hash, or family:hash, in hexadecimal digits: entry ${wrong.join(', ')} of the list.`,
    );
  }
  const keys = entries.flatMap((entry) => {
    const [, family, hex = ''] = entry ?? [];
    const digits = hex.toLowerCase();
    return [{ hash: Buffer.from(digits, 'hex'), familyId: (family ?? digits.slice(0, FAMILY_DIGITS)).toLowerCase() }];
  });
  const hashes = new Set(keys.map(({ hash }) => hash.toString('hex')));
  if (hashes.size < keys.length) throw new Error('A key is there twice.');
  return keys;
}
