import type { Database } from '@sealgate/storage';
import { SNAPSHOT_KEPT_MS } from './partner-snapshots.ts';

/** Kept a little longer than promised, so that nobody is refused by a clock that is ahead. */
const MARGIN_MS = 3_600_000;

/**
 * Throws away what only expired snapshots need. What changed in them is summed up in the oldest one that is kept, so that
 * counts stay right. Returns how many revisions went.
 */
export async function removeOldSnapshots(sql: Database, nowMs: number): Promise<number> {
  const before = new Date(nowMs - SNAPSHOT_KEPT_MS - MARGIN_MS);
  // The newest revision that was made before then was still the current one: it is the first that is kept.
  const orgs = await sql.query<{ org_id: string; first: string }>({
    text: `SELECT v.org_id, max(v.revision) AS first FROM risk.revisions v WHERE v.created_at <= $1
            GROUP BY v.org_id HAVING count(*) > 1`,
    values: [before],
  });
  let removed = 0;
  for (const { org_id: orgId, first } of orgs) removed += await sumUp(sql, orgId, first);
  return removed;
}

function sumUp(sql: Database, orgId: string, first: string): Promise<number> {
  return sql.transaction(
    async (transaction) => {
      await transaction.query({ text: 'SELECT 1 FROM risk.orgs WHERE org_id = $1 FOR UPDATE', values: [orgId] });
      const values = [orgId, first];
      await transaction.query({
        text: `WITH gone AS (DELETE FROM risk.changes WHERE org_id = $1 AND revision <= $2 RETURNING *)
               INSERT INTO risk.changes (org_id, revision, kind, owner_id, department, sensitive, delta)
               SELECT $1, $2::bigint, kind, owner_id, department, sensitive, sum(delta) FROM gone
                GROUP BY kind, owner_id, department, sensitive HAVING sum(delta) <> 0 OR kind = 'org'`,
        values,
      });
      for (const facts of ['control_facts', 'evidence_facts'])
        await transaction.query({
          text: `DELETE FROM risk.${facts} WHERE org_id = $1 AND to_revision <= $2`,
          values,
        });
      const gone = await transaction.query({
        text: 'DELETE FROM risk.revisions WHERE org_id = $1 AND revision < $2 RETURNING 1',
        values,
      });
      return gone.length;
    },
    { deadlineMs: WITHIN_MS },
  );
}

const WITHIN_MS = 30_000;
