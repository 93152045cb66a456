import type { Sql } from '@sealgate/storage';
import type { RowScope } from '../domain/caller.ts';
import type { FrameworkMonth } from '../domain/summaries.ts';
import { countCondition, prepared, rowCondition } from './row-condition.ts';

interface MonthRow {
  id: string;
  name: string;
  version: string;
  month: Date;
  covered: number;
  partial: number;
  gap: number;
  not_applicable: number;
}

/**
 * How many requirements of each framework were in each state at the end of these months, of which the last is now: by the
 * rules of `partnerCoverage`, of controls as they were then, and of evidence by what row filters looked at then. It reads
 * counts for controls and months, and of single rows those that end in the rest of this month.
 */
export async function coverageTrend(
  sql: Sql,
  scope: RowScope,
  { begins, now, next }: { readonly begins: readonly Date[]; readonly now: Date; readonly next: Date },
): Promise<FrameworkMonth[]> {
  const values: unknown[] = [begins, now, next, begins.at(-1)];
  const ofOrg = (alias: string) => rowCondition(alias, scope, values, false);
  const counted = countCondition('e', scope, values);
  const seen = rowCondition('f', scope, values);
  const text = TREND({ ofOrg, counted, seen });
  const rows = await sql.query<MonthRow>(prepared(text, values));
  return rows.map(({ not_applicable: notApplicable, ...row }) => ({ ...row, notApplicable }));
}

/** Parameters: `$1` the months, `$2` now, `$3` the next month, `$4` the last month. */
const TREND = ({
  ofOrg,
  counted,
  seen,
}: {
  readonly ofOrg: (alias: string) => string;
  readonly counted: string;
  readonly seen: string;
}): string => `
  WITH months AS MATERIALIZED (SELECT m.month FROM unnest($1::timestamptz[]) m (month)),
    mapped AS MATERIALIZED (
      SELECT m.month, k.coverage_id, c.control_id, c.applicable
        FROM months m
       CROSS JOIN LATERAL (
         SELECT DISTINCT ON (h.control_id) h.control_id, h.applicable, h.coverage_ids FROM risk.control_changes h
          WHERE ${ofOrg('h')} AND h.month <= m.month ORDER BY h.control_id, h.month DESC) c
       CROSS JOIN LATERAL unnest(c.coverage_ids) k (coverage_id)),
    changed AS MATERIALIZED (
      SELECT e.control_id, e.month, sum(e.delta) AS delta FROM risk.evidence_changes e
       WHERE e.month <= $4::timestamptz AND ${counted} GROUP BY e.control_id, e.month),
    valid AS MATERIALIZED (
      SELECT s.month, s.control_id
        FROM (SELECT m.month, c.control_id, c.delta FROM months m JOIN changed c ON c.month <= m.month
              UNION ALL
              SELECT $4::timestamptz, k.control_id, 1 FROM risk.evidence_facts f CROSS JOIN LATERAL unnest(f.control_ids) k (control_id)
               WHERE f.to_revision IS NULL AND f.approved AND f.valid_until > $2::timestamptz AND f.valid_until < $3::timestamptz
                 AND ${seen}) s
       GROUP BY s.month, s.control_id HAVING sum(s.delta) > 0),
    counted AS (
      SELECT q.framework_id, m.month, count(p.control_id) AS controls,
             count(DISTINCT p.control_id) FILTER (WHERE p.applicable) AS applicable,
             count(DISTINCT p.control_id) FILTER (WHERE p.applicable AND v.control_id IS NOT NULL) AS met
        FROM months m
        JOIN risk.requirements q ON date_trunc('month', q.created_at, 'UTC') <= m.month AND ${ofOrg('q')}
        LEFT JOIN mapped p ON p.month = m.month AND p.coverage_id = q.coverage_id
        LEFT JOIN valid v ON v.month = m.month AND v.control_id = p.control_id
       GROUP BY q.framework_id, q.coverage_id, m.month),
    judged AS (
      SELECT c.framework_id, c.month,
             count(*) FILTER (WHERE c.applicable > 0 AND c.met = c.applicable)::integer AS covered,
             count(*) FILTER (WHERE c.met > 0 AND c.met < c.applicable)::integer AS partial,
             count(*) FILTER (WHERE c.controls = 0 OR (c.applicable > 0 AND c.met = 0))::integer AS gap,
             count(*) FILTER (WHERE c.controls > 0 AND c.applicable = 0)::integer AS not_applicable
        FROM counted c GROUP BY c.framework_id, c.month)
  SELECT w.framework_id AS id, w.name, w.version, m.month, coalesce(j.covered, 0) AS covered, coalesce(j.partial, 0) AS partial,
         coalesce(j.gap, 0) AS gap, coalesce(j.not_applicable, 0) AS not_applicable
    FROM risk.frameworks w CROSS JOIN months m
    LEFT JOIN judged j ON j.framework_id = w.framework_id AND j.month = m.month
   WHERE ${ofOrg('w')} ORDER BY w.created_at, w.framework_id, m.month`;
