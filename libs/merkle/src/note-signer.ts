import { createPrivateKey, createPublicKey, hkdfSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import { SPKI_PREFIX } from './ed25519-node.ts';
import { checkIdentity, encodeKey, keyBytes, keyHashOf, verifierKeyText } from './note-key.ts';
import { checkNoteText, signatureLine } from './note.ts';

/** The fixed DER before a raw Ed25519 seed (RFC 8410): node:crypto takes no bare one. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const SEED_BYTES = 32;
/** HKDF info of the key of a log; its origin follows. Another text gives every log another key. */
const LOG_KEY_INFO = 'sealgate ledger channel key v1';
/** How many logs' keys are remembered. */
const MAX_REMEMBERED = 16_384;

export interface NoteSigner {
  readonly name: string;
  /** The whole signed note over `text`. Throws when the text does not end in a newline or holds control characters. */
  sign(text: string): string;
  /** The C2SP verifier key that others pin: of several signing keys that of the first. */
  readonly verifierKey: string;
  /** One for each signing key, in their order. */
  readonly verifierKeys: readonly string[];
}

/** Signs by root keys, and gives each log a key of its own. */
export interface RootSigner extends NoteSigner {
  /**
   * Signs for the log of this origin: by the root keys, as before logs had keys, then by those that are derived from them for
   * it and named as it, each in their order. Throws when the origin cannot stand in a signature line.
   */
  ofLog(origin: string): LogSigner;
}

export interface LogSigner extends NoteSigner {
  /** The keys of the log alone, one for each root key, in their order. */
  readonly logKeys: readonly string[];
}

export interface SignerKey {
  readonly name: string;
  readonly keyHash: string;
  readonly seed: Uint8Array;
  readonly privateKey: KeyObject;
  /** The same key as others pin it: `<name>+<hash>+<base64>`. */
  readonly verifierKey: string;
}

/**
 * A signer from a `PRIVATE+KEY+<name>+<hash>+<base64>` key, or from several of one name, separated by commas: each of them
 * signs, so whoever trusts any of them takes the note. Throws an Error without any part of a key.
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

/** HKDF-SHA256 (RFC 5869) of the root key's seed, without a salt: who holds the root key holds the key of every log. */
function logKeyOf(root: SignerKey, origin: string): SignerKey {
  const seed = new Uint8Array(hkdfSync('sha256', root.seed, '', `${LOG_KEY_INFO}${origin}`, SEED_BYTES));
  return signerKeyOf(origin, seed);
}

const signatureOf = (text: string, { privateKey }: SignerKey): Buffer => sign(null, Buffer.from(text), privateKey);

/** Reads `PRIVATE+KEY+<name>+<hash>+<base64 of 0x01 and the seed>`. Throws an Error that never holds any part of the key. */
export function parseSignerKey(text: string): SignerKey {
  const match = /^PRIVATE\+KEY\+([^+]*)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/u.exec(text);
  if (match === null) throw new Error('A signing key reads PRIVATE+KEY+<name>+<8 hex digits>+<base64>.');
  const [, name = '', keyHash = '', encoded = ''] = match;
  const seed = keyBytes(encoded, 'signing key');
  checkIdentity({ name, keyHash, point: pointOf(privateKeyOf(seed)) });
  return signerKeyOf(name, seed);
}

/** Throws when the name cannot stand in a signature line. */
function signerKeyOf(name: string, seed: Uint8Array): SignerKey {
  const privateKey = privateKeyOf(seed);
  const point = pointOf(privateKey);
  const keyHash = keyHashOf(name, point);
  checkIdentity({ name, keyHash, point });
  return { name, keyHash, seed, privateKey, verifierKey: verifierKeyText(name, point) };
}

/** A new key pair under `name`, both halves as text. Throws when the name cannot stand in a signature line. */
export function generateNoteKey(name: string): { privateKey: string; verifierKey: string } {
  const seed = randomBytes(SEED_BYTES);
  const point = pointOf(privateKeyOf(seed));
  const keyHash = keyHashOf(name, point);
  checkIdentity({ name, keyHash, point });
  return {
    privateKey: `PRIVATE+KEY+${name}+${keyHash}+${encodeKey(seed)}`,
    verifierKey: verifierKeyText(name, point),
  };
}

function privateKeyOf(seed: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: 'der', type: 'pkcs8' });
}

function pointOf(privateKey: KeyObject): Buffer {
  return createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(SPKI_PREFIX.length);
}
