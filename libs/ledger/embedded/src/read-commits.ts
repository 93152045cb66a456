import type { Sql } from '@sealgate/storage';
import { readLedger } from './database-problem.ts';

/** A transaction as it is in a channel: its records are contiguous. */
export interface Commit {
  readonly transactionId: string;
  /** Position of its first record in the channel. */
  readonly first: number;
  /** In the order of their positions; without content. */
  readonly records: readonly { readonly id: string; readonly type: string }[];
  /** Undefined if only the archive knows. */
  readonly at: string | undefined;
}

/** Records of one transaction, of any surface, at most. */
const MOST_IN_TRANSACTION = 1000;
/** Ids and types of one statement: a transaction always fits. */
const AT_ONCE = 2 * MOST_IN_TRANSACTION;
const READ_WITHIN_MS = 2000;

interface CommitRow {
  readonly idx: string;
  readonly id: string;
  readonly type: string;
  readonly transaction_id: string;
  readonly at_ms: string | null;
}

/**
 * Whole transactions whose records begin at a position, oldest first: some of them, none if there is none yet. The
 * position must be the beginning of one. Rejects with LedgerUnavailableError or LedgerForbiddenError.
 */
export async function readCommits(sql: Sql, channel: string, from: number): Promise<Commit[]> {
  const text = 'SELECT idx, id, type, transaction_id, at_ms FROM ledger.commits($1, $2, $3)';
  const statement = { name: 'ledger commits', text, values: [channel, from, AT_ONCE] };
  const rows = await readLedger<CommitRow>(sql, statement, READ_WITHIN_MS);
  const commits: { transactionId: string; first: number; records: CommitRow[]; at: string | undefined }[] = [];
  for (const row of rows) {
    const last = commits.at(-1);
    if (last?.transactionId === row.transaction_id) last.records.push(row);
    else
      commits.push({
        transactionId: row.transaction_id,
        first: Number(row.idx),
        records: [row],
        at: row.at_ms === null ? undefined : new Date(Number(row.at_ms)).toISOString(),
      });
  }
  // Visible records are a prefix in whole transactions: only a full page may end within one.
  if (rows.length === AT_ONCE) commits.pop();
  return commits.map(({ records, ...commit }) => ({
    ...commit,
    records: records.map(({ id, type }) => ({ id, type })),
  }));
}
