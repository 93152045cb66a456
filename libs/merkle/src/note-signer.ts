import { createPrivateKey, createPublicKey, hkdfSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import { SPKI_PREFIX } from './ed25519-node.ts';
import { checkIdentity, encodeKey, keyBytes, keyHashOf, verifierKeyText } from './note-key.ts';
import { checkNoteText, signatureLine } from './note.ts';

/** DER prefix of a raw Ed25519 seed (RFC 8410); node:crypto does not import raw seeds. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const SEED_BYTES = 32;
/** HKDF info of a log key, followed by the origin. Changing it changes every log key. */
const LOG_KEY_INFO = 'sealgate ledger channel key v1';
/** Maximum number of cached log keys. */
const MAX_REMEMBERED = 16_384;

export interface NoteSigner {
  readonly name: string;
  /** Returns the signed note. Throws unless the text ends in a newline and has no other control characters. */
  sign(text: string): string;
  /** The C2SP verifier key to publish; the first of several. */
  readonly verifierKey: string;
  /** One per signing key, in order. */
  readonly verifierKeys: readonly string[];
}

/** Signs with root keys, and derives a key for each log. */
export interface RootSigner extends NoteSigner {
  /**
   * A signer for one log: signs with the root keys, then with the log keys derived from them. Throws when the origin is
   * not a valid key name.
   */
  ofLog(origin: string): LogSigner;
}

interface LogSigner extends NoteSigner {
  /** The derived log keys only, one per root key, in order. */
  readonly logKeys: readonly string[];
}

interface SignerKey {
  readonly name: string;
  readonly keyHash: string;
  readonly seed: Uint8Array;
  readonly privateKey: KeyObject;
  /** The verifier key: `<name>+<hash>+<base64>`. */
  readonly verifierKey: string;
}

/**
 * Creates a signer from one `PRIVATE+KEY+<name>+<hash>+<base64>` key, or from several comma-separated keys of one name.
 * Every key signs, so a verifier that pins any of them accepts the note. Throws an Error that never shows a key.
 */
export function noteSigner(privateKeys: string): RootSigner {
  const keys = privateKeys.split(/,\s*(?=PRIVATE\+KEY\+)/).map((key) => parseSignerKey(key.trim()));
  const [{ name }] = keys as [SignerKey];
  if (keys.some((key) => key.name !== name)) throw new Error('Keys that sign together have one name.');
  if (new Set(keys.map(({ verifierKey }) => verifierKey)).size < keys.length) throw new Error('A key signs once.');
  const remembered = new Map<string, LogSigner>();
  return {
    ...signerOf(keys),
    ofLog(origin) {
      const known = remembered.get(origin);
      if (known !== undefined) return known;
      const derived = keys.map((key) => logKeyOf(key, origin));
      const signer = { ...signerOf([...keys, ...derived]), logKeys: derived.map(({ verifierKey }) => verifierKey) };
      if (remembered.size >= MAX_REMEMBERED) remembered.clear();
      remembered.set(origin, signer);
      return signer;
    },
  };
}

function signerOf(keys: readonly SignerKey[]): NoteSigner {
  const [{ name, verifierKey }] = keys as [SignerKey];
  return {
    name,
    verifierKey,
    verifierKeys: keys.map((key) => key.verifierKey),
    sign(text) {
      checkNoteText(text);
      return `${text}\n${keys.map((key) => signatureLine({ ...key, signature: signatureOf(text, key) })).join('')}`;
    },
  };
}

/** HKDF-SHA256 (RFC 5869) of the root key's seed, without salt. The root key holder can derive every log key. */
function logKeyOf(root: SignerKey, origin: string): SignerKey {
  const seed = new Uint8Array(hkdfSync('sha256', root.seed, '', `${LOG_KEY_INFO}${origin}`, SEED_BYTES));
  return signerKeyOf(origin, seed);
}

const signatureOf = (text: string, { privateKey }: SignerKey): Buffer => sign(null, Buffer.from(text), privateKey);

/** Parses `PRIVATE+KEY+<name>+<hash>+<base64 of 0x01 and the seed>`. Throws an Error that never shows the key. */
export function parseSignerKey(text: string): SignerKey {
  const match = /^PRIVATE\+KEY\+([^+]*)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/u.exec(text);
  if (match === null) throw new Error('A signing key reads PRIVATE+KEY+<name>+<8 hex digits>+<base64>.');
  const [, name = '', keyHash = '', encoded = ''] = match;
  const seed = keyBytes(encoded, 'signing key');
  checkIdentity({ name, keyHash, point: pointOf(ed25519PrivateKey(seed)) });
  return signerKeyOf(name, seed);
}

/** Throws when the name is not a valid key name. */
function signerKeyOf(name: string, seed: Uint8Array): SignerKey {
  const privateKey = ed25519PrivateKey(seed);
  const point = pointOf(privateKey);
  const keyHash = keyHashOf(name, point);
  checkIdentity({ name, keyHash, point });
  return { name, keyHash, seed, privateKey, verifierKey: verifierKeyText(name, point) };
}

/** Generates a key pair as text. Throws when the name is not a valid key name. */
export function generateNoteKey(name: string): { privateKey: string; verifierKey: string } {
  const seed = randomBytes(SEED_BYTES);
  const point = pointOf(ed25519PrivateKey(seed));
  const keyHash = keyHashOf(name, point);
  checkIdentity({ name, keyHash, point });
  return {
    privateKey: `PRIVATE+KEY+${name}+${keyHash}+${encodeKey(seed)}`,
    verifierKey: verifierKeyText(name, point),
  };
}

/** An Ed25519 private key from its 32-byte seed (RFC 8032, section 5.1.5). */
export function ed25519PrivateKey(seed: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: 'der', type: 'pkcs8' });
}

function pointOf(privateKey: KeyObject): Buffer {
  return createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(SPKI_PREFIX.length);
}
