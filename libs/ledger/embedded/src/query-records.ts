import { LedgerUnavailableError, type RecordQuery, type StoredRecord } from '@sealgate/ledger-port';
import type { Sql } from '@sealgate/storage';
import { readLedger } from './database-problem.ts';
import type { Epochs } from './epochs.ts';
import type { SharedReads } from './shared-reads.ts';
import { FOUND_COLUMNS, storedRecord, type ArchivedRecords, type FoundRow, type RecordRow } from './stored-record.ts';

export interface PageQuery extends RecordQuery {
  /** Maximum bytes of content in a page; a larger record gets a page of its own. */
  readonly maxBytes: number;
}

export interface RecordPage {
  /** By id in code point order. */
  readonly records: readonly StoredRecord[];
  /** Whether more records of the type follow. */
  readonly more: boolean;
}

const READ_WITHIN_MS = 2000;
/** A small part of what may be indexed within the time limit of a statement, also by a busy server. */
const INDEX_AT_ONCE = 5_000;
const INDEX_WITHIN_MS = 1500;
/** Records of a page read from files at once, all held in memory. */
const FILLED_AT_ONCE = 16;

// Sizes are computed in the database, so rows beyond the page are neither unpacked nor sent.
const PAGE = `SELECT * FROM (
  SELECT q.ordinality, ${FOUND_COLUMNS.map((column) => `q.${column}`).join(', ')}, count(*) OVER () AS found,
         sum(coalesce(octet_length(q.data), 0) + coalesce(octet_length(q.extra), 0)) OVER (ORDER BY q.ordinality) AS bytes
    FROM ledger.query($1, $2, $3, $4) WITH ORDINALITY q) p
 WHERE ordinality < $4 AND (bytes <= $5 OR ordinality = 1) ORDER BY ordinality`;

type PageRow = FoundRow & { readonly found: string };

interface QueryPorts {
  readonly sql: Sql;
  /** See `indexTypes`; callers share it, because it locks the index. */
  readonly types: SharedReads<void>;
  readonly epochs: Epochs;
  readonly archived: ArchivedRecords;
}

/** One page of the records of a type. Rejects with LedgerUnavailableError. */
export async function queryPage({ sql, types, epochs, archived }: QueryPorts, query: PageQuery): Promise<RecordPage> {
  const { channel, type, afterId, limit, maxBytes } = query;
  await types.fresh(channel);
  const values = [channel, type, afterId, limit + 1, maxBytes];
  const rows = await readLedger<PageRow>(sql, { name: 'ledger page', text: PAGE, values }, READ_WITHIN_MS);
  await epochs.fresh();
  // The content size of an archived record is known only after reading it.
  const records: StoredRecord[] = [];
  let bytes = 0;
  for (let from = 0; from < rows.length && bytes <= maxBytes; from += FILLED_AT_ONCE) {
    for (const row of await archived.complete(rows.slice(from, from + FILLED_AT_ONCE))) {
      bytes += contentBytes(row);
      if (bytes <= maxBytes || records.length === 0) records.push(storedRecord(row, epochs));
    }
  }
  return { records, more: Number(rows[0]?.found ?? 0) > records.length };
}

const contentBytes = ({ data, extra }: RecordRow): number =>
  Buffer.byteLength(data ?? '') + Buffer.byteLength(extra ?? '');

/** The records of a type, regardless of their size. Rejects with LedgerUnavailableError. */
export async function queryRecords(
  { sql, types, epochs, archived }: QueryPorts,
  query: RecordQuery,
): Promise<StoredRecord[]> {
  const { channel, type, afterId, limit } = query;
  await types.fresh(channel);
  const text = `SELECT ${FOUND_COLUMNS.join(', ')} FROM ledger.query($1, $2, $3, $4)`;
  const statement = { name: 'ledger query', text, values: [channel, type, afterId, limit] };
  const rows = await archived.complete(await readLedger<FoundRow>(sql, statement, READ_WITHIN_MS));
  await epochs.fresh();
  return rows.map((row) => storedRecord(row, epochs));
}

/**
 * Extends the type index to the head. @throws LedgerUnavailableError if that takes too long: what was indexed stays, and
 * the next call continues.
 */
export async function indexTypes(sql: Sql, channel: string, now: () => number): Promise<void> {
  const endsAtMs = now() + INDEX_WITHIN_MS;
  for (let done = false; !done;) {
    if (now() >= endsAtMs) throw new LedgerUnavailableError(`The records of ${channel} are being indexed by type.`);
    const statement = { text: 'SELECT ledger.index_types($1, $2) AS done', values: [channel, INDEX_AT_ONCE] };
    const [row] = await readLedger<{ done: boolean }>(sql, statement, READ_WITHIN_MS);
    done = row?.done !== false;
  }
}
