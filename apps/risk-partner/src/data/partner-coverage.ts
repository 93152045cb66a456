import assert from 'node:assert/strict';
import { canonical } from '@sealgate/json';
import type { Sql } from '@sealgate/storage';
import type { RowScope } from '../domain/caller.ts';
import { withoutPersonalData } from '../domain/partner-item.ts';
import type { PartnerItem, PartnerQuery, PartnerSource } from '../domain/read-partner.ts';
import type { Position } from '../domain/resource-ports.ts';
import { evidenceCondition, holdsAt } from './coverage-facts.ts';
import type { PartnerSourceOptions } from './partner-resources.ts';
import { prepared, rowCondition } from './row-condition.ts';

interface CoverageRow {
  id: string;
  framework_id: string;
  requirement_id: string;
  title: string;
  created_at: Date;
  control_ids: string[];
  evidence_ids: string[];
  fresh_at: Date | null;
  state: string;
}

interface CoverageQuery extends PartnerQuery {
  readonly limit: number;
  readonly after?: Position | undefined;
  readonly id?: string;
}

/**
 * The state of each requirement at a revision: `covered` if every applicable control has valid evidence that the caller
 * may see, `partial` if some have, `not_applicable` if none of its controls applies, else `gap`. Evidence is valid if
 * it is approved and not expired at the time of the revision. Expiry makes a revision of its own, so a revision always
 * reads the same.
 */
export function partnerCoverage({ sql, onMasked }: PartnerSourceOptions): PartnerSource {
  const read = async (scope: RowScope, query: CoverageQuery): Promise<PartnerItem[]> =>
    (await readCoverage(sql, scope, query)).map((row) => {
      const item = itemOf(row);
      return { ...item, text: withoutPersonalData('coverage', item.text, onMasked) };
    });
  return {
    list: read,
    find: async (scope, id, query) => (await read(scope, { ...query, id, filters: {}, limit: 1 }))[0],
  };
}

/** How many requirements are judged at a time to find those in a state. */
const JUDGED_AT_ONCE = 200;

/** The state of a requirement is known once it was judged, so requirements are judged until the page is full. */
async function readCoverage(sql: Sql, scope: RowScope, query: CoverageQuery): Promise<CoverageRow[]> {
  const { state } = query.filters;
  const { limit } = query;
  if (state === undefined) return judged(sql, scope, query);
  const found: CoverageRow[] = [];
  let { after } = query;
  for (;;) {
    const rows = await judged(sql, scope, { ...query, after, limit: JUDGED_AT_ONCE });
    found.push(...rows.filter((row) => row.state === state));
    const last = rows.at(-1);
    if (found.length >= limit || last === undefined || rows.length < JUDGED_AT_ONCE) return found.slice(0, limit);
    after = { createdAt: last.created_at.toISOString(), id: last.id };
  }
}

async function judged(sql: Sql, scope: RowScope, query: CoverageQuery): Promise<CoverageRow[]> {
  const { revision, filters, limit, after, id } = query;
  assert(revision !== undefined, 'Coverage is read at a revision.');
  const values: unknown[] = [revision];
  const seen = evidenceCondition('e', scope, values);
  const ofOrg = (alias: string) => rowCondition(alias, scope, values, false);
  const conditions: string[] = [];
  const addCondition = (condition: (parameter: string) => string, value: unknown) =>
    value === undefined || conditions.push(`AND ${condition(`$${values.push(value)}`)}`);
  addCondition((parameter) => `q.coverage_id = ${parameter}`, id);
  addCondition((parameter) => `q.framework_id = ${parameter}`, filters['framework']);
  if (after !== undefined)
    conditions.push(
      `AND (q.created_at, q.coverage_id) > ($${values.push(after.createdAt)}::timestamptz, $${values.push(after.id)}::text)`,
    );
  const page = `${conditions.join(' ')} ORDER BY q.created_at, q.coverage_id LIMIT $${values.push(limit)}`;
  return sql.query<CoverageRow>(prepared(coverageText({ seen, ofOrg, page }), values));
}

/** Parameter `$1` is the revision. */
function coverageText({
  seen,
  ofOrg,
  page,
}: {
  readonly seen: string;
  readonly ofOrg: (alias: string) => string;
  readonly page: string;
}): string {
  return `WITH moment AS (SELECT v.created_at AS at FROM risk.revisions v WHERE v.revision = $1 AND ${ofOrg('v')}),
    wanted AS MATERIALIZED (
      SELECT q.coverage_id, q.framework_id, q.requirement_id, q.title, q.created_at
        FROM risk.requirements q WHERE q.from_revision <= $1 AND ${ofOrg('q')} ${page}),
    mapped AS MATERIALIZED (
      SELECT k.coverage_id, c.control_id, c.applicable
        FROM risk.control_facts c CROSS JOIN LATERAL unnest(c.coverage_ids) k (coverage_id)
       WHERE c.coverage_ids && (SELECT array_agg(w.coverage_id::text) FROM wanted w) AND ${holdsAt('c')} AND ${ofOrg('c')}),
    evidenced AS MATERIALIZED (
      SELECT k.control_id, e.evidence_id, e.fresh_at
        FROM moment, risk.evidence_facts e CROSS JOIN LATERAL unnest(e.control_ids) k (control_id)
       WHERE e.control_ids && (SELECT array_agg(m.control_id::text) FROM mapped m)
         AND ${seen} AND e.approved AND (e.valid_until IS NULL OR e.valid_until > moment.at)),
    counted AS (
      SELECT q.coverage_id AS id, q.framework_id, q.requirement_id, q.title, q.created_at,
             coalesce(array_agg(DISTINCT m.control_id) FILTER (WHERE m.control_id IS NOT NULL), '{}') AS control_ids,
             coalesce(array_agg(DISTINCT v.evidence_id) FILTER (WHERE m.applicable AND v.evidence_id IS NOT NULL), '{}')
               AS evidence_ids,
             max(v.fresh_at) FILTER (WHERE m.applicable) AS fresh_at,
             count(m.control_id) AS controls,
             count(DISTINCT m.control_id) FILTER (WHERE m.applicable) AS applicable,
             count(DISTINCT m.control_id) FILTER (WHERE m.applicable AND v.evidence_id IS NOT NULL) AS met
        FROM wanted q
        LEFT JOIN mapped m ON m.coverage_id = q.coverage_id
        LEFT JOIN evidenced v ON v.control_id = m.control_id
       GROUP BY q.coverage_id, q.framework_id, q.requirement_id, q.title, q.created_at)
    SELECT id, framework_id, requirement_id, title, created_at, control_ids, evidence_ids, fresh_at,
           CASE WHEN controls = 0 THEN 'gap' WHEN applicable = 0 THEN 'not_applicable'
                WHEN met = applicable THEN 'covered' WHEN met > 0 THEN 'partial' ELSE 'gap' END AS state
      FROM counted ORDER BY created_at, id`;
}

function itemOf(row: CoverageRow): PartnerItem {
  return {
    id: row.id,
    createdAt: row.created_at.toISOString(),
    text: canonical({
      id: row.id,
      frameworkId: row.framework_id,
      requirementId: row.requirement_id,
      requirementTitle: row.title,
      state: row.state,
      controlIds: row.control_ids,
      evidenceIds: row.evidence_ids,
      freshestEvidenceAt: row.fresh_at?.toISOString() ?? null,
    }),
  };
}
