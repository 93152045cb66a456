import { instantOf } from '@sealgate/json';
import type { Sql } from '@sealgate/storage';
import type { RowScope } from '../domain/caller.ts';
import {
  dayOfEnd,
  EVIDENCE_STATES,
  EXPIRING_BEFORE_MS,
  startOfDayOfEnd,
  type EvidenceState,
} from '../domain/evidence.ts';
import { KIND_OF } from '../domain/kinds.ts';
import type { ListedRows, Place, ResourceReads, Row, RowPage, RowsAsked } from '../domain/resource-ports.ts';
import type { HeatMapCell, RatingChange, Summaries } from '../domain/summaries.ts';
import type { Doc, KindName } from '../domain/resource.ts';
import { coverageTrend } from './coverage-trend.ts';
import { allPlaces, countedPage } from './find-rows.ts';
import { countCondition, prepared, rowCondition } from './row-condition.ts';
import { joinedPrevious, previousOf, scoreChanges, type PreviousColumns } from './score-changes.ts';
import type { Wanted } from './wanted-rows.ts';

interface StoredRow {
  n: number;
  doc: string;
}

/** Reads of stored documents for the dashboard. */
export function resourceReads(sql: Sql): ResourceReads {
  return {
    list: (kind, scope, page) => listRows(sql, { kind, scope, ...page }, page),
    pages: (kind, scope, asked) => allRows(sql, { kind, scope, ...asked }, asked),
    find: (kind, id, scope) => findRow(sql, { kind, id, scope, lock: false }),
    visible: (kind, ids, scope) => visibleIds(sql, { kind, ids, scope }),
  };
}

async function listRows(sql: Sql, wanted: Wanted, page: RowPage): Promise<ListedRows> {
  const { rows, counted } = await countedPage(sql, wanted, page);
  const docs = await rowsAt(sql, wanted, rows);
  return { found: rows.map((place) => ({ place, row: docs.get(place.id) })), counted };
}

async function* allRows(sql: Sql, wanted: Wanted, { sorting }: RowsAsked): AsyncGenerator<Row[]> {
  for await (const places of allPlaces(sql, wanted, sorting)) {
    const docs = await rowsAt(sql, wanted, places);
    yield places.flatMap(({ id }) => docs.get(id) ?? []);
  }
}

