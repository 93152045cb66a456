import { createPublicKey, hash, verify, type KeyObject } from 'node:crypto';

interface NoteKey {
  readonly name: string;
  readonly id: Buffer;
  readonly key: KeyObject;
}

/** DER before the 32 bytes of an Ed25519 public key (RFC 8410). */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex');

/** A verifier key of C2SP signed-note, `<name>+<hash>+<base64>`. @throws Error if it is none. */
export function noteKey(text: string): NoteKey {
  const [, name = '', id = '', encoded = ''] = /^([^+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/.exec(text) ?? [];
  const bytes = Buffer.from(encoded, 'base64');
  const expected = hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), bytes]), 'hex').slice(0, 8);
  if (bytes.length !== 33 || bytes[0] !== 1 || id !== expected) throw new Error(`This is no verifier key: ${text}`);
  const key = createPublicKey({ key: Buffer.concat([SPKI, bytes.subarray(1)]), format: 'der', type: 'spki' });
  return { name, id: Buffer.from(id, 'hex'), key };
}

export interface Checkpoint {
  readonly origin: string;
  readonly size: number;
  /** Base64. */
  readonly root: string;
}

/** What one of the keys has signed (C2SP tlog-checkpoint); else why not. */
export function readCheckpoint(note: string, keys: readonly NoteKey[]): Checkpoint | string {
  const end = note.lastIndexOf('\n\n');
  const text = note.slice(0, end + 1);
  const signatures = note
    .slice(end + 2)
    .trimEnd()
    .split('\n');
  if (end < 0) return 'is no signed note';
  const isSigned = signatures.some((line) => {
    const [, name, encoded = ''] = /^— (\S+) (\S+)$/.exec(line) ?? [];
    const bytes = Buffer.from(encoded, 'base64');
    return keys.some(
      (one) =>
        one.name === name &&
        one.id.equals(bytes.subarray(0, 4)) &&
        verify(null, Buffer.from(text), one.key, bytes.subarray(4)),
    );
  });
  if (!isSigned) return 'has no valid signature by a pinned key';
  const [origin = '', size = '', root = ''] = text.split('\n');
  if (!/^(0|[1-9]\d*)$/.test(size) || Buffer.from(root, 'base64').length !== 32) return 'is no checkpoint';
  return { origin, size: Number(size), root };
}
