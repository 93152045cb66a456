import { receiptLeaf } from '@sealgate/envelope';
import { int8Array, type Database, type Sql } from '@sealgate/storage';
import type { ArchiveFiles, Draft } from './archive-files.ts';
import {
  archivedLine,
  type ArchivedRecord,
  type ArchivedStretch,
  ArchiveFileError,
  withoutContent,
} from './archived-record.ts';
import { readLedger } from '../database-problem.ts';

export interface ErasureOptions {
  /** Uses a role that may erase in the channels. */
  readonly sql: Database;
  readonly files: ArchiveFiles;
  /** Called for an erasure that could not be written to its file. It is retried. */
  readonly onError: (error: unknown) => void;
}

interface LockRow {
  archived: string;
  until_index: string | null;
  erased: string[];
}

const READ_WITHIN_MS = 10_000;
/** Limit for one stretch: reading, writing and reading back at most a few thousand megabytes. */
const STRETCH_WITHIN_MS = 120_000;

/** Takes the row lock that guards the files of a channel. Undefined if there is no such channel. */
export async function lockArchive(sql: Sql, channel: string, from: number): Promise<LockRow | undefined> {
  const statement = { text: 'SELECT * FROM ledger.archive_lock($1, $2)', values: [channel, from] };
  return (await readLedger<LockRow>(sql, statement, READ_WITHIN_MS))[0];
}

/**
 * Removes erased content from the files that still hold it, of one channel or of all. Failures are reported and retried
 * by the next call; returns the number of files or channels that remain.
 * @throws LedgerUnavailableError
 */
export async function writeErasures(options: ErasureOptions, only?: string): Promise<number> {
  const { sql, files, onError } = options;
  const text = 'SELECT channel, first_index FROM ledger.unwritten_erasures()';
  const rows = await readLedger<{ channel: string; first_index: string | null }>(sql, { text }, READ_WITHIN_MS);
  const isMeant = (channel: string) => only === undefined || channel === only;
  let left = 0;
  const attempt = async (work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      left += 1;
      onError(error);
    }
  };
  for (const { channel, first_index: from } of rows)
    if (from !== null && isMeant(channel)) await attempt(() => eraseInStretch(options, channel, Number(from)));
  for (const channel of (await files.channels()).filter(isMeant)) await attempt(() => eraseInRemains(options, channel));
  return left;
}

async function eraseInStretch({ sql: database, files }: ErasureOptions, channel: string, from: number): Promise<void> {
  await database.transaction(
    async (sql) => {
      const lock = await lockArchive(sql, channel, from);
      if (lock?.until_index == null) return;
      const gone = new Set(lock.erased.map(Number));
      const of = { channel, stretch: { from, until: Number(lock.until_index) } };
      await rewrite(files, of, ({ index }) => gone.has(index));
      const values = [channel, int8Array(lock.erased.map(Number))];
      await sql.query({ text: 'SELECT ledger.erasures_written($1, $2)', values });
    },
    { deadlineMs: STRETCH_WITHIN_MS },
  );
}

/**
 * Cleans up after an archive attempt that was killed before it removed the rows: files with copies of records that are
 * still in the table, and drafts. The files stay until the attempt is repeated, because they may hold records the table
 * has lost meanwhile. A line of another log is not a copy, and is left unchanged.
 */
async function eraseInRemains({ sql: database, files }: ErasureOptions, channel: string): Promise<void> {
  const untilText = 'SELECT ledger.archived_until($1) AS until';
  const [reaches] = await readLedger<{ until: string }>(
    database,
    { text: untilText, values: [channel] },
    READ_WITHIN_MS,
  );
  if (!(await files.remains(channel, Number(reaches!.until))).some) return;
  await database.transaction(
    async (sql) => {
      const lock = await lockArchive(sql, channel, 0);
      if (lock === undefined) return;
      const archived = Number(lock.archived);
      const { stretches } = await files.remains(channel, archived);
      await files.removeDrafts(channel);
      const erased = await erasedRows(sql, channel, { from: archived, until: stretches.at(-1)?.until ?? archived });
      const isCopy = (record: ArchivedRecord) => erased.get(record.index)?.equals(receiptLeaf(record)) === true;
      for (const stretch of stretches) {
        let holdsAny = false;
        const isErasedIn = [...erased.keys()].some((index) => index >= stretch.from && index < stretch.until);
        if (!isErasedIn) continue;
        for await (const record of files.records(channel, stretch)) holdsAny ||= record.salt !== null && isCopy(record);
        if (holdsAny) await rewrite(files, { channel, stretch }, isCopy);
      }
    },
    { deadlineMs: STRETCH_WITHIN_MS },
  );
}

async function erasedRows(sql: Sql, channel: string, { from, until }: ArchivedStretch): Promise<Map<number, Buffer>> {
  const statement = { text: 'SELECT * FROM ledger.erased_rows($1, $2, $3)', values: [channel, from, until] };
  const rows = await readLedger<{ idx: string; leaf_hash: Buffer }>(sql, statement, READ_WITHIN_MS);
  return new Map(rows.map(({ idx, leaf_hash: leaf }) => [Number(idx), leaf]));
}

/** Rewrites a file without the content of some of its records. @throws ArchiveFileError */
async function rewrite(
  files: ArchiveFiles,
  { channel, stretch }: { readonly channel: string; readonly stretch: ArchivedStretch },
  isGone: (record: ArchivedRecord) => boolean,
): Promise<void> {
  const leaves: Buffer[] = [];
  async function* lines(): AsyncGenerator<string> {
    for await (const record of files.records(channel, stretch)) {
      leaves.push(receiptLeaf(record));
      yield archivedLine(isGone(record) ? withoutContent(record) : record);
    }
  }
  const draft = await files.draft(channel, stretch.from, lines());
  assertSame(channel, draft, Buffer.concat(leaves));
  await draft.keep(stretch);
}

function assertSame(channel: string, draft: Draft, leaves: Buffer): void {
  if (!draft.leaves.equals(leaves))
    throw new ArchiveFileError(`a file of ${channel} was not read back as it was written`);
}
