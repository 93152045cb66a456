import { randomInt } from 'node:crypto';
import type { AuditReport } from '@sealgate/ledger-port';
import type { Sql } from '@sealgate/storage';
import { readLedger } from '../database-problem.ts';
import { readHalts } from '../halts.ts';
import { Finding, lossText } from '../ledger-corrupt-error.ts';
import { checkedCheckpoint, headOf, Walk, type AuditedLog } from './walk-log.ts';
import type { AuditOptions } from '../archive/audit-archive.ts';

interface Counts {
  size: string;
  beyond_head: string | null;
  stray_rows: string;
  edited_erasure: string | null;
}

/**
 * Audits a channel from its first record to its head. The database recomputes every content hash and every leaf hash;
 * this process builds the tree of each of the channel's logs from the leaves and compares it with the stored tiles and
 * the signed checkpoint. Then it checks claims and indexes, and finally reports known losses.
 * Undefined if there is no such channel.
 */
export async function auditChannel(
  options: AuditOptions,
  channel: string,
  signal?: AbortSignal,
): Promise<AuditReport | undefined> {
  const [counts] = await readLedger<Counts>(
    options.sql,
    { text: 'SELECT * FROM ledger.audit_counts($1)', values: [channel] },
    options.deadlineMs,
  );
  if (counts === undefined) return undefined;
  const logs = await readLedger<AuditedLog>(
    options.sql,
    { text: 'SELECT * FROM ledger.audit_logs($1)', values: [channel] },
    options.deadlineMs,
  );
  const size = Number(counts.size);
  const halts = await readHalts(options.sql, options.deadlineMs);
  const lost = halts
    .filter((halt) => halt.channel === channel && halt.losses !== undefined)
    .map(({ losses, isDeclared }) =>
      isDeclared
        ? 'a loss was declared; the channel waits for its next epoch'
        : lossText(losses!, headOf(logs.at(-1)!)),
    );
  try {
    const edited = logs.find((log) => log.is_edited);
    if (edited !== undefined) throw new Finding(`the row of ${edited.log} is not what its declaration says`);
    const checked = logs.map((log) => ({ log, checkpoint: checkedCheckpoint(options, log) }));
    // Runs concurrently with the walk: this is the database's work, the walk is ours. Findings of the walk take
    // precedence.
    const beside = checkIndexes(options, channel, counts);
    beside.catch(() => undefined);
    for (const { log, checkpoint } of checked) await new Walk(options, channel, log, checkpoint).run(signal);
    await beside;
    // Existing records are intact; that does not mean that none are missing.
    return { ok: lost.length === 0, size, firstBadRecordId: null, problem: lost[0] ?? null };
  } catch (error) {
    if (!(error instanceof Finding)) throw error;
    return { ok: false, size, firstBadRecordId: error.recordId, problem: [error.message, ...lost].join('; ') };
  }
}

/** Checks everything outside the logs: the head, ids, erasures, the index by type, claims. */
async function checkIndexes(options: AuditOptions, channel: string, counts: Counts): Promise<void> {
  const { sql, deadlineMs } = options;
  if (counts.beyond_head !== null) {
    const statement = { text: 'SELECT ledger.audit_id_at($1, $2) AS id', values: [channel, counts.beyond_head] };
    const [row] = await readLedger<{ id: string | null }>(sql, statement, deadlineMs);
    throw new Finding(`record ${counts.beyond_head} is beyond the head ${counts.size}`, row?.id ?? null);
  }
  await checkIds(options, channel, counts);
  if (counts.stray_rows !== '0') throw new Finding(`${counts.stray_rows} rows belong to no channel`);
  if (counts.edited_erasure !== null) throw new Finding(`the erasure of record ${counts.edited_erasure} was edited`);
  const typeStatement = { text: 'SELECT ledger.audit_types($1) AS bad', values: [channel] };
  const [types] = await readLedger<{ bad: string | null }>(sql, typeStatement, deadlineMs);
  if (types?.bad != null) throw new Finding(`the index by type disagrees at record ${types.bad}`);
  const claim = await auditClaims(sql, channel, deadlineMs);
  if (claim !== undefined) throw new Finding(claim.problem, claim.recordId);
}

/** Checks the id index: one id per record, each at the right index. */
async function checkIds({ sql, deadlineMs }: AuditOptions, channel: string, counts: Counts): Promise<void> {
  const statement = { text: 'SELECT * FROM ledger.audit_ids($1, $2)', values: [channel, randomInt(2 ** 47)] };
  const [ids] = await readLedger<{ id_count: string; bad_idx: string | null; bad_id: string | null }>(
    sql,
    statement,
    deadlineMs,
  );
  const { id_count: count, bad_idx: index, bad_id: id } = ids!;
  if (index !== null) throw new Finding(`the id of record ${index} is not indexed for it`, id);
  if (count !== counts.size) throw new Finding(`${count} ids are indexed for ${counts.size} records`);
}

const CLAIMS_PAGE_ROWS = 2000;
/**
 * Forces a generic plan for the functions called for each claim of a page: PostgreSQL 18 would otherwise replan the
 * access to the partitioned table for each call, nearly half of the page's time. The setting ends with the statement.
 */
const CLAIMS_TEXT = `
  SELECT a.claim_count, a.last_claim, a.bad_claim, a.bad_id
    FROM (SELECT set_config('plan_cache_mode', 'force_generic_plan', true) AS mode OFFSET 0) s
         CROSS JOIN LATERAL ledger.audit_claims($1, $2, CASE WHEN s.mode IS NOT NULL THEN $3::integer END) a`;

/**
 * Verifies all claims of a channel: the transaction id of a claim commits to its other columns and to the ids of its
 * records, and the tree commits to the transaction id. Undefined if all claims are intact.
 */
async function auditClaims(
  sql: Sql,
  channel: string,
  deadlineMs: number,
): Promise<{ problem: string; recordId: string | null } | undefined> {
  let after: Buffer = Buffer.alloc(0);
  for (;;) {
    const [page] = await readLedger<{
      claim_count: string;
      last_claim: Buffer | null;
      bad_claim: Buffer | null;
      bad_id: string | null;
    }>(sql, { text: CLAIMS_TEXT, values: [channel, after, CLAIMS_PAGE_ROWS] }, deadlineMs);
    const { claim_count: count, last_claim: last, bad_claim: bad, bad_id: recordId } = page!;
    if (bad !== null) {
      return { problem: `claim ${bad.toString('hex')} does not match its transaction id`, recordId };
    }
    if (Number(count) < CLAIMS_PAGE_ROWS || last === null) return undefined;
    after = last;
  }
}
