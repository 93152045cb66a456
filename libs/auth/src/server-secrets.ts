import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { KeyedHasher } from './keyed-hasher.ts';
import { SecretBox } from './secret-box.ts';

interface Secret {
  readonly id: string;
  readonly value: string;
}

const MAX_SECRETS = 16;
const MIN_VALUE_LENGTH = 32;
const MAX_VALUE_LENGTH = 1024;
const DERIVED_KEY_BYTES = 32;
const ID = /^[A-Za-z0-9_-]{1,32}$/;

/**
 * The secrets of a deployment, from which every keyed hash is derived: the first makes, all check. To exchange a secret,
 * put the new one last until every process has it, then first; take the old one away once nothing that it made has to be
 * checked again.
 */
export class ServerSecrets {
  readonly #secrets: readonly Secret[];

  private constructor(secrets: readonly Secret[]) {
    this.#secrets = secrets;
  }

  /**
   * Reads `id:value,id:value`. An id is 1-32 letters, digits, `_` or `-`; a value is 32-1,024 characters without a comma;
   * at most 16 secrets. Blanks around an entry are ignored.
   * @throws Error naming every fault by the position of its entry. Neither a value nor an id is quoted, since a secret
   * written in the wrong form may be either.
   */
  static parse(text: string): ServerSecrets {
    const secrets = text.split(',').map((entry) => secretOf(entry.trim()));
    const faults = secrets.flatMap((secret, index) => {
      const fault = faultOf(secret, secrets.slice(0, index));
      return fault === undefined ? [] : [`entry ${index + 1} ${fault}`];
    });
    if (secrets.length > MAX_SECRETS) faults.push(`there are more than ${MAX_SECRETS} entries`);
    if (faults.length > 0) throw new Error(`Server secrets must be written id:value,id:value; ${faults.join('; ')}.`);
    return new ServerSecrets(secrets);
  }

  /** The ids in their order, the first of which makes. They tell nothing of the values. */
  get ids(): readonly string[] {
    return this.#secrets.map(({ id }) => id);
  }

  /**
   * The hasher for one purpose. Its keys come from HKDF-SHA256 (RFC 5869: no salt, the purpose in `info`), so no key
   * serves two purposes and none tells anything about another. Derive once, at the start: it prepares the keys. Everything
   * that was stored under a purpose depends on its name, which must therefore never change.
   */
  derive(purpose: string): KeyedHasher {
    return new KeyedHasher(this.#keysFor(purpose));
  }

  /** The box for texts of one purpose, whose keys are derived likewise. No purpose serves both. */
  sealing(purpose: string): SecretBox {
    return new SecretBox(this.#keysFor(`sealing/${purpose}`));
  }

  #keysFor(purpose: string): { readonly id: string; readonly key: KeyObject }[] {
    const info = `sealgate/${purpose}`;
    return this.#secrets.map(({ id, value }) => ({
      id,
      key: createSecretKey(new Uint8Array(hkdfSync('sha256', value, '', info, DERIVED_KEY_BYTES))),
    }));
  }
}

function secretOf(entry: string): Secret {
  const colon = entry.indexOf(':');
  return colon < 0 ? { id: '', value: entry } : { id: entry.slice(0, colon), value: entry.slice(colon + 1) };
}

function faultOf(secret: Secret, earlier: readonly Secret[]): string | undefined {
  if (secret.id === '' && secret.value === '') return 'is empty';
  if (secret.id === '') return 'has no id';
  if (!ID.test(secret.id)) return 'has an id with other characters than letters, digits, _ and -, or a long one';
  if (secret.value.length < MIN_VALUE_LENGTH) return `has a value shorter than ${MIN_VALUE_LENGTH} characters`;
  if (secret.value.length > MAX_VALUE_LENGTH) return `has a value longer than ${MAX_VALUE_LENGTH} characters`;
  if (earlier.some(({ id }) => id === secret.id)) return 'has the id of an earlier entry';
  if (earlier.some(({ value }) => value === secret.value)) return 'has the value of an earlier entry';
  return undefined;
}
