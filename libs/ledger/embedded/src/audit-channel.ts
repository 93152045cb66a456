import { randomInt } from 'node:crypto';
import type { AuditReport } from '@sealgate/ledger-port';
import { auditClaims } from './audit-claims.ts';
import { readLedger } from './database-problem.ts';
import { readHalts } from './halts.ts';
import { Finding, lossText } from './ledger-corrupt-error.ts';
import { checkedCheckpoint, headOf, Walk, type AuditedLog, type AuditOptions } from './walk-log.ts';

interface Counts {
  size: string;
  network: string;
  beyond_head: string | null;
  id_count: string;
  stray_rows: string;
  edited_erasure: string | null;
}

/**
 * Walks a channel from its first record to its head. The database recomputes every content hash and every leaf; the
 * whole tree of each of its logs is built here from the leaves, and held against the stored tiles and the signed checkpoint;
 * then the claims and the indexes beside the logs; last, what is known to be missing at its end.
 * Undefined when there is no such channel.
 */
export async function auditChannel(
  options: AuditOptions,
  channel: string,
  signal?: AbortSignal,
): Promise<AuditReport | undefined> {
  const [counts] = await readLedger<Counts>(
    options.sql,
    { text: 'SELECT * FROM ledger.audit_counts_v1($1)', values: [channel] },
    options.deadlineMs,
  );
  if (counts === undefined) return undefined;
  const logs = await readLedger<AuditedLog>(
    options.sql,
    { text: 'SELECT * FROM ledger.audit_logs_v1($1)', values: [channel] },
    options.deadlineMs,
  );
  const size = Number(counts.size);
  const halts = await readHalts(options.sql, options.deadlineMs);
  const lost = halts
    .filter((halt) => halt.channel === channel && halt.losses !== undefined)
    .map(({ losses, isDeclared }) =>
      isDeclared
        ? 'a loss was declared, and the channel waits for its next epoch'
        : lossText(losses!, headOf(logs.at(-1)!)),
    );
  try {
    const edited = logs.find((log) => log.is_edited);
    if (edited !== undefined) throw new Finding(`the row of ${edited.log} is not what its declaration says`);
    const checked = logs.map((log) => ({ log, checkpoint: checkedCheckpoint(options, log) }));
    // Beside the walk, because it is the database's work while the walk is ours; what the walk finds is told first.
    const beside = checkBeside(options, channel, counts);
    beside.catch(() => undefined);
    for (const { log, checkpoint } of checked) await new Walk(options, channel, log, checkpoint).run(signal);
    await beside;
    // What is there is as it was written; that does not say that it is all.
    return { ok: lost.length === 0, size, firstBadRecordId: null, problem: lost[0] ?? null };
  } catch (error) {
    if (!(error instanceof Finding)) throw error;
    return { ok: false, size, firstBadRecordId: error.recordId, problem: [error.message, ...lost].join('; ') };
  }
}

/** What stands beside the logs: the head, ids, erasures, the index by type, claims. */
async function checkBeside(options: AuditOptions, channel: string, counts: Counts): Promise<void> {
  const { sql, deadlineMs } = options;
  if (counts.beyond_head !== null) {
    const statement = { text: 'SELECT ledger.audit_id_at_v1($1, $2) AS id', values: [channel, counts.beyond_head] };
    const [row] = await readLedger<{ id: string | null }>(sql, statement, deadlineMs);
    throw new Finding(`record ${counts.beyond_head} stands behind the head ${counts.size}`, row?.id ?? null);
  }
  await checkIds(options, channel, counts);
  if (counts.stray_rows !== '0') throw new Finding(`${counts.stray_rows} rows belong to no channel`);
  if (counts.edited_erasure !== null) throw new Finding(`the erasure of record ${counts.edited_erasure} was edited`);
  const typeStatement = { text: 'SELECT ledger.audit_types_v1($1) AS bad', values: [channel] };
  const [types] = await readLedger<{ bad: string | null }>(sql, typeStatement, deadlineMs);
  if (types?.bad != null) throw new Finding(`the index by type disagrees at record ${types.bad}`);
  const claim = await auditClaims(sql, channel, deadlineMs);
  if (claim !== undefined) throw new Finding(claim.problem, claim.recordId);
}

/** Ids beside the log: as many as records, and the same ones for the same indexes. */
async function checkIds({ sql, deadlineMs }: AuditOptions, channel: string, counts: Counts): Promise<void> {
  const statement = { text: 'SELECT idx, id FROM ledger.audit_ids_v1($1, $2)', values: [channel, randomInt(2 ** 47)] };
  const [bad] = await readLedger<{ idx: string; id: string }>(sql, statement, deadlineMs);
  if (bad !== undefined) throw new Finding(`the id of record ${bad.idx} is not entered for it`, bad.id);
  if (counts.id_count !== counts.size)
    throw new Finding(`${counts.id_count} ids are entered for ${counts.size} records`);
}
