import {
  DECLARATION_TYPE,
  declarationLeaf,
  declarationText,
  logName,
  parseLogName,
  type Declaration,
  type LostEntries,
} from '@sealgate/envelope';
import type { CheckedCheckpoint } from '../checked-checkpoint.ts';
import { LedgerCorruptError } from '../ledger-corrupt-error.ts';
import type { SignedCheckpoint } from '../saved-checkpoints.ts';

interface DeclaredLog {
  /** An epoch that has no signed checkpoint yet. */
  readonly log: string;
  /** The epoch's row in the database. */
  readonly head: { readonly statement: string | null; readonly leaf_hash: Buffer | null } | undefined;
  /**
   * The newest kept checkpoint of another log of the channel. @throws LedgerCorruptError if it is not this ledger's.
   */
  readonly kept: (epoch: number) => SignedCheckpoint | undefined;
}

interface CheckOptions {
  readonly origin: string;
  readonly checked: CheckedCheckpoint;
}

/**
 * Run before the first signature over an epoch. Its declaration must be the stored leaf, belong to this log, and name
 * the checkpoints that this ledger last signed in the earlier logs. The database is not trusted here: it could hold any
 * statement.
 *
 * @throws LedgerCorruptError
 */
export function checkDeclaration(options: CheckOptions, { log, head, kept }: DeclaredLog): void {
  const wrong = (what: string, cause?: unknown) => new LedgerCorruptError(log, `its declaration ${what}`, { cause });
  try {
    const said = declarationOf(head);
    if (said === undefined) throw wrong('does not match its first entry');
    const isOfLog = logName(said.channel, said.epoch) === log && said.origin === `${options.origin}/${log}`;
    if (said.type !== DECLARATION_TYPE || !isOfLog) throw wrong(`has the origin ${said.origin}`);
    const { channel } = parseLogName(log)!;
    for (const entries of said.lost) {
      const of = logName(channel, entries.epoch);
      if (!isSigned(options, of, entries)) throw wrong(`does not match its checkpoints of ${of}`);
      const size = kept(entries.epoch)?.checkpoint.size ?? 0;
      if (size > entries.lostUntil)
        throw wrong(`ends ${of} at ${entries.lostUntil}, but ${size} of its entries were signed`);
    }
  } catch (error) {
    if (error instanceof LedgerCorruptError) throw error;
    throw wrong('cannot be parsed', error);
  }
}

function declarationOf(head: DeclaredLog['head']): Declaration | undefined {
  const text = head?.statement ?? '';
  const said = JSON.parse(text) as Declaration;
  return declarationText(said) === text && head?.leaf_hash?.equals(declarationLeaf(said)) === true ? said : undefined;
}

/** Whether the checkpoints have the declared sizes. @throws LedgerCorruptError for one that is not this ledger's. */
function isSigned(
  { checked }: CheckOptions,
  log: string,
  { lostFrom, lostUntil, checkpoint, surviving }: LostEntries,
): boolean {
  const isOver = (note: string, size: number) => checked(log, note).size === size;
  return isOver(checkpoint, lostUntil) && (surviving === null || isOver(surviving, lostFrom));
}
