import assert from 'node:assert/strict';
import { allPages, isFound } from '@sealgate/paging';
import type { Sql } from '@sealgate/storage';
import type { RowScope } from '../domain/caller.ts';
import { KIND_OF } from '../domain/kinds.ts';
import { withoutPersonalData } from '../domain/partner-item.ts';
import type { Cursors, PartnerItem, PartnerPorts, PartnerSource } from '../domain/read-partner.ts';
import type { Position } from '../domain/resource-ports.ts';
import { KINDS } from '../domain/resource.ts';
import { evidenceCondition } from './coverage-facts.ts';
import { visibleIds } from './dashboard-reads.ts';
import { partnerCoverage } from './partner-coverage.ts';
import { partnerResources, type PartnerSourceOptions } from './partner-resources.ts';
import { partnerSnapshots, snapshotReads } from './partner-snapshots.ts';
import { prepared, rowCondition } from './row-condition.ts';

/** The source of each collection of the partner catalogue. */
export function partnerPorts({
  cursors,
  look,
  ...options
}: PartnerSourceOptions & {
  /** Reads lists; `sql` reads one row by its id. */
  readonly look: Sql;
  readonly cursors: Cursors;
}): PartnerPorts {
  const looking = { ...options, sql: look };
  const resources = KINDS.map((kind): [string, PartnerSource] => [
    KIND_OF[kind].collection,
    { ...partnerResources(kind, looking), find: partnerResources(kind, options).find },
  ]);
  const sources = {
    ...Object.fromEntries(resources),
    frameworks: partnerFrameworks(looking),
    coverage: partnerCoverage(looking),
    proofs: partnerProofs(look),
    snapshots: partnerSnapshots(look),
  };
  return { sources, snapshots: snapshotReads(look), rows: partnerRows(look), cursors };
}

/** Looks rows up for callers who name one. */
function partnerRows(sql: Sql): PartnerPorts['rows'] {
  return {
    async isVisible(scope, kind, id) {
      if (kind !== 'framework') return (await visibleIds(sql, { kind, ids: [id], scope })).size > 0;
      const values: unknown[] = [id];
      const text = `SELECT 1 FROM risk.frameworks f WHERE f.framework_id = $1 AND ${rowCondition('f', scope, values, false)}`;
      return (await sql.query(prepared(text, values))).length > 0;
    },
    async idsByRef(scope, kind, refId, limit) {
      const values: unknown[] = [kind, refId, limit];
      const condition = rowCondition('r', scope, values, KIND_OF[kind].rowFiltered);
      // Condition and expression of an index.
      const text = `SELECT r.id FROM risk.resources r
         WHERE r.kind = $1 AND r.kind IN ('risk', 'asset', 'control') AND (r.item::json -> 'refId') #>> '{}' = $2 AND ${condition} ORDER BY r.id LIMIT $3`;
      return (await sql.query<{ id: string }>(prepared(text, values))).map(({ id }) => id);
    },
  };
}

interface StoredItem {
  id: string;
  created_at: Date;
  item: string;
}

/** The part of a statement that narrows it to a page or to one row; appends its parameters. */
type Narrowing = (values: unknown[]) => string;

/** Frameworks; the whole organisation sees all of them. */
function partnerFrameworks({ sql, onMasked }: PartnerSourceOptions): PartnerSource {
  const read = async (scope: RowScope, narrowing: Narrowing): Promise<PartnerItem[]> => {
    const values: unknown[] = [];
    const condition = rowCondition('f', scope, values, false);
    const text = `SELECT f.framework_id AS id, f.created_at, f.item FROM risk.frameworks f
       WHERE ${condition} ${narrowing(values)}`;
    const rows = await sql.query<StoredItem>(prepared(text, values));
    return rows.map((row) => ({ ...itemOf(row), text: withoutPersonalData('frameworks', row.item, onMasked) }));
  };
  return {
    async list(scope, query) {
      const { q, limit } = query;
      if (q === undefined) return read(scope, pageBy('f.created_at, f.framework_id', query));
      const found: PartnerItem[] = [];
      // An organisation has few frameworks; they are compared as they are shown.
      for await (const items of allPages(
        (page: { readonly limit: number; readonly after: Position | undefined }) =>
          read(scope, pageBy('f.created_at, f.framework_id', { ...page, after: page.after ?? query.after })),
        ({ createdAt, id }: PartnerItem): Position => ({ createdAt, id }),
      )) {
        found.push(...items.filter(({ id, text }) => isFound(q, [id, nameIn(text)])));
        if (found.length >= limit) break;
      }
      return found.slice(0, limit);
    },
    find: async (scope, id) => (await read(scope, (values) => `AND f.framework_id = $${values.push(id)}`))[0],
  };
}

const nameIn = (item: string): string | null => (JSON.parse(item) as { readonly name: string | null }).name;

/** Proofs. A caller sees those of evidence that they may see, both as it was at the revision and as it is now. */
function partnerProofs(sql: Sql): PartnerSource {
  const read = async (scope: RowScope, revision: number | undefined, narrowing: Narrowing): Promise<PartnerItem[]> => {
    assert(revision !== undefined, 'Proofs are read at a revision.');
    const values: unknown[] = [revision];
    const condition = evidenceCondition('e', scope, values);
    const text = `SELECT p.proof_id AS id, p.created_at, p.item
        FROM risk.proofs p
        JOIN risk.evidence_facts e ON e.org_id = p.org_id AND e.evidence_id = p.evidence_id
       WHERE p.from_revision <= $1 AND ${condition} ${narrowing(values)}`;
    return (await sql.query<StoredItem>(prepared(text, values))).map(itemOf);
  };
  return {
    // The filter `subjectType` takes no value but `evidence`, so there is nothing to filter by.
    list: (scope, query) =>
      read(scope, query.revision, (values) => {
        const { subjectId } = query.filters;
        const ofSubject = subjectId === undefined ? '' : `AND p.evidence_id = $${values.push(subjectId)}::text`;
        return `${ofSubject} ${pageBy('p.created_at, p.proof_id', query)(values)}`;
      }),
    find: async (scope, id, { revision }) =>
      (await read(scope, revision, (values) => `AND p.proof_id = $${values.push(id)}`))[0],
  };
}

/** Keyset pagination: `columns` are the time and the id that rows are ordered by. */
const pageBy =
  (columns: string, { limit, after }: { readonly limit: number; readonly after: Position | undefined }): Narrowing =>
  (values) => {
    const behind =
      after === undefined
        ? ''
        : `AND (${columns}) > ($${values.push(after.createdAt)}::timestamptz, $${values.push(after.id)}::text)`;
    return `${behind} ORDER BY ${columns} LIMIT $${values.push(limit)}`;
  };

const itemOf = ({ id, created_at: createdAt, item }: StoredItem): PartnerItem => ({
  id,
  createdAt: createdAt.toISOString(),
  text: item,
});
