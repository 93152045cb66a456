import type { RecordQuery, StoredRecord } from '@sealgate/ledger-port';
import type { Sql } from '@sealgate/storage';
import { readLedger } from './database-problem.ts';
import type { ArchiveFiles } from './archive-files.ts';
import { wholeRows, type FoundRow } from './archived-rows.ts';
import type { Epochs } from './epochs.ts';
import { storedRecord, type RecordRow } from './stored-record.ts';

export interface PageQuery extends RecordQuery {
  /** Most bytes of content in the page; a record that is larger stands in one alone. */
  readonly maxBytes: number;
}

export interface RecordPage {
  /** By id in code point order. */
  readonly records: readonly StoredRecord[];
  /** Whether there are more of the type behind these. */
  readonly more: boolean;
}

const READ_WITHIN_MS = 2000;
const INDEX_AT_ONCE = 20_000;
/** Records of a page that are read from files at once: as many contents are held. */
const FILLED_AT_ONCE = 16;

// The sizes are those that the rows are stored with, so what does not fit in the page is neither unpacked nor sent.
const PAGE = `SELECT * FROM (
  SELECT q.*, count(*) OVER () AS found,
         sum(coalesce(octet_length(q.data), 0) + coalesce(octet_length(q.extra), 0)) OVER (ORDER BY q.ordinality) AS bytes
    FROM ledger.query_v2($1, $2, $3, $4) WITH ORDINALITY q) p
 WHERE ordinality < $4 AND (bytes <= $5 OR ordinality = 1) ORDER BY ordinality`;

type PageRow = FoundRow & { readonly found: string };

export interface QueryPorts {
  readonly sql: Sql;
  readonly epochs: Epochs;
  /** Where archived records lie; absent where this process has no archive. */
  readonly archive?: ArchiveFiles;
}

/** One page of the records of a type. Rejects with LedgerUnavailableError. */
export async function queryPage({ sql, epochs, archive }: QueryPorts, query: PageQuery): Promise<RecordPage> {
  const { channel, type, afterId, limit, maxBytes } = query;
  await indexTypes(sql, channel);
  const values = [channel, type, afterId, limit + 1, maxBytes];
  const rows = await readLedger<PageRow>(sql, { name: 'ledger page', text: PAGE, values }, READ_WITHIN_MS);
  await epochs.fresh();
  // How large the content of an archived record is shows only once it was read.
  const records: StoredRecord[] = [];
  let bytes = 0;
  for (let from = 0; from < rows.length && bytes <= maxBytes; from += FILLED_AT_ONCE) {
    for (const row of await wholeRows(archive, rows.slice(from, from + FILLED_AT_ONCE))) {
      bytes += contentBytes(row);
      if (bytes <= maxBytes || records.length === 0) records.push(storedRecord(row, epochs));
    }
  }
  return { records, more: Number(rows[0]?.found ?? 0) > records.length };
}

const contentBytes = ({ data, extra }: RecordRow): number =>
  Buffer.byteLength(data ?? '') + Buffer.byteLength(extra ?? '');

/** The records of a type, however large they are. Rejects with LedgerUnavailableError. */
export async function queryRecords({ sql, epochs, archive }: QueryPorts, query: RecordQuery): Promise<StoredRecord[]> {
  const { channel, type, afterId, limit } = query;
  await indexTypes(sql, channel);
  const text = 'SELECT * FROM ledger.query_v2($1, $2, $3, $4)';
  const statement = { name: 'ledger query', text, values: [channel, type, afterId, limit] };
  const rows = await wholeRows(archive, await readLedger<FoundRow>(sql, statement, READ_WITHIN_MS));
  await epochs.fresh();
  return rows.map((row) => storedRecord(row, epochs));
}

/** Brings the index of types up to the head. */
async function indexTypes(sql: Sql, channel: string): Promise<void> {
  for (let done = false; !done;) {
    const statement = { text: 'SELECT ledger.index_types_v1($1, $2) AS done', values: [channel, INDEX_AT_ONCE] };
    const [row] = await readLedger<{ done: boolean }>(sql, statement, READ_WITHIN_MS);
    done = row?.done !== false;
  }
}
