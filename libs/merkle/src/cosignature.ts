import { Bytes } from '@sealgate/json';
import { parseCheckpoint } from './checkpoint.ts';
import { COSIGNATURE_V1, parseVerifierKey, type VerifierKey } from './note-key.ts';
import type { NoteSignature } from './note.ts';

const TIME_BYTES = 8;
const SIGNATURE_BYTES = 64;

/** Verifies the cosignatures of one witness: C2SP tlog-cosignature, `cosignature/v1` (Ed25519, key type 0x04). */
export interface CosignatureVerifier extends Pick<VerifierKey, 'name' | 'keyHash' | 'point'> {
  /** The configured key: `<name>+<hash>+<base64>`. */
  readonly verifierKey: string;
  /** True when a signature line has this witness's name and key id. */
  claims(signature: NoteSignature): boolean;
  /**
   * The time of a valid cosignature on this checkpoint, in seconds since the epoch; undefined for an invalid signature
   * or checkpoint. Never throws.
   */
  signedAt(checkpointText: string, signature: NoteSignature): number | undefined;
}

/** Creates a verifier for one witness key of type 0x04. Throws an Error that describes an invalid key. */
export function cosignatureVerifier(verifierKey: string): CosignatureVerifier {
  const { name, keyHash, point, publicKey } = parseVerifierKey(verifierKey, COSIGNATURE_V1);
  const claims = (signature: NoteSignature): boolean => signature.name === name && signature.keyHash === keyHash;
  return {
    name,
    keyHash,
    point,
    verifierKey,
    claims,
    signedAt(checkpointText, signature) {
      const seconds = secondsOf(signature.signature);
      if (!claims(signature) || seconds === undefined || !isCheckpoint(checkpointText)) return undefined;
      const signed = Bytes.from(`cosignature/v1\ntime ${seconds}\n${checkpointText}`);
      return publicKey.verify(signed, signature.signature.subarray(TIME_BYTES)) ? seconds : undefined;
    },
  };
}

/** Rejects timestamps above Number.MAX_SAFE_INTEGER, like those above 2^63. */
function secondsOf(signature: Bytes): number | undefined {
  if (signature.length !== TIME_BYTES + SIGNATURE_BYTES) return undefined;
  const seconds = Number(new DataView(signature.buffer, signature.byteOffset, TIME_BYTES).getBigUint64(0));
  return Number.isSafeInteger(seconds) ? seconds : undefined;
}

function isCheckpoint(text: string): boolean {
  try {
    parseCheckpoint(text);
    return true;
  } catch {
    // parseCheckpoint throws only for a malformed checkpoint.
    return false;
  }
}
