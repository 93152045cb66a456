import { declarationText, parseLogName } from '@sealgate/envelope';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import { bundleOf, entriesOf, HASH_BYTES, leafHash, TILE_WIDTH, type BundleId } from '@sealgate/merkle';
import { readLedger } from './database-problem.ts';
import { LedgerCorruptError } from './ledger-corrupt-error.ts';
import type { ProveOptions } from './prove-record.ts';

type EntriesOptions = Pick<ProveOptions, 'sql' | 'deadlineMs' | 'epochs' | 'archived'>;

/** Entries of a log, and how many records of the channel were in the archive when they were read. */
interface FoundEntries {
  readonly entries: Buffer[];
  readonly archived: number;
}

/**
 * A bundle of a log's entries (C2SP tlog-tiles), each of them verified against its leaf. `leaves` is the tile of the
 * same index and width.
 *
 * @throws LedgerCorruptError for the first entry that does not match its leaf.
 * @throws LedgerUnavailableError, LedgerForbiddenError.
 * @throws LedgerArchivedError if records are in an archive that this process cannot read.
 */
export async function findEntries(
  options: EntriesOptions,
  log: string,
  { index, width, leaves }: BundleId & { readonly leaves: Buffer },
): Promise<{ readonly bundle: Buffer; readonly archived: number }> {
  const from = index * TILE_WIDTH;
  const { entries, archived } = await readEntries(options, log, { from, until: from + width });
  return { bundle: checkedBundle(log, { from, entries, leaves }), archived };
}

/** How many records at the beginning of a channel are in the archive. @throws as `findEntries`. */
export async function countArchived(options: EntriesOptions, channel: string): Promise<number> {
  return (await readStored(options, channel, { from: 0, until: 0 })).archived;
}

/** Entries of the declaration, the archive and the table, in log order. */
async function readEntries(
  options: EntriesOptions,
  log: string,
  { from, until }: { readonly from: number; readonly until: number },
): Promise<FoundEntries> {
  const { channel, epoch } = parseLogName(log)!;
  await options.epochs.fresh();
  const begins = from === 0 && epoch > 0 ? [Buffer.from(declarationText(options.epochs.declaration(log)))] : [];
  const at = (entry: number) =>
    options.epochs.position(channel, epoch === 0 ? { index: entry } : { index: entry, epoch });
  const records = { from: at(from + begins.length), until: at(until) };
  const stored = await readStored(options, channel, records);
  const archived = { from: records.from, until: Math.min(records.until, stored.archived) };
  const ofFiles = archived.from < archived.until ? await options.archived.entries(channel, archived) : [];
  return { entries: [...begins, ...ofFiles, ...stored.entries], archived: stored.archived };
}

/** Entries of records that are in the table. A call returns as many as fit into its limit of content. */
async function readStored(
  { sql, deadlineMs }: EntriesOptions,
  channel: string,
  { from, until }: { readonly from: number; readonly until: number },
): Promise<FoundEntries> {
  const entries: Buffer[] = [];
  let archived: number | undefined;
  for (let next = from; ;) {
    const text = 'SELECT archived, entries FROM ledger.entries($1, $2, $3)';
    const statement = { name: 'ledger entries', text, values: [channel, next, until] };
    const [row] = await readLedger<{ archived: string; entries: Buffer | null }>(sql, statement, deadlineMs);
    const archivedNow = Number(row?.archived ?? 0);
    archived ??= archivedNow;
    if (archivedNow !== archived) throw new LedgerUnavailableError(`Records of ${channel} are being archived.`);
    const some = entriesOf(row?.entries ?? Buffer.alloc(0));
    entries.push(...some);
    next = Math.max(next, archived) + some.length;
    if (some.length === 0 || next >= until) return { entries, archived };
  }
}

/** @throws LedgerCorruptError for the first entry that does not match its leaf. */
function checkedBundle(
  log: string,
  { from, entries, leaves }: { readonly from: number; readonly entries: readonly Buffer[]; readonly leaves: Buffer },
): Buffer {
  const wanted = leaves.length / HASH_BYTES;
  const wrong = entries.findIndex(
    (entry, place) => !leafHash(entry).equals(leaves.subarray(place * HASH_BYTES, (place + 1) * HASH_BYTES)),
  );
  if (wrong < 0 && entries.length === wanted) return bundleOf(entries);
  const place = from + (wrong < 0 ? Math.min(entries.length, wanted) : wrong);
  throw new LedgerCorruptError(log, `entry ${place} is not what its leaf was made of`);
}
