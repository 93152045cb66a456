import { ed25519Key, type Ed25519Key } from '#ed25519';
import { Bytes, sha256Text } from '@sealgate/json';

/** Key type of logs: Ed25519 (C2SP signed-note, "Signature types"). */
const ED25519 = 0x01;
/** Key type of witnesses: Ed25519 over a timestamp and a checkpoint (C2SP tlog-cosignature). */
export const COSIGNATURE_V1 = 0x04;
const TYPE_NAMES: Readonly<Record<number, string>> = {
  [ED25519]: 'Ed25519',
  [COSIGNATURE_V1]: 'cosignature/v1 (0x04)',
};
/** Length of a seed and of a public key. */
const KEY_BYTES = 32;

export interface VerifierKey {
  readonly name: string;
  /** The key id of a verifier key: eight lower-case hex digits. */
  readonly keyHash: string;
  /** The 32 bytes of the public key. */
  readonly point: Bytes;
  readonly publicKey: Ed25519Key;
}

/** True for a valid key name: not empty, no whitespace, plus sign or control character. */
export function isKeyName(name: string): boolean {
  // eslint-disable-next-line no-control-regex -- control characters are what is being refused
  return name !== '' && name.isWellFormed() && !/[\s+\u0000-\u001f\u007f\u0085]/u.test(name);
}

/**
 * Parses `<name>+<hash>+<base64 of type and public key>`; the type defaults to 0x01. Throws an Error that describes the
 * fault.
 */
export function parseVerifierKey(text: string, type = ED25519): VerifierKey {
  const match = /^([^+]*)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/u.exec(text);
  if (match === null) throw new Error('A verifier key reads <name>+<8 hex digits>+<base64>.');
  const [, name = '', keyHash = '', encoded = ''] = match;
  const point = keyBytes(encoded, 'verifier key', type);
  checkIdentity({ name, keyHash, point }, type);
  return { name, keyHash, point, publicKey: ed25519Key(point) };
}

/** Strict base64: undefined unless the text is the canonical encoding. */
export function decodeBase64(text: string): Bytes | undefined {
  const bytes = Bytes.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}

/** The 32 bytes of a base64 key. Throws an Error that never shows the key. */
export function keyBytes(encoded: string, what: string, type = ED25519): Bytes {
  const bytes = decodeBase64(encoded);
  if (bytes === undefined) throw new Error(`The base64 of the ${what} is malformed.`);
  if (bytes[0] !== type) throw new Error(`The ${what} is not of type ${TYPE_NAMES[type]}.`);
  if (bytes.length !== 1 + KEY_BYTES) throw new Error(`The ${what} does not hold ${KEY_BYTES} bytes.`);
  return bytes.subarray(1);
}

/** Throws when the name is invalid or the key id does not match the key. */
export function checkIdentity(
  { name, keyHash, point }: { name: string; keyHash: string; point: Bytes },
  type = ED25519,
): void {
  if (!isKeyName(name)) throw new Error('A key name is not empty and holds no space, plus or control character.');
  const expected = keyHashOf(name, point, type);
  if (keyHash !== expected) throw new Error(`The key id of ${name} is ${keyHash}, and its key hashes to ${expected}.`);
}

/** The key id: the first four bytes of SHA-256(name ‖ newline ‖ type ‖ public key). */
export function keyHashOf(name: string, point: Bytes, type = ED25519): string {
  const named = Bytes.concat([Bytes.from(`${name}\n`), Bytes.of(type), point]);
  return sha256Text(named, 'hex').slice(0, 8);
}

/** A verifier key: `<name>+<hash>+<base64>`. */
export function verifierKeyText(name: string, point: Bytes): string {
  return `${name}+${keyHashOf(name, point)}+${encodeKey(point)}`;
}

/** Base64 of the type byte and the key. */
export function encodeKey(bytes: Bytes): string {
  return Bytes.concat([Bytes.of(ED25519), bytes]).toString('base64');
}
