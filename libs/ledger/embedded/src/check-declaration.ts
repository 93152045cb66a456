import {
  DECLARATION_TYPE,
  declarationLeaf,
  declarationText,
  logName,
  parseLogName,
  type Declaration,
  type LostEntries,
} from '@sealgate/envelope';
import type { CheckedCheckpoint } from './checked-checkpoint.ts';
import type { SignedCheckpoint } from './compare-channels.ts';
import { LedgerCorruptError } from './ledger-corrupt-error.ts';

export interface DeclaredLog {
  /** An epoch that is not signed for yet. */
  readonly log: string;
  /** What the database holds of it. */
  readonly head: { readonly statement: string | null; readonly leaf_hash: Buffer | null } | undefined;
  /** The newest checkpoint that is kept of another log of the channel. @throws LedgerCorruptError for one that is none of ours. */
  readonly kept: (epoch: number) => SignedCheckpoint | undefined;
}

interface CheckOptions {
  readonly origin: string;
  readonly checked: CheckedCheckpoint;
}

/**
 * Before the first signature over an epoch: its declaration has to be the leaf that is stored, of this log, and about the
 * checkpoints that this ledger signed last in the logs before. The database could hold any.
 *
 * @throws LedgerCorruptError
 */
export function checkDeclaration(options: CheckOptions, { log, head, kept }: DeclaredLog): void {
  const wrong = (what: string, cause?: unknown) => new LedgerCorruptError(log, `its declaration ${what}`, { cause });
  try {
    const said = declarationOf(head);
    if (said === undefined) throw wrong('is not what its first entry was made of');
    const isOfLog = logName(said.channel, said.epoch) === log && said.origin === `${options.origin}/${log}`;
    if (said.type !== DECLARATION_TYPE || !isOfLog) throw wrong(`is of ${said.origin}`);
    const { channel } = parseLogName(log)!;
    for (const entries of said.lost) {
      const of = logName(channel, entries.epoch);
      if (!isSigned(options, of, entries)) throw wrong(`does not say what its checkpoints of ${of} say`);
      const size = kept(entries.epoch)?.checkpoint.size ?? 0;
      if (size > entries.lostUntil)
        throw wrong(`ends ${of} at ${entries.lostUntil}, but ${size} entries of it were signed for`);
    }
  } catch (error) {
    if (error instanceof LedgerCorruptError) throw error;
    throw wrong('is none', error);
  }
}

function declarationOf(head: DeclaredLog['head']): Declaration | undefined {
  const text = head?.statement ?? '';
  const said = JSON.parse(text) as Declaration;
  return declarationText(said) === text && head?.leaf_hash?.equals(declarationLeaf(said)) === true ? said : undefined;
}

/** Whether the checkpoints are over as many entries as it says. @throws LedgerCorruptError for one that is not ours. */
function isSigned(
  { checked }: CheckOptions,
  log: string,
  { lostFrom, lostUntil, checkpoint, surviving }: LostEntries,
): boolean {
  const isOver = (note: string, size: number) => checked(log, note).size === size;
  return isOver(checkpoint, lostUntil) && (surviving === null || isOver(surviving, lostFrom));
}
