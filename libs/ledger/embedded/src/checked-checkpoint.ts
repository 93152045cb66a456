import { parseCheckpoint, parseNote, type Checkpoint, type NoteVerifier } from '@sealgate/merkle';
import { LedgerCorruptError } from './ledger-corrupt-error.ts';

/**
 * Verifies and parses a note that the database holds for a log. @throws LedgerCorruptError for one of another ledger.
 */
export type CheckedCheckpoint = (log: string, note: string) => Checkpoint;

/** Number of logs whose newest note is cached as verified. */
const MAX_REMEMBERED = 16_384;

/**
 * The database is not trusted: anyone who can write to it can store any note. Results are cached per note, because
 * every tile and every proof needs one. Without a verifier (this process has no key configured) a note is only parsed.
 */
export function checkedCheckpoints(origin: string, verifier: NoteVerifier | undefined): CheckedCheckpoint {
  const remembered = new Map<string, { readonly note: string; readonly checkpoint: Checkpoint }>();
  return (log, note) => {
    const known = remembered.get(log);
    if (known?.note === note) return known.checkpoint;
    if (verifier !== undefined && verifier.verify(note) === undefined) {
      throw new LedgerCorruptError(
        log,
        `the stored checkpoint is signed by no published key, but by ${signersOf(note)}`,
      );
    }
    const checkpoint = parsed(log, note);
    if (verifier !== undefined && checkpoint.origin !== `${origin}/${log}`) {
      throw new LedgerCorruptError(log, `the stored checkpoint has the origin ${checkpoint.origin}`);
    }
    if (remembered.size >= MAX_REMEMBERED) remembered.clear();
    remembered.set(log, { note, checkpoint });
    return checkpoint;
  };
}

const MAX_SIGNERS_LENGTH = 200;

/** The unverified key names and ids of a note's signatures, for messages. */
export function signersOf(note: string): string {
  try {
    const names = parseNote(note).signatures.map(({ name, keyHash }) => `${name}+${keyHash}`);
    return names.join(', ').slice(0, MAX_SIGNERS_LENGTH);
  } catch {
    return 'nobody: it is not a signed note';
  }
}

function parsed(log: string, note: string): Checkpoint {
  try {
    return parseCheckpoint(note);
  } catch (cause) {
    throw new LedgerCorruptError(log, 'the stored checkpoint cannot be parsed', { cause });
  }
}
