import { parseCheckpoint, parseNote, type Checkpoint, type NoteVerifier } from '@sealgate/merkle';
import { LedgerCorruptError } from './ledger-corrupt-error.ts';

/** The checkpoint of a note that the database holds for the log. @throws LedgerCorruptError for one that is not ours. */
export type CheckedCheckpoint = (log: string, note: string) => Checkpoint;

/** How many logs' newest notes are remembered as checked. */
const MAX_REMEMBERED = 16_384;

/**
 * The database is not believed: whoever can write to it can put any note there. A note is checked once, because every tile
 * and every proof asks for it. Without a verifier (this process was told no key) a note is only parsed.
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
      throw new LedgerCorruptError(log, `the stored checkpoint is of ${checkpoint.origin}`);
    }
    if (remembered.size >= MAX_REMEMBERED) remembered.clear();
    remembered.set(log, { note, checkpoint });
    return checkpoint;
  };
}

const MOST_CHARACTERS_TOLD = 200;

/** Who a note says it is signed by, for people: names and ids of keys, of which nothing is checked. */
export function signersOf(note: string): string {
  try {
    const names = parseNote(note).signatures.map(({ name, keyHash }) => `${name}+${keyHash}`);
    return names.join(', ').slice(0, MOST_CHARACTERS_TOLD);
  } catch {
    return 'nobody: it is no signed note';
  }
}

function parsed(log: string, note: string): Checkpoint {
  try {
    return parseCheckpoint(note);
  } catch (cause) {
    throw new LedgerCorruptError(log, 'the stored checkpoint is none', { cause });
  }
}
