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
 * The functions that are called for each claim of a page keep their plan: PostgreSQL 18 would plan the look at the
 * partitioned table anew for each of them, which was nearly half of the page. The setting ends with the statement.
 */
const TEXT = `
  SELECT a.claim_count, a.last_claim, a.bad_claim, a.bad_id
    FROM (SELECT set_config('plan_cache_mode', 'force_generic_plan', true) AS mode OFFSET 0) s
         CROSS JOIN LATERAL ledger.audit_claims_v1($1, $2, CASE WHEN s.mode IS NOT NULL THEN $3::integer END) a`;

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
    const [page] = await readLedger<ClaimsRow>(sql, { text: TEXT, values: [channel, after, PAGE_ROWS] }, deadlineMs);
    const { claim_count: count, last_claim: last, bad_claim: bad, bad_id: recordId } = page!;
    if (bad !== null) {
      return { problem: `claim ${bad.toString('hex')} is not the one its transaction was made of`, recordId };
    }
    if (Number(count) < PAGE_ROWS || last === null) return undefined;
    after = last;
  }
}
