import type { Sql } from '@sealgate/storage';
import { readLedger } from './database-problem.ts';
import { transactionIdOf } from './transaction-id.ts';

interface ClaimRow {
  claim: Buffer;
  fingerprint: string;
  transaction_id: Buffer;
  nonce: Buffer;
  note: string;
  record_count: number;
  ids: string[] | null;
}

const PAGE_ROWS = 2000;

/**
 * Every claim's transaction id commits to its other columns and to the ids of its records; the tree vouches for the
 * transaction id. Undefined when all claims of the channel are as they were made.
 */
export async function auditClaims(
  sql: Sql,
  channel: string,
  deadlineMs: number,
): Promise<{ problem: string; recordId: string | null } | undefined> {
  let after: Buffer = Buffer.alloc(0);
  for (;;) {
    const rows = await readLedger<ClaimRow>(
      sql,
      {
        name: 'ledger audit claims',
        text: 'SELECT * FROM ledger.audit_claims_v1($1, $2, $3)',
        values: [channel, after, PAGE_ROWS],
      },
      deadlineMs,
    );
    for (const row of rows) {
      const ids = row.ids ?? [];
      const { nonce, claim, fingerprint, note } = row;
      const expected = transactionIdOf({ nonce, claim, fingerprint, channel, note, recordIds: ids });
      if (ids.length !== row.record_count || !expected.equals(row.transaction_id)) {
        return {
          problem: `claim ${claim.toString('hex')} is not the one its transaction was made of`,
          recordId: ids[0] ?? null,
        };
      }
    }
    if (rows.length < PAGE_ROWS) return undefined;
    after = rows.at(-1)!.claim;
  }
}
