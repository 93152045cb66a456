import { openDatabase } from '@sealgate/storage';

/** When a rating was changed: by the id of the risk, and the version that the change made. */
export interface RatingChange {
  readonly id: string;
  readonly version: number;
  readonly at: string;
}

interface Ageing {
  /** Of the run-time role of the surface. */
  readonly databaseUrl: string;
  readonly orgId: string;
  readonly changes: readonly RatingChange[];
}

/**
 * Moves the risks of the demo into the past: each was made when it was identified, and rated anew when `changes` say. No
 * API writes other times than its own. The audit keeps the times of the start.
 */
export async function ageRisks({ databaseUrl, orgId, changes }: Ageing): Promise<void> {
  const database = openDatabase({
    url: databaseUrl,
    applicationName: 'sealgate-start',
    maxConnections: 1,
    connectTimeoutMs: 10_000,
    deadlineMs: 30_000,
  });
  try {
    await database.transaction(async (sql) => {
      await sql.query({ text: MOVE_CHANGES, values: [orgId, JSON.stringify(changes)] });
      for (const text of [MOVE_RISKS, FORGET_MONTHS, COUNT_MONTHS]) await sql.query({ text, values: [orgId] });
    });
  } finally {
    await database.close();
  }
}

const MOVE_CHANGES = `
  UPDATE risk.score_changes c SET at = m.at
    FROM jsonb_to_recordset($2::jsonb) m (id text, version integer, at timestamptz)
   WHERE c.org_id = $1 AND c.risk_id = m.id AND c.version = m.version`;

const timeText = (time: string): string => `to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** A JSON text with these times. */
const retimed = (column: string): string =>
  `replace(replace(r.${column}, '"createdAt":"' || t.created || '"', '"createdAt":"' || ${timeText('t.made_at')} || '"'),
           '"updatedAt":"' || t.updated || '"', '"updatedAt":"' || ${timeText('t.changed_at')} || '"')`;

const MOVE_RISKS = `
  UPDATE risk.resources r
     SET created_at = t.made_at, updated_at = t.changed_at, lower_until = t.lower_until,
         doc = ${retimed('doc')}, item = ${retimed('item')}
    FROM (SELECT d.*, greatest(d.made_at, s.changed_at) AS changed_at, s.lower_until
            FROM (SELECT id, score, doc::json ->> 'createdAt' AS created, doc::json ->> 'updatedAt' AS updated,
                         (doc::json ->> 'identifiedAt')::timestamptz AS made_at
                    FROM risk.resources WHERE org_id = $1 AND kind = 'risk') d
            CROSS JOIN LATERAL (
              SELECT max(c.at) AS changed_at, max(c.at) FILTER (WHERE c.was_likelihood * c.was_impact < d.score) AS lower_until
                FROM risk.score_changes c WHERE c.org_id = $1 AND c.risk_id = d.id) s) t
   WHERE r.org_id = $1 AND r.kind = 'risk' AND r.id = t.id`;

const FORGET_MONTHS = 'DELETE FROM risk.rating_changes WHERE org_id = $1';

/** As triggers would have counted open risks. */
const COUNT_MONTHS = `
  WITH risks AS (
    SELECT r.id, r.owner_id, coalesce(r.department, '') AS department, r.sensitive, r.created_at, f.cell
      FROM risk.resources r JOIN LATERAL unnest(r.counted) f (cell) ON f.cell LIKE 'current:%'
     WHERE r.org_id = $1 AND r.kind = 'risk'),
  changes AS (
    SELECT c.risk_id, c.at, c.version, 'current:' || c.was_likelihood || ':' || c.was_impact AS was,
           'current:' || c.likelihood || ':' || c.impact AS cell
      FROM risk.score_changes c WHERE c.org_id = $1),
  moves AS (
    SELECT r.id, r.created_at AS at, 1 AS delta,
           coalesce((SELECT c.was FROM changes c WHERE c.risk_id = r.id ORDER BY c.at, c.version LIMIT 1), r.cell) AS cell
      FROM risks r
    UNION ALL SELECT risk_id, at, -1, was FROM changes
    UNION ALL SELECT risk_id, at, 1, cell FROM changes)
  INSERT INTO risk.rating_changes (org_id, owner_id, month, cell, department, sensitive, delta)
  SELECT $1, o.owner, date_trunc('month', m.at, 'UTC'), m.cell, r.department, r.sensitive, sum(m.delta)
    FROM moves m JOIN risks r USING (id) CROSS JOIN LATERAL (VALUES (''), (r.owner_id)) o (owner)
   GROUP BY 2, 3, 4, 5, 6 HAVING sum(m.delta) <> 0`;