/** The rows at these places that the caller still may see. */
async function rowsAt(
  sql: Sql,
  { kind, scope, filters: { worseSince } }: Pick<Wanted, 'kind' | 'scope' | 'filters'>,
  places: readonly Place[],
): Promise<ReadonlyMap<string, Row>> {
  if (places.length === 0) return new Map();
  const values: unknown[] = [kind, places.map(({ id }) => id)];
  const condition = rowCondition('r', scope, values, KIND_OF[kind].rowFiltered);
  const [columns, joined] =
    worseSince === undefined
      ? ['', '']
      : [', p.was_likelihood, p.was_impact, p.at', joinedPrevious(instantOf(worseSince), values)];
  const text = `SELECT r.n, r.doc${columns} FROM risk.resources r ${joined}
    WHERE r.kind = $1 AND r.id = ANY ($2::text[]) AND ${condition}`;
  const stored = await sql.query<StoredRow & PreviousColumns>(prepared(text, values));
  const rows = rowsOf(kind, stored).map((row, index) =>
    worseSince === undefined ? row : { ...row, ...previousOf(stored[index]!) },
  );
  return new Map(rows.map((row) => [row.doc.id, row]));
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

/** The cells of risks other than `all` are `current:4:5`: a rating, its likelihood and its impact. */
const HEAT_MAP = (condition: string) => `
  SELECT c.cell, sum(c.rows)::integer AS count FROM risk.row_counts c
   WHERE c.kind = 'risk' AND c.cell <> 'all' AND ${condition} GROUP BY c.cell ORDER BY c.cell`;

const RATINGS = (counted: string, changed: string) => `
  SELECT NULL::timestamptz AS month, c.cell, sum(c.rows)::integer AS count FROM risk.row_counts c
   WHERE c.kind = 'risk' AND c.cell >= 'current:' AND c.cell < 'current;' AND ${counted} GROUP BY c.cell
  UNION ALL
  SELECT h.month, h.cell, sum(h.delta)::integer FROM risk.rating_changes h
   WHERE h.month >= $1::timestamptz AND ${changed} GROUP BY h.month, h.cell`;

/**
 * The cells of evidence: `state:collected`, and `until:` with a day for approved evidence that ends. Of the days of now
 * and of 30 days later, the rows that end until then are counted one by one; later days, and
 * links, are not read.
 */
const EVIDENCE_CELLS = (counted: string, seen: string) => `
  SELECT CASE WHEN c.cell LIKE 'state:%' THEN substr(c.cell, 7) WHEN c.cell < $1 THEN 'ended' WHEN c.cell = $1 THEN 'today'
              ELSE 'later' END AS state, sum(c.rows)::integer AS count
    FROM risk.row_counts c
   WHERE c.kind = 'evidence' AND c.cell >= 'state:' AND c.cell < $2 AND ${counted} GROUP BY 1
  UNION ALL SELECT 'endedToday', (${ENDED_SINCE('$3', '$4', seen)})
  UNION ALL SELECT 'endingSoon', (${ENDED_SINCE('$5', '$6', seen)})`;

const ENDED_SINCE = (from: string, to: string, seen: string) => `
  SELECT count(*)::integer FROM risk.resources r
   WHERE r.kind = 'evidence' AND r.valid_until > ${from}::timestamptz AND r.valid_until <= ${to}::timestamptz
     AND r.facets @> ARRAY['state:approved'] AND ${seen}`;

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
    async heatMap(scope) {
      const values: unknown[] = [];
      const text = HEAT_MAP(countCondition('c', scope, values));
      const cells = await sql.query<{ cell: string; count: number }>(prepared(text, values));
      return cells.map(({ cell, count }) => {
        const [rated, likelihood, impact] = cell.split(':');
        // As the cells of risks are made.
        return { rated: rated as HeatMapCell['rated'], likelihood: Number(likelihood), impact: Number(impact), count };
      });
    },
    async ratings(scope, since) {
      const values: unknown[] = [since];
      const text = RATINGS(countCondition('c', scope, values), countCondition('h', scope, values));
      const rows = await sql.query<{ month: Date | null; cell: string; count: number }>(prepared(text, values));
      return rows.map(({ month, cell, count }): RatingChange => {
        const [, likelihood, impact] = cell.split(':');
        return { month, likelihood: Number(likelihood), impact: Number(impact), count };
      });
    },
    scoreChanges: (scope, id) => scoreChanges(sql, scope, id),
    coverageTrend: (scope, months) => coverageTrend(sql, scope, months),
    evidenceStates: (scope, nowMs) => evidenceStates(sql, scope, nowMs),
    async framework(orgId, id) {
      const [row] = await sql.query<FrameworkRow>(prepared(FRAMEWORK, [orgId, id]));
      if (row === undefined) return undefined;
      const { created_at: createdAt, requirements, ...named } = row;
      return { ...named, createdAt: createdAt.toISOString(), requirements: requirements ?? [] };
    },
  };
}

async function evidenceStates(sql: Sql, scope: RowScope, nowMs: number): Promise<ReadonlyMap<EvidenceState, number>> {
  const soonMs = nowMs + EXPIRING_BEFORE_MS;
  const values: unknown[] = [`until:${dayOfEnd(nowMs)}`, `until:${dayOfEnd(soonMs)}`];
  values.push(...[startOfDayOfEnd(nowMs), nowMs, startOfDayOfEnd(soonMs), soonMs].map((ms) => new Date(ms)));
  const text = EVIDENCE_CELLS(countCondition('c', scope, values), rowCondition('r', scope, values));
  const rows = await sql.query<{ state: string; count: number }>(prepared(text, values));
  const cells = new Map(rows.map(({ state, count }) => [state, count]));
  const of = (state: string) => cells.get(state) ?? 0;
  const expired = of('ended') + of('endedToday');
  const expiring = of('today') - of('endedToday') + of('later') + of('endingSoon');
  const states = EVIDENCE_STATES.map((state): [EvidenceState, number] => {
    if (state === 'expired') return [state, expired];
    if (state === 'expiring') return [state, expiring];
    return [state, of(state) - (state === 'approved' ? expired + expiring : 0)];
  });
  return new Map(states.filter(([, count]) => count > 0));
}
