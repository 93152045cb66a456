import { hash } from 'node:crypto';

/**
 * Platform functions for this library and those built on it. This is the Node version; the `browser` condition of
 * package.json selects `platform-browser.ts`. Bytes are Node's Buffer here, at full speed.
 */
export { Buffer as Bytes, isUtf8 } from 'node:buffer';

/** Encoding of a hash. `binary`: one character per byte. */
export type HashEncoding = 'hex' | 'base64url' | 'binary';

/** SHA-256 of bytes, or of the UTF-8 of a text, as a string. */
export function sha256Text(data: string | Uint8Array, encoding: HashEncoding): string {
  return hash('sha256', data, encoding);
}
