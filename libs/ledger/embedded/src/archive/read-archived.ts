import { receiptEntry, receiptLeaf } from '@sealgate/envelope';
import { canonical } from '@sealgate/json';
import { LedgerArchivedError } from '@sealgate/ledger-port';
import type { ArchivedRecords, FoundRow, RecordRow } from '../stored-record.ts';
import type { ArchiveFiles } from './archive-files.ts';
import { ArchiveFileError, type ArchivedRecord, type ArchivedStretch } from './archived-record.ts';

type ArchivedPlace = ConstructorParameters<typeof LedgerArchivedError>[0];

/** Reads from the files. Without any (this process has no archive), archived records are refused. */
export const archivedRecords = (files: ArchiveFiles | undefined): ArchivedRecords => ({
  complete: (rows) => completeRows(files, rows),
  entries: (channel, records) => readEntries(files, channel, records),
});

async function completeRows(files: ArchiveFiles | undefined, rows: readonly FoundRow[]): Promise<RecordRow[]> {
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

/** Reads the records of rows that are stored in one file. */
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
  refusal({ channel, index: Number(idx), type }, cause);

const refusal = (record: ArchivedPlace, cause?: ArchiveFileError): LedgerArchivedError =>
  new LedgerArchivedError(record, cause === undefined ? {} : { cause });

function filled(row: FoundRow, record: ArchivedRecord): RecordRow {
  if (!receiptLeaf(record).equals(row.leaf_hash))
    throw unreadable(
      row,
      new ArchiveFileError(`record ${row.idx} of the file is not the one that its leaf was made of`),
    );
  // An erasure is recorded in the database before the file is rewritten.
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

async function readEntries(
  files: ArchiveFiles | undefined,
  channel: string,
  { from, until }: ArchivedStretch,
): Promise<Buffer[]> {
  const at = { channel, index: from, type: '' };
  if (files === undefined) throw refusal(at);
  try {
    const entries: Buffer[] = [];
    for (const file of await files.stretches(channel)) {
      const [first, end] = [Math.max(from, file.from), Math.min(until, file.until)];
      if (first >= end) continue;
      const wanted = Array.from({ length: end - first }, (_, place) => first + place);
      const records = await files.pick(channel, file, new Set(wanted));
      entries.push(...wanted.map((place) => Buffer.from(receiptEntry(records.get(place)!))));
    }
    if (entries.length < until - from) throw new ArchiveFileError(`files of ${channel} are missing`);
    return entries;
  } catch (error) {
    throw error instanceof ArchiveFileError ? refusal(at, error) : error;
  }
}
