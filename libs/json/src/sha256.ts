import { Bytes, sha256Text } from '#platform';

/** SHA-256 of bytes, or of the UTF-8 of a text: 32 bytes. */
export function sha256(data: string | Uint8Array): Bytes {
  // Through a string: Node creates a small Buffer from a string several times faster than the hash returns one.
  return Bytes.from(sha256Text(data, 'binary'), 'latin1');
}
