import type { Sql } from '@sealgate/storage';
import { EVIDENCE_STATES, type EvidenceState } from '../domain/evidence.ts';
import { ROLES } from '../domain/permissions.ts';
import type { HeatMapCell, Member, Summaries } from '../domain/summaries.ts';
import { prepared, rowCondition } from './row-condition.ts';

/**
 * Likelihood and impact are one digit each and follow these prefixes in the JSON that `resourceWrites` stores of a
 * risk. No text member can contain a prefix, as its quotes are escaped. A cast to jsonb would refuse U+0000 and costs
 * more.
 */
const HEAT_MAP = (condition: string) => `
  SELECT rated, substr(doc, place, 1)::integer AS likelihood, substr(doc, place + 11, 1)::integer AS impact,
         count(*)::integer AS count
    FROM (SELECT named.rated, r.doc, nullif(strpos(r.doc, named.prefix), 0) + length(named.prefix) AS place
            FROM risk.resources r
           CROSS JOIN (VALUES ('inherent', '"inherent":{"likelihood":'), ('current', '"current":{"likelihood":'),
                              ('residual', '"residual":{"likelihood":')) AS named (rated, prefix)
           WHERE r.kind = 'risk' AND ${condition} AND NOT r.facets && ARRAY['status:closed', 'status:archived']) found
   WHERE place IS NOT NULL GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`;

const EVIDENCE_BY_STATE = (condition: string, now: string) => `
  SELECT CASE WHEN f.facet <> 'state:approved' OR r.valid_until IS NULL THEN substr(f.facet, 7)
              WHEN r.valid_until <= ${now} THEN 'expired'
              WHEN r.valid_until - interval '720 hours' <= ${now} THEN 'expiring'
              ELSE 'approved' END AS state, count(*)::integer AS count
    FROM risk.resources r CROSS JOIN LATERAL unnest(r.facets) f (facet)
   WHERE r.kind = 'evidence' AND f.facet LIKE 'state:%' AND ${condition} GROUP BY 1`;

const FRAMEWORK = `
  SELECT f.framework_id AS id, f.name, f.version, f.created_at,
         (SELECT json_agg(json_build_object('id', r.requirement_id, 'title', r.title) ORDER BY r.coverage_id)
            FROM risk.requirements r WHERE r.framework_id = f.framework_id) AS requirements
    FROM risk.frameworks f WHERE f.org_id = $1 AND f.framework_id = $2`;

const PEOPLE = `
  SELECT person_id AS id, name, kind, roles, unrestricted, departments, can_read_sensitive FROM risk.people
   WHERE org_id = $1 AND removed_at IS NULL AND person_id > $2 ORDER BY person_id LIMIT $3`;

interface FrameworkRow {
  id: string;
  name: string;
  version: string;
  created_at: Date;
  requirements: { id: string; title: string }[] | null;
}

interface PersonRow {
  id: string;
  name: string;
  kind: string;
  roles: string[];
  unrestricted: boolean;
  departments: string[];
  can_read_sensitive: boolean;
}

/** Aggregates and directory reads of the dashboard, from PostgreSQL. */
export function dashboardSummaries(sql: Sql): Summaries {
  return {
    heatMap(scope) {
      const values: unknown[] = [];
      return sql.query<HeatMapCell>(prepared(HEAT_MAP(rowCondition('r', scope, values)), values));
    },
    async evidenceStates(scope, nowMs) {
      const values: unknown[] = [new Date(nowMs)];
      const text = EVIDENCE_BY_STATE(rowCondition('r', scope, values), '$1::timestamptz');
      const rows = await sql.query<{ state: string; count: number }>(prepared(text, values));
      const counts = new Map(rows.map(({ state, count }) => [state, count]));
      return new Map(
        EVIDENCE_STATES.flatMap((state): [EvidenceState, number][] => {
          const count = counts.get(state);
          return count === undefined ? [] : [[state, count]];
        }),
      );
    },
    async framework(orgId, id) {
      const [row] = await sql.query<FrameworkRow>(prepared(FRAMEWORK, [orgId, id]));
      if (row === undefined) return undefined;
      const { created_at: createdAt, requirements, ...named } = row;
      return { ...named, createdAt: createdAt.toISOString(), requirements: requirements ?? [] };
    },
    people: async (orgId, { limit, after }) =>
      (await sql.query<PersonRow>(prepared(PEOPLE, [orgId, after, limit]))).map(memberOf),
  };
}

const memberOf = ({ id, name, kind, roles, unrestricted, departments, can_read_sensitive }: PersonRow): Member => ({
  id,
  name,
  kind: kind === 'machine' ? 'machine' : 'human',
  roles: ROLES.filter((role) => roles.includes(role)),
  scope: { unrestricted, departments, canReadSensitive: can_read_sensitive },
});
