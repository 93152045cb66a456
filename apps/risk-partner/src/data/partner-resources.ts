import type { Sql } from '@sealgate/storage';
import type { RowScope } from '../domain/caller.ts';
import { KIND_OF } from '../domain/kinds.ts';
import { withEvidenceCount, withoutPersonalData, withStateAt, type OnMasked } from '../domain/partner-item.ts';
import type { PartnerItem, PartnerSource } from '../domain/read-partner.ts';
import type { KindName } from '../domain/resource.ts';
import { prepared } from './prepared.ts';
import { rowCondition } from './row-condition.ts';

export interface PartnerSourceOptions {
  readonly sql: Sql;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly onMasked: OnMasked;
}

interface ItemRow {
  id: string;
  created_at: Date;
  item: string;
}

/** What a filter is called in `facets`, where it is not called by its own name. */
const FACET_OF: Readonly<Record<string, string>> = { controlId: 'link' };

/** Items of one kind of resource: an index range scan over texts made when they were written. */
export function partnerResources(kind: KindName, options: PartnerSourceOptions): PartnerSource {
  const { sql } = options;
  const read = async (scope: RowScope, more: (values: unknown[]) => string): Promise<PartnerItem[]> => {
    const values: unknown[] = [kind];
    const condition = rowCondition('r', scope, values, KIND_OF[kind].rowFiltered);
    const text = `SELECT r.id, r.created_at, r.item FROM risk.resources r WHERE r.kind = $1 AND ${condition} ${more(values)}`;
    return shown(kind, await sql.query<ItemRow>(prepared(text, values)), { ...options, scope });
  };
  return {
    list: (scope, { filters, limit, after }) =>
      read(scope, (values) => {
        const conditions = filterConditions(filters, values, options.now());
        if (after !== undefined)
          conditions.push(
            `(r.created_at, r.id) > ($${values.push(after.createdAt)}::timestamptz, $${values.push(after.id)}::text)`,
          );
        const where = conditions.map((condition) => `AND ${condition}`).join(' ');
        return `${where} ORDER BY r.created_at, r.id LIMIT $${values.push(limit)}`;
      }),
    find: async (scope, id) => (await read(scope, (values) => `AND r.id = $${values.push(id)}`))[0],
  };
}

function filterConditions(filters: Readonly<Record<string, string>>, values: unknown[], nowMs: number): string[] {
  const { updatedSince, state, ...facets } = filters;
  const wanted = Object.entries(facets).map(([name, value]) => `${FACET_OF[name] ?? name}:${value}`);
  const conditions: string[] = [];
  if (updatedSince !== undefined) conditions.push(`r.updated_at >= $${values.push(updatedSince)}::timestamptz`);
  if (state !== undefined) {
    const isApproved = state === 'expiring' || state === 'expired';
    wanted.push(`state:${isApproved ? 'approved' : state}`);
    const validity = VALIDITY[state];
    if (validity !== undefined) conditions.push(validity(`$${values.push(new Date(nowMs))}::timestamptz`));
  }
  if (wanted.length > 0) conditions.push(`r.facets @> $${values.push(wanted)}::text[]`);
  return conditions;
}

/** Approved, expiring and expired are one stored state at different moments. Hours, as days would follow the session's time zone. */
const VALIDITY: Readonly<Record<string, (now: string) => string>> = {
  approved: (now) => `(r.valid_until IS NULL OR r.valid_until - interval '720 hours' > ${now})`,
  expiring: (now) => `r.valid_until - interval '720 hours' <= ${now} AND r.valid_until > ${now}`,
  expired: (now) => `r.valid_until <= ${now}`,
};

async function shown(
  kind: KindName,
  rows: readonly ItemRow[],
  { sql, now, onMasked, scope }: PartnerSourceOptions & { readonly scope: RowScope },
): Promise<PartnerItem[]> {
  const counts = kind === 'control' ? await evidenceCounts(sql, scope, rows) : undefined;
  const nowMs = now();
  return rows.map(({ id, created_at: createdAt, item }) => {
    const fresh = kind === 'evidence' ? withStateAt(item, nowMs) : item;
    const counted = counts === undefined ? fresh : withEvidenceCount(fresh, counts.get(id) ?? 0);
    const text = withoutPersonalData(KIND_OF[kind].collection, counted, onMasked);
    return { id, createdAt: createdAt.toISOString(), text };
  });
}

/** How much evidence names each control, of what the caller may see. */
async function evidenceCounts(sql: Sql, scope: RowScope, controls: readonly ItemRow[]): Promise<Map<string, number>> {
  const links = controls.map(({ id }) => `link:${id}`);
  if (links.length === 0) return new Map();
  const values: unknown[] = [links];
  const condition = rowCondition('r', scope, values);
  const text = `SELECT f.facet, count(*)::integer AS count
      FROM risk.resources r CROSS JOIN LATERAL unnest(r.facets) f (facet)
     WHERE r.kind = 'evidence' AND r.facets && $1::text[] AND f.facet = ANY ($1) AND ${condition} GROUP BY f.facet`;
  const rows = await sql.query<{ facet: string; count: number }>(prepared(text, values));
  return new Map(rows.map(({ facet, count }) => [facet.slice('link:'.length), count]));
}
