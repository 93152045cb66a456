import { hash } from 'node:crypto';

/**
 * What this library and those above it need of the platform. This is Node's; `platform-browser.ts` says the same in a
 * browser's words and is taken by the condition `browser` of package.json. Bytes are Node's Buffer here, so nothing of
 * its speed is lost.
 */
export { Buffer as Bytes, isUtf8 } from 'node:buffer';

/** How a hash is written. `binary`: one character for each byte. */
export type HashEncoding = 'hex' | 'base64url' | 'binary';

/** SHA-256 of bytes, or of a text's UTF-8, as a text. */
export function sha256Text(data: string | Uint8Array, encoding: HashEncoding): string {
  return hash('sha256', data, encoding);
}
