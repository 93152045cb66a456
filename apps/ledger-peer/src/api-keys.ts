import { HashedSecrets, type HashedSecret } from '@sealgate/auth';

interface ConfiguredKey extends HashedSecret {
  readonly familyId: string;
}

const ENTRY = /^(?:([a-z0-9][a-z0-9-]{0,62}):)?([0-9a-f]{64})$/i;
/** Operators choose the keys: a shorter one is weak, or not a configured key. */
const MIN_CHARACTERS = 32;
const MAX_CHARACTERS = 1024;
const FAMILY_DIGITS = 16;

/** The configured API keys, by their SHA-256 hashes. */
export class ConfiguredKeys extends HashedSecrets<ConfiguredKey> {
  /**
   * Parses `hash` or `family:hash`, separated by commas; the hash is 64 hexadecimal digits. A key without a family is
   * its own family, named by the first 16 digits of its hash: a replacement key names that family to keep its identity.
   * @throws Error listing invalid entries by position, never by value.
   */
  static of(read: () => string): ConfiguredKeys {
    return new ConfiguredKeys({ read, parse: parseKeys });
  }

  /** The key, or undefined. If none is configured, requests need no key. */
  override find(presented: string): ConfiguredKey | undefined {
    return ConfiguredKeys.mayBe(presented) ? super.find(presented) : undefined;
  }

  /** The families of the configured keys. */
  get families(): readonly string[] {
    return this.entries.map(({ familyId }) => familyId);
  }

  /** Whether it has the length of a key: other values are rejected without a lookup or a failure count. */
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
