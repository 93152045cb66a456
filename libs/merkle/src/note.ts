import { Bytes } from '@sealgate/json';
import { decodeBase64, isKeyName, parseVerifierKey } from './note-key.ts';

/** Maximum length of a note, in characters. */
const MAX_NOTE_CHARACTERS = 1_000_000;
/** C2SP requires accepting at least 16 signatures; the limit bounds the work for an untrusted note. */
const MAX_SIGNATURES = 100;
const KEY_ID_BYTES = 4;

export interface NoteVerifier {
  readonly name: string;
  /** Eight lower-case hex digits. */
  readonly keyHash: string;
  /** The 32 bytes of its public key. */
  readonly point: Bytes;
  /**
   * The text of the note if this key signed it; undefined for a malformed note, a missing or an invalid signature.
   * Ignores signatures by other keys. Never throws.
   */
  verify(note: string): { text: string } | undefined;
  /** The trusted keys, as separate verifiers. */
  readonly keys: readonly NoteVerifier[];
}

export interface NoteSignature {
  readonly name: string;
  readonly keyHash: string;
  readonly signature: Bytes;
}

export interface ParsedNote {
  /** The signed text: everything above the blank line, including its last newline. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

/** Trusts exactly one `<name>+<hash>+<base64>` key. Throws an Error that describes an invalid key. */
export function noteVerifier(verifierKey: string): NoteVerifier {
  const key = parseVerifierKey(verifierKey);
  const verifier: NoteVerifier = {
    name: key.name,
    keyHash: key.keyHash,
    point: key.point,
    verify(note) {
      const parsed = parsedOrUndefined(note);
      if (parsed === undefined) return undefined;
      const ours = parsed.signatures.filter(({ name, keyHash }) => name === key.name && keyHash === key.keyHash);
      const signed = Bytes.from(parsed.text);
      // Every signature by this key must be valid; one invalid signature rejects the note (C2SP signed-note,
      // "Signatures").
      const isSigned = ours.length > 0 && ours.every(({ signature }) => key.publicKey.verify(signed, signature));
      return isSigned ? { text: parsed.text } : undefined;
    },
    get keys() {
      return [verifier];
    },
  };
  return verifier;
}

/**
 * Accepts a note signed by any of these keys; undefined for an empty list. One invalid signature by any of them rejects
 * the note. Name, key id and public key are those of the first.
 */
export function anyOf(verifiers: readonly NoteVerifier[]): NoteVerifier | undefined {
  const [first] = verifiers;
  if (first === undefined || verifiers.length === 1) return first;
  const keys = verifiers.flatMap((verifier) => verifier.keys);
  return {
    name: first.name,
    keyHash: first.keyHash,
    point: first.point,
    keys,
    verify(note) {
      const signatures = parsedOrUndefined(note)?.signatures ?? [];
      const named = keys.filter((key) => signatures.some((by) => by.name === key.name && by.keyHash === key.keyHash));
      const texts = named.map((key) => key.verify(note));
      return texts.includes(undefined) ? undefined : texts[0];
    },
  };
}

/**
 * Parses a signed note WITHOUT verifying signatures, to list the claimed signers. Throws an Error that describes the
 * fault.
 */
export function parseNote(note: string): ParsedNote {
  if (note.length > MAX_NOTE_CHARACTERS) throw new Error(`A note is at most ${MAX_NOTE_CHARACTERS} characters long.`);
  const blank = note.lastIndexOf('\n\n');
  if (blank < 0) throw new Error('A note has a blank line between its text and its signatures.');
  const text = note.slice(0, blank + 1);
  checkNoteText(text);
  return { text, signatures: parseSignatures(note.slice(blank + 2)) };
}

/**
 * Parses signature lines alone, as a witness returns them, without verifying them. Throws an Error that describes the
 * fault.
 */
export function parseSignatures(block: string): NoteSignature[] {
  if (block.length > MAX_NOTE_CHARACTERS) throw new Error(`A note is at most ${MAX_NOTE_CHARACTERS} characters long.`);
  if (!block.endsWith('\n')) throw new Error('The signatures of a note end in a newline.');
  const lines = block.slice(0, -1).split('\n', MAX_SIGNATURES + 1);
  if (lines.length > MAX_SIGNATURES) throw new Error(`A note has at most ${MAX_SIGNATURES} signatures.`);
  return lines.map(parseSignature);
}

/** A signature line of a note. */
export function signatureLine({ name, keyHash, signature }: NoteSignature): string {
  return `— ${name} ${Bytes.concat([Bytes.from(keyHash, 'hex'), signature]).toString('base64')}\n`;
}

function parsedOrUndefined(note: string): ParsedNote | undefined {
  try {
    return parseNote(note);
  } catch {
    // parseNote throws only for a malformed note, which counts as not signed.
    return undefined;
  }
}

function parseSignature(line: string): NoteSignature {
  const [dash, name = '', encoded = '', ...rest] = line.split(' ');
  const blob = decodeBase64(encoded);
  if (dash !== '—' || rest.length > 0 || !isKeyName(name) || blob === undefined || blob.length <= KEY_ID_BYTES) {
    throw new Error('A signature line of a note reads: em dash, space, key name, space, base64.');
  }
  return {
    name,
    keyHash: blob.subarray(0, KEY_ID_BYTES).toString('hex'),
    signature: blob.subarray(KEY_ID_BYTES),
  };
}

/** Throws when a text cannot be the text of a note. */
export function checkNoteText(text: string): void {
  if (!text.endsWith('\n')) throw new Error('The text of a note ends in a newline.');
  // eslint-disable-next-line no-control-regex -- control characters are what is being refused
  if (/[\u0000-\u0009\u000b-\u001f]/.test(text)) throw new Error('A note holds no control character but the newline.');
  if (!text.isWellFormed()) throw new Error('A note is well-formed Unicode.');
}
