import type { NoteVerifier } from '@sealgate/merkle';
import { entryCount } from './entry-count.ts';
import { startReport } from './report.ts';
import type { Report } from './report.ts';
import { openCheckpoint, signersOf } from './signed-checkpoint.ts';
import type { NoteInput } from './signed-checkpoint.ts';

/** Checks one checkpoint: its signature by the pinned key, its form, its origin. Never throws for what the note holds. */
export function checkCheckpoint(input: NoteInput & { verifier: NoteVerifier; channel?: string | undefined }): Report {
  const report = startReport();
  const checkpoint = openCheckpoint(report, input, input);
  if (checkpoint === undefined) return report.finish('');
  const { origin, size, root } = checkpoint;
  report.note('One checkpoint shows no history: keep it, and compare it with later ones ("consistency").');
  return report.finish(
    `${signersOf(input.note, input.verifier)} signed ${origin} at ${entryCount(size)}, root ${root.toString('hex')}.`,
  );
}
