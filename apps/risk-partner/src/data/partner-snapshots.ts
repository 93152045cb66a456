import assert from 'node:assert/strict';
import { canonical } from '@sealgate/json';
import type { Database, Sql } from '@sealgate/storage';
import type { RowScope } from '../domain/caller.ts';
import {
  revisionOf,
  snapshotIdOf,
  type PartnerItem,
  type PartnerSource,
  type SnapshotReads,
} from '../domain/read-partner.ts';
import { countCondition, prepared, rowCondition } from './row-condition.ts';

/** How long a revision can be read after the next one replaced it. */
const SNAPSHOT_RETENTION_MS = 86_400_000;

/** The collections of `rowCounts` and the kind of change that each counts. */
const COUNTED = {
  assets: 'asset',
  risks: 'risk',
  evidence: 'evidence',
  controls: 'control',
  policies: 'policy',
  frameworks: 'framework',
  coverage: 'coverage',
  proofs: 'proof',
} as const;

/** Kinds that are visible to the whole organisation. */
const SEEN_BY_ALL_KINDS = ['org', 'control', 'policy', 'framework', 'coverage'];

interface ListedRow {
  revision: string;
  created_at: Date;
  ended_at: Date | null;
}

/** At most so many revisions after this one. */
interface Wanted {
  readonly after: number;
  readonly limit: number;
}

/** Changes that the caller may see, by the row's attributes when the change was made. */
function changeCondition(alias: string, scope: RowScope, values: unknown[]): string {
  const ofOrg = rowCondition(alias, scope, values, false);
  const kinds = `$${values.push(SEEN_BY_ALL_KINDS)}::text[]`;
  return `${ofOrg} AND (${alias}.kind = ANY (${kinds}) OR (${rowCondition(alias, scope, values)}))`;
}

/**
 * The newest revision of the organisation. Evidence that expired since the last one becomes revisions first, so this
 * must be called before reading which revisions exist or which is the newest.
 */
async function currentRevision(sql: Sql, orgId: string, nowMs: number): Promise<string> {
  const [current] = await sql.query<{ revision: string }>({
    text: 'SELECT risk.current_revision($1, $2) AS revision',
    values: [orgId, new Date(nowMs)],
  });
  assert(current !== undefined, 'A function returns one row.');
  return current.revision;
}

/** The revisions that a caller may know of. */
export function snapshotReads(sql: Sql): SnapshotReads {
  return {
    async newest(scope, nowMs) {
      const values: unknown[] = [await currentRevision(sql, scope.orgId, nowMs)];
      const text = `SELECT c.revision FROM risk.changes c
        WHERE c.revision <= $1 AND ${changeCondition('c', scope, values)} ORDER BY c.revision DESC LIMIT 1`;
      const [row] = await sql.query<{ revision: string }>(prepared(text, values));
      assert(row !== undefined, 'The creation of an organisation is visible to all its members.');
      return Number(row.revision);
    },
    async state(scope, revision, nowMs) {
      await currentRevision(sql, scope.orgId, nowMs);
      const ended = await endOf(sql, scope, revision);
      if (ended !== undefined) return isLive(ended, nowMs) ? 'live' : 'expired';
      const text = 'SELECT min(revision) AS first FROM risk.revisions WHERE org_id = $1';
      const [kept] = await sql.query<{ first: string | null }>({ text, values: [scope.orgId] });
      // Older revisions have been removed; whether the caller saw a change in this one is no longer known.
      return revision > 0 && revision < Number(kept?.first ?? 0) ? 'expired' : 'unknown';
    },
  };
}

/** The readable snapshots, with counts of the rows that the caller may see. */
export function partnerSnapshots(sql: Sql): PartnerSource {
  const read = async (scope: RowScope, nowMs: number, wanted: Wanted): Promise<PartnerItem[]> => {
    await currentRevision(sql, scope.orgId, nowMs);
    return withCounts(sql, scope, await listed(sql, scope, { ...wanted, nowMs }));
  };
  return {
    list: (scope, { limit, after, nowMs }) =>
      read(scope, nowMs, { after: after === undefined ? 0 : (revisionOf(after.id) ?? 0), limit }),
    async find(scope, id, { nowMs }) {
      const revision = revisionOf(id);
      if (revision === undefined) return undefined;
      const [item] = await read(scope, nowMs, { after: revision - 1, limit: 1 });
      return item?.id === id ? item : undefined;
    },
  };
}

