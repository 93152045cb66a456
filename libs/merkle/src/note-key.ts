import { createPrivateKey, createPublicKey, hash, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

/** The one signature type we make and check: Ed25519 (C2SP signed-note, "Signature types"). */
const ED25519 = 0x01;
const SEED_BYTES = 32;

// The fixed DER around a raw Ed25519 key (RFC 8410): node:crypto takes no bare seeds or points.
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

export interface VerifierKey {
  readonly name: string;
  /** The key id as a verifier key spells it: eight lower hex digits. */
  readonly keyHash: string;
  readonly publicKey: KeyObject;
}

export interface SignerKey {
  readonly name: string;
  readonly keyHash: string;
  readonly privateKey: KeyObject;
  /** The same key as others pin it: `<name>+<hash>+<base64>`. */
  readonly verifierKey: string;
}

/** Whether a name may stand in a signature line: not empty, no space of any kind, no plus, no control character. */
export function isKeyName(name: string): boolean {
  // eslint-disable-next-line no-control-regex -- control characters are what is being refused
  return name !== '' && name.isWellFormed() && !/[\s+\u0000-\u001f\u007f\u0085]/u.test(name);
}

/** Reads `<name>+<hash>+<base64 of 0x01 and the public key>`. Throws an Error that says what is wrong. */
export function parseVerifierKey(text: string): VerifierKey {
  const match = /^([^+]*)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/u.exec(text);
  if (match === null) throw new Error('A verifier key reads <name>+<8 hex digits>+<base64>.');
  const [, name = '', keyHash = '', encoded = ''] = match;
  const point = keyBytes(encoded, 'verifier key');
  checkIdentity({ name, keyHash, point });
  return { name, keyHash, publicKey: publicKeyOf(point) };
}

/** Reads `PRIVATE+KEY+<name>+<hash>+<base64 of 0x01 and the seed>`. Throws an Error that never holds any part of the key. */
export function parseSignerKey(text: string): SignerKey {
  const match = /^PRIVATE\+KEY\+([^+]*)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/u.exec(text);
  if (match === null) throw new Error('A signing key reads PRIVATE+KEY+<name>+<8 hex digits>+<base64>.');
  const [, name = '', keyHash = '', encoded = ''] = match;
  const privateKey = privateKeyOf(keyBytes(encoded, 'signing key'));
  const point = pointOf(privateKey);
  checkIdentity({ name, keyHash, point });
  return { name, keyHash, privateKey, verifierKey: verifierKeyText(name, point) };
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

/** Decodes standard base64 strictly: only the one spelling of the bytes that an encoder writes, else undefined. */
export function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}

function keyBytes(encoded: string, what: string): Buffer {
  const bytes = decodeBase64(encoded);
  if (bytes === undefined) throw new Error(`The base64 of the ${what} is malformed.`);
  if (bytes[0] !== ED25519) throw new Error(`The ${what} is not of type Ed25519.`);
  if (bytes.length !== 1 + SEED_BYTES) throw new Error(`The ${what} does not hold ${SEED_BYTES} bytes.`);
  return bytes.subarray(1);
}

function checkIdentity({ name, keyHash, point }: { name: string; keyHash: string; point: Buffer }): void {
  if (!isKeyName(name)) throw new Error('A key name is not empty and holds no space, plus or control character.');
  const expected = keyHashOf(name, point);
  if (keyHash !== expected) throw new Error(`The key id of ${name} is ${keyHash}, and its key hashes to ${expected}.`);
}

/** The key id: the first four bytes of SHA-256(name ‖ newline ‖ type ‖ public key). */
function keyHashOf(name: string, point: Buffer): string {
  const named = Buffer.concat([Buffer.from(`${name}\n`), Buffer.of(ED25519), point]);
  return hash('sha256', named, 'hex').slice(0, 8);
}

function verifierKeyText(name: string, point: Buffer): string {
  return `${name}+${keyHashOf(name, point)}+${encodeKey(point)}`;
}

function encodeKey(bytes: Buffer): string {
  return Buffer.concat([Buffer.of(ED25519), bytes]).toString('base64');
}

function privateKeyOf(seed: Buffer): KeyObject {
  return createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: 'der', type: 'pkcs8' });
}

function publicKeyOf(point: Buffer): KeyObject {
  return createPublicKey({ key: Buffer.concat([SPKI_PREFIX, point]), format: 'der', type: 'spki' });
}

function pointOf(privateKey: KeyObject): Buffer {
  return createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(SPKI_PREFIX.length);
}
