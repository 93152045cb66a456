import type { Database } from '@sealgate/storage';
import { SEEN_BY_ALL_KINDS, SNAPSHOT_KEPT_MS } from './partner-snapshots.ts';

/** Extra retention, so that clock skew refuses no promised snapshot. */
const MARGIN_MS = 3_600_000;

/** Upper bound on old revisions kept per organisation. */
const MOST_OLD_REVISIONS = 10_000;

/**
 * Removes what only expired snapshots need. Their changes are summed into the oldest kept revision, so counts stay
 * right.
 *
 * That is the newest expired revision with a change visible to the whole organisation: it replaced every earlier one
 * for every caller. A later revision may have no change that some caller sees, whose own newest revision would then be
 * removed while still current.
 *
 * @returns the number of revisions removed.
 */
export async function removeOldSnapshots(sql: Database, nowMs: number): Promise<number> {
  const before = new Date(nowMs - SNAPSHOT_KEPT_MS - MARGIN_MS);
  const orgs = await sql.query<{ org_id: string; first: string | null }>(
    {
      text: `WITH old AS (SELECT v.org_id, v.revision,
                    EXISTS (SELECT FROM risk.changes c WHERE c.org_id = v.org_id AND c.revision = v.revision
                               AND c.kind = ANY ($2)) AS seen_by_all
               FROM risk.revisions v WHERE v.created_at <= $1)
             SELECT org_id, CASE WHEN count(*) > $3 THEN max(revision)
                                 ELSE max(revision) FILTER (WHERE seen_by_all) END AS first
               FROM old GROUP BY org_id HAVING count(*) > 1`,
      values: [before, SEEN_BY_ALL_KINDS, MOST_OLD_REVISIONS],
    },
    { deadlineMs: WITHIN_MS },
  );
  let removed = 0;
  for (const { org_id: orgId, first } of orgs) if (first !== null) removed += await sumUp(sql, orgId, first);
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