/** When the next visible revision replaced this one; undefined if the caller does not know this revision. */
async function endOf(sql: Sql, scope: RowScope, revision: number): Promise<Pick<ListedRow, 'ended_at'> | undefined> {
  const values: unknown[] = [revision];
  const seen = changeCondition('c', scope, values);
  const ofOrg = rowCondition('v', scope, values, false);
  const text = `SELECT (SELECT n.created_at FROM risk.revisions n
             WHERE n.org_id = v.org_id AND n.revision = (SELECT c.revision FROM risk.changes c WHERE c.revision > $1 AND ${seen}
                                                          ORDER BY c.revision LIMIT 1)) AS ended_at
        FROM risk.revisions v
       WHERE v.revision = $1 AND ${ofOrg} AND EXISTS (SELECT FROM risk.changes c WHERE c.revision = $1 AND ${seen})`;
  const [row] = await sql.query<Pick<ListedRow, 'ended_at'>>(prepared(text, values));
  return row;
}

const isLive = ({ ended_at: endedAt }: Pick<ListedRow, 'ended_at'>, nowMs: number): boolean =>
  endedAt === null || endedAt.getTime() + SNAPSHOT_RETENTION_MS > nowMs;

/**
 * The live revisions that the caller may know of, each with the time at which the next one replaced it. They are walked in
 * their order, in which times never decrease: from the last one that was replaced in time, one more than wanted.
 */
async function listed(
  sql: Sql,
  scope: RowScope,
  { after, limit, nowMs }: Wanted & { readonly nowMs: number },
): Promise<ListedRow[]> {
  const values: unknown[] = [after, limit + 1, new Date(nowMs - SNAPSHOT_RETENTION_MS)];
  const ofOrg = rowCondition('v', scope, values, false);
  // A scalar, so that it is asked of one revision after the other.
  const isKnown = `(SELECT true FROM risk.changes c
                     WHERE c.revision = v.revision AND ${changeCondition('c', scope, values)} LIMIT 1)`;
  const text = `WITH recent AS (
      SELECT v.revision FROM risk.revisions v WHERE ${ofOrg} AND v.created_at > $3 ORDER BY v.revision LIMIT 1),
    oldest AS (
      SELECT v.revision FROM risk.revisions v
       WHERE ${ofOrg} AND ${isKnown}
         AND v.revision < coalesce((SELECT revision FROM recent), 9223372036854775807)
       ORDER BY v.revision DESC LIMIT 1)
    SELECT v.revision, v.created_at FROM risk.revisions v
     WHERE ${ofOrg} AND ${isKnown} AND v.revision > $1::bigint AND v.revision >= coalesce((SELECT revision FROM oldest), 0)
     ORDER BY v.revision LIMIT $2`;
  const rows = await sql.query<Omit<ListedRow, 'ended_at'>>(prepared(text, values));
  return rows.slice(0, limit).map((row, at) => ({ ...row, ended_at: rows[at + 1]?.created_at ?? null }));
}

/**
 * Counts the rows that the caller may see now, then undoes later changes: at once those after the last of these revisions,
 * and those between them one by one. Only changes of rows that the caller may still see, or could see when they were
 * deleted: rows that have become hidden are counted in no revision.
 */
async function withCounts(sql: Sql, scope: RowScope, rows: readonly ListedRow[]): Promise<PartnerItem[]> {
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined) return [];
  const values: unknown[] = [first.revision, last.revision];
  const changes = await sql.query<{ revision: string | null; kind: string; delta: number }>(
    prepared(countsText(scope, values), values),
  );
  const counts = new Map<string, number>();
  let next = 0;
  const counted = rows.toReversed().map((row) => {
    for (; next < changes.length && Number(changes[next]!.revision ?? Infinity) > Number(row.revision); next += 1) {
      const { kind, delta } = changes[next]!;
      counts.set(kind, (counts.get(kind) ?? 0) + delta);
    }
    return itemOf(row, counts);
  });
  return counted.reverse();
}

