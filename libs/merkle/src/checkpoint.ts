import type { Bytes } from '@sealgate/json';
import { decodeBase64, isKeyName } from './note-key.ts';
import { EMPTY_ROOT, HASH_BYTES } from './tree-hash.ts';

export interface Checkpoint {
  /** The log: `<LEDGER_ORIGIN>/<channel>`. */
  readonly origin: string;
  /** Number of leaves. */
  readonly size: number;
  readonly root: Bytes;
}

/** The text of a C2SP tlog-checkpoint, for signing as a note. Throws when a member is invalid. */
export function checkpointText({ origin, size, root }: Checkpoint): string {
  if (!isKeyName(origin)) throw new Error('An origin is not empty and holds no space, plus or control character.');
  if (!Number.isSafeInteger(size) || size < 0) throw new Error(`A checkpoint cannot cover ${size} leaves.`);
  checkRoot(size, root);
  return `${origin}\n${size}\n${root.toString('base64')}\n`;
}

/**
 * Parses a checkpoint from a signed note or its text. Does NOT verify a signature: pass the result of
 * `NoteVerifier.verify`. Extension lines are ignored. Throws an Error that describes the fault.
 */
export function parseCheckpoint(noteOrText: string): Checkpoint {
  const blank = noteOrText.lastIndexOf('\n\n');
  const text = blank < 0 ? noteOrText : noteOrText.slice(0, blank + 1);
  if (!text.endsWith('\n')) throw new Error('The text of a checkpoint ends in a newline.');
  const lines = text.slice(0, -1).split('\n');
  if (lines.includes('')) throw new Error('A checkpoint holds no empty line.');
  const [origin, sizeText, rootText] = lines;
  if (origin === undefined || sizeText === undefined || rootText === undefined) {
    throw new Error('A checkpoint has at least three lines: origin, size, root.');
  }
  const size = Number(sizeText);
  if (!/^(0|[1-9][0-9]*)$/.test(sizeText) || !Number.isSafeInteger(size)) {
    throw new Error('The second line of a checkpoint is a decimal size without leading zeroes.');
  }
  const root = decodeBase64(rootText);
  if (root === undefined) throw new Error('The third line of a checkpoint is the base64 of its root.');
  checkRoot(size, root);
  return { origin, size, root };
}

function checkRoot(size: number, root: Bytes): void {
  if (root.length !== HASH_BYTES)
    throw new Error(`The root of a checkpoint is ${HASH_BYTES} bytes long, not ${root.length}.`);
  if (size === 0 && !root.equals(EMPTY_ROOT)) throw new Error('An empty log has the root of the empty tree.');
}
