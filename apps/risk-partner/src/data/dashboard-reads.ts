import { AUDIT_COLUMNS, type AuditRow, type AuditTrail } from '@sealgate/audit';
import type { Sql } from '@sealgate/storage';
import type { RowScope } from '../domain/caller.ts';
import { EVIDENCE_STATES, type EvidenceState } from '../domain/evidence.ts';
import { KIND_OF } from '../domain/kinds.ts';
import type { AuditReads, ResourceReads, Row, RowPage } from '../domain/resource-ports.ts';
import type { HeatMapCell, Summaries } from '../domain/summaries.ts';
import type { Doc, KindName } from '../domain/resource.ts';
import { filterConditions } from './partner-resources.ts';
import { prepared, rowCondition } from './row-condition.ts';

interface StoredRow {
  n: number;
  doc: string;
}

/** Reads of stored documents for the dashboard. */
export function resourceReads(sql: Sql): ResourceReads {
  return {
    list: (kind, scope, page) => listRows(sql, kind, scope, page),
    find: (kind, id, scope) => findRow(sql, { kind, id, scope, lock: false }),
    visible: (kind, ids, scope) => visibleIds(sql, { kind, ids, scope }),
  };
}

async function listRows(
  sql: Sql,
  kind: KindName,
  scope: RowScope,
  { limit, after, filters, nowMs }: RowPage,
): Promise<Row[]> {
  const values: unknown[] = [kind, limit];
  const condition = rowCondition('r', scope, values, KIND_OF[kind].rowFiltered);
  const behind =
    after === undefined
      ? ''
      : `AND (r.created_at, r.id) > ($${values.push(after.createdAt)}::timestamptz, $${values.push(after.id)}::text)`;
  const { ownerId, ...named } = filters;
  const asked = filterConditions(named, values, nowMs);
  if (ownerId !== undefined) asked.push(`r.owner_id = $${values.push(ownerId)}::text`);
  const text = `SELECT r.n, r.doc FROM risk.resources r WHERE ${['r.kind = $1', condition, ...asked].join(' AND ')} ${behind}
    ORDER BY r.created_at, r.id LIMIT $2`;
  return rowsOf(kind, await sql.query<StoredRow>(prepared(text, values)));
}

interface FindQuery {
  readonly kind: KindName;
  readonly id: string;
  readonly scope: RowScope;
  /** Locks the row until the transaction ends. */
  readonly lock: boolean;
}

export async function findRow(sql: Sql, { kind, id, scope, lock }: FindQuery): Promise<Row | undefined> {
  const values: unknown[] = [kind, id];
  const condition = rowCondition('r', scope, values, KIND_OF[kind].rowFiltered);
  const text = `SELECT r.n, r.doc FROM risk.resources r WHERE r.kind = $1 AND r.id = $2 AND ${condition}
    ${lock ? 'FOR UPDATE' : ''}`;
  return rowsOf(kind, await sql.query<StoredRow>(prepared(text, values)))[0];
}

export async function visibleIds(
  sql: Sql,
  { kind, ids, scope }: { kind: KindName; ids: readonly string[]; scope: RowScope },
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const values: unknown[] = [kind, ids];
  const condition = rowCondition('r', scope, values, KIND_OF[kind].rowFiltered);
  const text = `SELECT r.id FROM risk.resources r WHERE r.kind = $1 AND r.id = ANY ($2) AND ${condition}`;
  return new Set((await sql.query<{ id: string }>(prepared(text, values))).map(({ id }) => id));
}

/** Rows of a kind: `resourceWrites` wrote their documents, perhaps before the kind had all its members. */
export const rowsOf = (kind: KindName, rows: readonly StoredRow[]): Row[] =>
  rows.map(({ n, doc }) => ({ n, doc: withUnset(kind, JSON.parse(doc) as Doc & Record<string, unknown>) }));

function withUnset(kind: KindName, doc: Doc & Record<string, unknown>): Doc {
  const { unset } = KIND_OF[kind];
  for (const name in unset) doc[name] ??= unset[name];
  return doc;
}

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

interface FrameworkRow {
  id: string;
  name: string;
  version: string;
  created_at: Date;
  requirements: { id: string; title: string }[] | null;
}

/** Aggregates and frameworks of the dashboard, from PostgreSQL. */
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
  };
}

/** Row-filtered resources; their events are filtered as well. */
const ROW_FILTERED = ['risk', 'evidence', 'asset'];

/**
 * Events of row `a.resource_id` are visible to callers who may see the row as it is now, or as it was when deleted. A
 * row that became sensitive is hidden from its first event on.
 */
function seenNow(scope: RowScope, values: unknown[]): string {
  if (scope.unrestricted && scope.canReadSensitive) return 'true';
  const isRow = 'r.org_id = a.org_id AND r.kind = a.resource AND r.id = a.resource_id';
  return `EXISTS (SELECT FROM risk.resources r WHERE ${isRow} AND ${rowCondition('r', scope, values)})
    OR (NOT EXISTS (SELECT FROM risk.resources r WHERE ${isRow}) AND EXISTS (
      SELECT FROM risk.audit_events d WHERE d.resource = a.resource AND d.resource_id = a.resource_id
         AND d.action = a.resource || '.delete' AND ${rowCondition('d', scope, values)}))`;
}

export function auditEvents(sql: Sql, { read }: Pick<AuditTrail, 'read'>): AuditReads {
  return {
    async list(scope, { limit, before }) {
      const values: unknown[] = [limit, ROW_FILTERED];
      const ofOrg = rowCondition('a', scope, values, false);
      const seen = `(${seenNow(scope, values)})`;
      const older =
        before === undefined
          ? ''
          : `AND (a.at, a.id) < ($${values.push(before.position)}::timestamptz, $${values.push(before.id)}::text)`;
      const text = `SELECT ${AUDIT_COLUMNS} FROM risk.audit_events a
        WHERE ${ofOrg} AND (a.resource <> ALL ($2::text[]) OR ${seen}) ${older}
        ORDER BY a.at DESC, a.id DESC LIMIT $1`;
      const rows = await sql.query<AuditRow>(prepared(text, values));
      return rows.map((row) => {
        const { id, at, actor: actorId, action, resource, resourceId, position, problem } = read(row);
        const event = { id, at: at.toISOString(), actorId, action, resource, resourceId };
        return { event: problem === null ? event : { ...event, problem }, position };
      });
    },
  };
}
