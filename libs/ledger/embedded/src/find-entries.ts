import { declarationText, parseLogName } from '@sealgate/envelope';
import { bundleOf, entriesOf, HASH_BYTES, leafHash, tileWidth, TILE_WIDTH, type BundleId } from '@sealgate/merkle';
import { readLedger } from './database-problem.ts';
import { LedgerCorruptError } from './ledger-corrupt-error.ts';
import { findCheckpoint, notCorrupt, type ProveOptions } from './prove-record.ts';
import { tileReader } from './tile-store.ts';

/**
 * A bundle of a log's entries (C2SP tlog-tiles); undefined if its newest checkpoint does not cover it. Each entry is
 * verified against its signed leaf.
 *
 * @throws LedgerUnavailableError, also if an entry does not match its leaf; LedgerForbiddenError.
 * @throws LedgerArchivedError if records are in an archive that this process cannot read.
 */
export async function findEntries(
  options: ProveOptions,
  log: string,
  { index, width }: BundleId,
): Promise<Buffer | undefined> {
  const size = (await findCheckpoint(options, log))?.checkpoint.size ?? 0;
  if (tileWidth(0, index, size) < width) return undefined;
  const from = index * TILE_WIDTH;
  const [[leaves], entries] = await Promise.all([
    tileReader(options.sql, log, options.deadlineMs)([{ level: 0, index, width }]),
    readEntries(options, log, { from, until: from + width }),
  ]);
  return notCorrupt(() => checkedBundle(log, { from, entries, leaves: leaves! }));
}

/** Entries of the declaration, the archive and the table, in log order. */
async function readEntries(
  options: ProveOptions,
  log: string,
  { from, until }: { readonly from: number; readonly until: number },
): Promise<Buffer[]> {
  const { channel, epoch } = parseLogName(log)!;
  await options.epochs.fresh();
  const begins = from === 0 && epoch > 0 ? [Buffer.from(declarationText(options.epochs.declaration(log)))] : [];
  const at = (entry: number) =>
    options.epochs.position(channel, epoch === 0 ? { index: entry } : { index: entry, epoch });
  const records = { from: at(from + begins.length), until: at(until) };
  const statement = {
    name: 'ledger entries',
    text: 'SELECT archived, entries FROM ledger.entries($1, $2, $3)',
    values: [channel, records.from, records.until],
  };
  const [row] = await readLedger<{ archived: string; entries: Buffer | null }>(
    options.sql,
    statement,
    options.deadlineMs,
  );
  const archived = { from: records.from, until: Math.min(records.until, Number(row?.archived ?? 0)) };
  const ofFiles = archived.from < archived.until ? await options.archived.entries(channel, archived) : [];
  return [...begins, ...ofFiles, ...entriesOf(row?.entries ?? Buffer.alloc(0))];
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
