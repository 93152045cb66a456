import { Bytes } from '@sealgate/json';
import { parseCheckpoint } from './checkpoint.ts';
import { COSIGNATURE_V1, parseVerifierKey, type VerifierKey } from './note-key.ts';
import type { NoteSignature } from './note.ts';

const TIME_BYTES = 8;
const SIGNATURE_BYTES = 64;

/** Checks what one witness says of checkpoints: C2SP tlog-cosignature, `cosignature/v1` (Ed25519, key type 0x04). */
export interface CosignatureVerifier extends Pick<VerifierKey, 'name' | 'keyHash' | 'point'> {
  /** As it was given: `<name>+<hash>+<base64>`. */
  readonly verifierKey: string;
  /** Whether a signature line claims to be of this witness: its name and its key id. */
  claims(signature: NoteSignature): boolean;
  /**
   * When the witness signed this checkpoint, in seconds since the epoch; undefined for a signature that is not its own over
   * this very text, and for a text that is no checkpoint. Never throws.
   */
  signedAt(checkpointText: string, signature: NoteSignature): number | undefined;
}

/** A verifier that trusts one witness, by its key of type 0x04. Throws an Error that says what is wrong with the key. */
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

/** Times behind what a number counts exactly are as times behind 2^63: no witness signs at them. */
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
    // parseCheckpoint fails in one way only: the text is none.
    return false;
  }
}
