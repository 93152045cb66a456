import { receiptLeaf } from '@sealgate/envelope';
import { canonical } from '@sealgate/json';
import { LedgerArchivedError } from '@sealgate/ledger-port';
import type { ArchiveFiles } from './archive-files.ts';
import { ArchiveFileError, type ArchivedRecord } from './archived-record.ts';
import type { RecordRow } from './stored-record.ts';

/** A row of `record_v2` and `query_v2`: whole, or of a record that lies in a file. */
export type FoundRow = Omit<RecordRow, 'data_hash' | 'at_ms'> & {
  readonly data_hash: Buffer | null;
  readonly at_ms: string | null;
  /** The stretch of the archive that the record lies in; null where the row is whole. */
  readonly archived_from: string | null;
  readonly archived_until: string | null;
  readonly erased: boolean;
};

/**
 * The rows, those of archived records filled from the files.
 * @throws LedgerArchivedError where this process has no archive, or the archive does not hold what it should.
 */
export async function wholeRows(files: ArchiveFiles | undefined, rows: readonly FoundRow[]): Promise<RecordRow[]> {
  const read = new Map<FoundRow, ArchivedRecord>();
  for (const [from, of] of Map.groupBy(rows, ({ archived_from: first }) => first)) {
    if (from === null) continue;
    const records = await recordsOf(files, of);
    for (const row of of) read.set(row, records.get(Number(row.idx))!);
  }
  return rows.map((row) => {
    const record = read.get(row);
    return record === undefined ? (row as RecordRow) : filled(row, record);
  });
}

/** Of rows that lie in one file. */
async function recordsOf(
  files: ArchiveFiles | undefined,
  rows: readonly FoundRow[],
): Promise<ReadonlyMap<number, ArchivedRecord>> {
  const [first] = rows as readonly [FoundRow];
  const stretch = { from: Number(first.archived_from), until: Number(first.archived_until) };
  if (files === undefined) throw unreadable(first);
  try {
    return await files.pick(first.channel, stretch, new Set(rows.map(({ idx }) => Number(idx))));
  } catch (error) {
    throw error instanceof ArchiveFileError ? unreadable(first, error) : error;
  }
}

const unreadable = ({ channel, idx, type }: FoundRow, cause?: ArchiveFileError): LedgerArchivedError =>
  new LedgerArchivedError({ channel, index: Number(idx), type }, cause === undefined ? {} : { cause });

function filled(row: FoundRow, record: ArchivedRecord): RecordRow {
  if (!receiptLeaf(record).equals(row.leaf_hash))
    throw unreadable(
      row,
      new ArchiveFileError(`record ${row.idx} of the file is not the one that its leaf was made of`),
    );
  // The database knows of an erasure first.
  const content =
    row.erased || record.salt === null
      ? { data: null, extra: null, salt: null }
      : {
          data: canonical(record.data),
          extra: record.extra === null ? null : canonical(record.extra),
          salt: Buffer.from(record.salt, 'hex'),
        };
  const { owner, dataHash, at } = record;
  return { ...row, ...content, owner, data_hash: Buffer.from(dataHash, 'hex'), at_ms: String(Date.parse(at)) };
}
