import { createPublicKey, generateKeyPairSync, hash } from 'node:crypto';

export interface NoteKey {
  /** For LEDGER_SIGNING_KEY. */
  readonly signingKey: string;
  /** The public key that an outsider pins. */
  readonly verifierKey: string;
}

const ed25519 = Buffer.of(0x01);
const rawKeyBytes = 32;

/** A key pair for C2SP signed notes, made here from the specification, so that our own key generator is tested too. */
export function newNoteKey(name: string): NoteKey {
  const { privateKey } = generateKeyPairSync('ed25519');
  const seed = privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-rawKeyBytes);
  const point = createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(-rawKeyBytes);
  const keyId = hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), ed25519, point]), 'hex').slice(0, 8);
  const text = (bytes: Buffer): string => Buffer.concat([ed25519, bytes]).toString('base64');
  return {
    signingKey: `PRIVATE+KEY+${name}+${keyId}+${text(seed)}`,
    verifierKey: `${name}+${keyId}+${text(point)}`,
  };
}