/** The current counts (without a revision), then the deltas to subtract for changes after $1, those after $2 together. */
function countsText(scope: RowScope, values: unknown[]): string {
  const ofOrg = (alias: string) => rowCondition(alias, scope, values, false);
  const isSeenNow = scope.unrestricted && scope.canReadSensitive ? '' : `AND ${seenNow(scope, values)}`;
  return `SELECT NULL::bigint AS revision, n.kind, sum(n.rows)::integer AS delta FROM risk.row_counts n
     WHERE n.kind IN ('risk', 'evidence', 'asset', 'proof') AND n.cell = 'all' AND ${countCondition('n', scope, values)}
     GROUP BY n.kind
    UNION ALL SELECT NULL, n.kind, sum(n.rows)::integer FROM risk.row_counts n
     WHERE n.kind IN ('control', 'policy') AND n.cell = 'all' AND ${countCondition('n', scope, values, false)} GROUP BY n.kind
    UNION ALL SELECT NULL, 'framework', count(*)::integer FROM risk.frameworks f WHERE ${ofOrg('f')}
    UNION ALL SELECT NULL, 'coverage', count(*)::integer FROM risk.requirements q WHERE ${ofOrg('q')}
    UNION ALL SELECT least(c.revision, $2::bigint + 1), c.kind, -sum(c.delta)::integer FROM risk.changes c
     WHERE c.revision > $1 AND c.delta <> 0 AND ${changeCondition('c', scope, values)} ${isSeenNow}
     GROUP BY 1, 2 ORDER BY revision DESC NULLS FIRST`;
}

/**
 * Whether the row of a change `c` may be seen now. Only a row that has moved since is looked up: its last change holds its
 * current attributes, or those it had when deleted.
 */
function seenNow(scope: RowScope, values: unknown[]): string {
  return `(NOT c.has_moved OR EXISTS (
       SELECT FROM (SELECT l.org_id, l.owner_id, l.department, l.sensitive FROM risk.changes l
                     WHERE l.org_id = c.org_id AND l.id = c.id
                     ORDER BY l.revision DESC, l.delta DESC LIMIT 1) last WHERE ${rowCondition('last', scope, values)}))`;
}

function itemOf(
  { revision, created_at: createdAt, ended_at: endedAt }: ListedRow,
  counts: Map<string, number>,
): PartnerItem {
  const id = snapshotIdOf(Number(revision));
  const rowCounts = Object.fromEntries(Object.entries(COUNTED).map(([name, kind]) => [name, counts.get(kind) ?? 0]));
  const expiresAt = new Date((endedAt ?? createdAt).getTime() + SNAPSHOT_RETENTION_MS).toISOString();
  const text = canonical({ id, createdAt: createdAt.toISOString(), rowCounts, expiresAt });
  return { id, createdAt: createdAt.toISOString(), text };
}

/** Extra retention, so that clock skew refuses no promised snapshot. */
const MARGIN_MS = 3_600_000;

/** Upper bound on old revisions kept per organisation. */
const MAX_OLD_REVISIONS = 10_000;

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
  const before = new Date(nowMs - SNAPSHOT_RETENTION_MS - MARGIN_MS);
  const orgs = await sql.query<{ org_id: string; first: string | null }>(
    {
      text: `WITH old AS (SELECT v.org_id, v.revision,
                    EXISTS (SELECT FROM risk.changes c WHERE c.org_id = v.org_id AND c.revision = v.revision
                               AND c.kind = ANY ($2)) AS seen_by_all
               FROM risk.revisions v WHERE v.created_at <= $1)
             SELECT org_id, CASE WHEN count(*) > $3 THEN max(revision)
                                 ELSE max(revision) FILTER (WHERE seen_by_all) END AS first
               FROM old GROUP BY org_id HAVING count(*) > 1`,
      values: [before, SEEN_BY_ALL_KINDS, MAX_OLD_REVISIONS],
    },
    { deadlineMs: DEADLINE_MS },
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
    { deadlineMs: DEADLINE_MS },
  );
}

const DEADLINE_MS = 30_000;
