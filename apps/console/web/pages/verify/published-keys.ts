import { Bytes } from '@sealgate/json';
import { parseSignatures, verifierKeyText } from '@sealgate/merkle';
import { sortFile, type NamedFile } from './sort-file.ts';

interface KeySet {
  readonly keys: readonly { readonly x: string }[];
}

/** The checkpoints in the files. */
export function notesIn(files: readonly NamedFile[]): string[] {
  return files.map(sortFile).flatMap((file) => {
    if (file.is === 'receipt') return [file.file.proof.checkpoint];
    if (file.is === 'decision') return [file.file.receipt.proof.checkpoint];
    if (file.is === 'note') return [file.note];
    if (file.is === 'log-proof') return [file.text.slice(file.text.indexOf('\n\n') + 2)];
    if (file.is === 'pack') return file.file.seals.flatMap(({ record }) => record?.proof.checkpoint ?? []);
    if (file.is === 'envelope') return checkpointsOf(file.envelope);
    return file.is === 'declaration' ? [file.file.checkpoint] : [];
  });
}

const checkpointsOf = ({ item, items }: { readonly item?: unknown; readonly items?: unknown }): string[] =>
  [item, ...(Array.isArray(items) ? (items as unknown[]) : [])].flatMap((one) => {
    const checkpoint = (one as { readonly checkpoint?: unknown } | null | undefined)?.checkpoint;
    return typeof checkpoint === 'string' ? [checkpoint] : [];
  });

/**
 * The published keys of a log (JWKs, which have no name) as verifier keys (C2SP, which have one): under the names in the
 * signatures of these notes. A key that signed none of them is under the first name, and fails the check by its signature.
 */
export function verifierKeysOf({ keys }: KeySet, notes: readonly string[]): string {
  const signatures = notes.flatMap(signaturesOf);
  const named = keys.flatMap(({ x }) => {
    const point = Bytes.from(x, 'base64url');
    return [...new Set(signatures.map(({ name }) => name))].map((name) => verifierKeyText(name, point));
  });
  const ids = new Set(signatures.map(({ name, keyHash }) => `${name}+${keyHash}`));
  // Names have no plus sign; base64 may.
  const used = named.filter((key) => ids.has(key.split('+', 2).join('+')));
  return [...new Set(used.length > 0 ? used : named.slice(0, 1))].join('\n');
}

function signaturesOf(note: string) {
  try {
    return parseSignatures(note.slice(note.lastIndexOf('\n\n') + 2));
  } catch {
    return []; // The check of the note says what is wrong with it.
  }
}
