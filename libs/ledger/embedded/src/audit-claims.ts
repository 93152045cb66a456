import type { Sql } from '@sealgate/storage';
import { readLedger } from './database-problem.ts';

interface ClaimsRow {
  claim_count: string;
  last_claim: Buffer | null;
  bad_claim: Buffer | null;
  bad_id: string | null;
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
  const text = 'SELECT claim_count, last_claim, bad_claim, bad_id FROM ledger.audit_claims_v1($1, $2, $3)';
  let after: Buffer = Buffer.alloc(0);
  for (;;) {
    const [page] = await readLedger<ClaimsRow>(sql, { text, values: [channel, after, PAGE_ROWS] }, deadlineMs);
    const { claim_count: count, last_claim: last, bad_claim: bad, bad_id: recordId } = page!;
    if (bad !== null) {
      return { problem: `claim ${bad.toString('hex')} is not the one its transaction was made of`, recordId };
    }
    if (Number(count) < PAGE_ROWS || last === null) return undefined;
    after = last;
  }
}
