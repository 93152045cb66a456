import { receiptLeaf } from '@sealgate/envelope';
import {
  type Checkpoint,
  HASH_BYTES,
  type NoteVerifier,
  parseCheckpoint,
  type Tile,
  type TileTree,
} from '@sealgate/merkle';
import type { ArchiveFiles } from './archive-files.ts';
import { archivedContent, ArchiveFileError, type ArchivedRecord } from './archived-record.ts';
import { readLedger } from '../database-problem.ts';
import { Finding } from '../ledger-corrupt-error.ts';
import type { Sql } from '@sealgate/storage';

export interface AuditOptions {
  readonly sql: Sql;
  readonly deadlineMs: number;
  /** Absent if no key is configured: signatures are then not verified. */
  readonly verifier?: NoteVerifier;
  readonly origin: string;
  /** Absent if this process has no archive: audits of channels with archived records then fail. */
  readonly archive?: ArchiveFiles;
  /** Called repeatedly with the number of records audited so far. */
  readonly onWalked?: (records: number) => void;
}

interface ArchivedRow {
  first_index: string;
  until_index: string;
  ids: (string | null)[];
  types: (string | null)[];
  transactions: Buffer;
  salt: Buffer;
  contents: Buffer;
  erased: string[];
  last_at_ms: string;
}

const STRETCHES_AT_ONCE = 4;
const ERASED = Buffer.alloc(HASH_BYTES);

/**
 * Yields the leaf hashes of a channel's archived records, one file at a time, after verifying each line against its own
 * hashes and against what the database kept of it.
 * @throws Finding, LedgerUnavailableError
 */
export async function* archivedLeaves(
  options: AuditOptions,
  channel: string,
): AsyncGenerator<{ readonly from: number; readonly until: number; readonly leaves: Buffer }> {
  const { sql, deadlineMs } = options;
  const untilText = 'SELECT ledger.archived_until($1) AS until';
  const [reaches] = await readLedger<{ until: string }>(sql, { text: untilText, values: [channel] }, deadlineMs);
  const text = 'SELECT * FROM ledger.audit_archived($1, $2, $3)';
  let at = 0;
  for (;;) {
    const values = [channel, at, STRETCHES_AT_ONCE];
    const rows = await readLedger<ArchivedRow>(sql, { text, values }, deadlineMs);
    for (const row of rows) {
      const stretch = { from: Number(row.first_index), until: Number(row.until_index) };
      if (stretch.from !== at || stretch.until <= at) throw await missing(options, channel, at);
      yield { ...stretch, leaves: await leavesOf(options, { channel, stretch }, row) };
      at = stretch.until;
    }
    if (rows.length < STRETCHES_AT_ONCE) break;
  }
  const until = Number(reaches!.until);
  if (at < until) throw await missing(options, channel, at);
  if (at > until) throw new Finding(`the archive holds ${at} records, and not ${until}`);
}

async function missing(options: AuditOptions, channel: string, index: number): Promise<Finding> {
  return new Finding(`record ${index} is missing from the archive`, await enteredId(options, channel, index));
}

async function leavesOf(
  options: AuditOptions,
  of: { readonly channel: string; readonly stretch: { readonly from: number; readonly until: number } },
  row: ArchivedRow,
): Promise<Buffer> {
  const { archive } = options;
  const { channel, stretch } = of;
  if (archive === undefined) {
    throw new Finding(
      `record ${stretch.from} and others are in an archive that this process cannot read (LEDGER_ARCHIVE_DIR)`,
    );
  }
  const erased = new Set(row.erased.map(Number));
  const leaves: Buffer[] = [];
  let index = stretch.from;
  try {
    for await (const record of archive.records(channel, stretch)) {
      ({ index } = record);
      const problem = problemOf(record, { row, place: index - stretch.from, isErased: erased.has(index) });
      if (problem !== undefined) throw new ArchiveFileError(`record ${index}: ${problem}`, { index });
      leaves.push(receiptLeaf(record));
    }
  } catch (error) {
    if (!(error instanceof ArchiveFileError)) throw error;
    throw new Finding(error.message, await enteredId(options, channel, error.index ?? stretch.from));
  }
  return Buffer.concat(leaves);
}

/** Compares a record of the file with the database's row of its stretch. */
function problemOf(
  record: ArchivedRecord,
  { row, place, isErased }: { row: ArchivedRow; place: number; isErased: boolean },
): string | undefined {
  const hashAt = (hashes: Buffer) => hashes.subarray(place * HASH_BYTES, (place + 1) * HASH_BYTES);
  if (record.salt !== null && isErased) return 'it was erased, and its content is in the file still; erase it again';
  if (record.salt === null && !isErased) return 'its content is missing, and no erasure says so';
  if (row.ids[place] !== record.id || row.types[place] !== record.type)
    return 'its id or type differs between database and file';
  if (hashAt(row.transactions).toString('hex') !== record.transactionId)
    return 'its transaction differs between database and file';
  const isLast = Number(row.until_index) === record.index + 1;
  if (isLast && Number(row.last_at_ms) !== Date.parse(record.at)) return 'its time differs between database and file';
  const content = isErased ? ERASED : archivedContent(row.salt, record);
  return hashAt(row.contents).equals(content) ? undefined : 'its create-once hash does not match its content';
}

async function enteredId({ sql, deadlineMs }: AuditOptions, channel: string, index: number): Promise<string | null> {
  const statement = { text: 'SELECT ledger.audit_id_at($1, $2) AS id', values: [channel, index] };
  return (await readLedger<{ id: string | null }>(sql, statement, deadlineMs))[0]?.id ?? null;
}

/** Compares the tiles of the archive with those computed from its records. @throws Finding */
export async function compareArchivedTiles(
  archive: ArchiveFiles,
  channel: string,
  tiles: readonly Tile[],
): Promise<void> {
  for (const tile of tiles) {
    const hashes = await found(archive.tile(channel, tile));
    if (!hashes.equals(tile.hashes))
      throw new Finding(`tile ${tile.level}/${tile.index} of the archive disagrees with the records below it`);
  }
}

/** Checks that the archive's checkpoint is signed and covers all archived records. @throws Finding */
export async function compareArchivedCheckpoint(
  { archive, verifier, origin }: AuditOptions & { readonly archive: ArchiveFiles },
  channel: string,
  tree: TileTree,
): Promise<void> {
  const note = await found(archive.checkpoint(channel));
  if (verifier !== undefined && verifier.verify(note) === undefined)
    throw new Finding('the checkpoint of the archive is signed by no published key');
  let checkpoint: Checkpoint;
  try {
    checkpoint = parseCheckpoint(note);
  } catch {
    throw new Finding('the checkpoint of the archive cannot be parsed');
  }
  if (checkpoint.origin !== `${origin}/${channel}`)
    throw new Finding(`the checkpoint of the archive has the origin ${checkpoint.origin}`);
  // After a crash it may cover records that are still in the table.
  if (checkpoint.size < tree.size)
    throw new Finding(`the checkpoint of the archive covers ${checkpoint.size} of ${tree.size} records`);
  if (checkpoint.size > tree.size) return;
  if (!checkpoint.root.equals(tree.root()))
    throw new Finding('the records of the archive do not match the signed root');
  await compareArchivedTiles(archive, channel, tree.edge());
}

async function found<Value>(reading: Promise<Value>): Promise<Value> {
  try {
    return await reading;
  } catch (error) {
    throw error instanceof ArchiveFileError ? new Finding(error.message) : error;
  }
}
