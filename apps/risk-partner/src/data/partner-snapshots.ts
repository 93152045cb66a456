import assert from 'node:assert/strict';
import { canonical } from '@sealgate/json';
import type { Sql } from '@sealgate/storage';
import type { RowScope } from '../domain/caller.ts';
import {
  revisionOf,
  snapshotIdOf,
  type PartnerItem,
  type PartnerSource,
  type SnapshotReads,
} from '../domain/read-partner.ts';
import { prepared } from './prepared.ts';
import { rowCondition } from './row-condition.ts';

/** How long a revision can be read once another one has taken its place. */
export const SNAPSHOT_KEPT_MS = 86_400_000;

/** Collections and the kinds whose changes they count. */
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

/** Kinds that the whole organisation sees. */
export const SEEN_BY_ALL_KINDS = ['org', 'control', 'policy', 'framework', 'coverage'];

interface ListedRow {
  revision: string;
  created_at: Date;
  ended_at: Date | null;
}

/** Changes that the caller may see, as the rows were when they were made. */
function changeCondition(alias: string, scope: RowScope, values: unknown[]): string {
  const ofOrg = rowCondition(alias, scope, values, false);
  const kinds = `$${values.push(SEEN_BY_ALL_KINDS)}::text[]`;
  return `${ofOrg} AND (${alias}.kind = ANY (${kinds}) OR (${rowCondition(alias, scope, values)}))`;
}

/**
 * The newest revision of the organisation. What has expired by now became revisions first, so whoever asks which revisions
 * there are, or which of them still is the newest, asks this before.
 */
async function currentRevision(sql: Sql, orgId: string, nowMs: number): Promise<string> {
  const [current] = await sql.query<{ revision: string }>({
    text: 'SELECT risk.current_revision_v1($1, $2) AS revision',
    values: [orgId, new Date(nowMs)],
  });
  assert(current !== undefined, 'A function gives one row.');
  return current.revision;
}

/** Which revisions there are for a caller. */
export function snapshotReads(sql: Sql): SnapshotReads {
  return {
    async newest(scope, nowMs) {
      const values: unknown[] = [await currentRevision(sql, scope.orgId, nowMs)];
      const text = `SELECT c.revision FROM risk.changes c
        WHERE c.revision <= $1 AND ${changeCondition('c', scope, values)} ORDER BY c.revision DESC LIMIT 1`;
      const [row] = await sql.query<{ revision: string }>(prepared(text, values));
      assert(row !== undefined, 'The making of an organisation is a change that all of it sees.');
      return Number(row.revision);
    },
    async state(scope, revision, nowMs) {
      await currentRevision(sql, scope.orgId, nowMs);
      const ended = await endOf(sql, scope, revision);
      if (ended !== undefined) return isLive(ended, nowMs) ? 'live' : 'expired';
      const text = 'SELECT min(revision) AS first FROM risk.revisions WHERE org_id = $1';
      const [kept] = await sql.query<{ first: string | null }>({ text, values: [scope.orgId] });
      // What is older than all that is kept has been thrown away; nothing tells what of it the caller saw.
      return revision > 0 && revision < Number(kept?.first ?? 0) ? 'expired' : 'unknown';
    },
  };
}

/** The snapshots themselves: those that can still be read, with what the caller may see counted. */
export function partnerSnapshots(sql: Sql): PartnerSource {
  const read = async (
    scope: RowScope,
    nowMs: number,
    condition: (values: unknown[]) => string,
  ): Promise<PartnerItem[]> => {
    await currentRevision(sql, scope.orgId, nowMs);
    const rows = await listed(sql, scope, (values) => {
      const since = `$${values.push(new Date(nowMs - SNAPSHOT_KEPT_MS))}::timestamptz`;
      return `(ended_at IS NULL OR ended_at > ${since}) AND ${condition(values)}`;
    });
    return withCounts(sql, scope, rows);
  };
  return {
    list: (scope, { limit, after, nowMs }) =>
      read(scope, nowMs, (values) => {
        const behind =
          after === undefined
            ? 'true'
            : `(created_at, revision) > ($${values.push(after.createdAt)}::timestamptz, $${values.push(revisionOf(after.id))}::bigint)`;
        return `${behind} ORDER BY created_at, revision LIMIT $${values.push(limit)}`;
      }),
    async find(scope, id, { nowMs }) {
      const revision = revisionOf(id);
      if (revision === undefined) return undefined;
      return (await read(scope, nowMs, (values) => `revision = $${values.push(revision)}`))[0];
    },
  };
}

/** When the next revision took the place of one that the caller may know; undefined when it is none of those. */
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
  endedAt === null || endedAt.getTime() + SNAPSHOT_KEPT_MS > nowMs;

/** Revisions the caller may know, each with when the next of them took its place. */
function listed(sql: Sql, scope: RowScope, condition: (values: unknown[]) => string): Promise<ListedRow[]> {
  const values: unknown[] = [];
  const text = `WITH known AS (SELECT DISTINCT c.revision FROM risk.changes c WHERE ${changeCondition('c', scope, values)}),
      listed AS (SELECT v.revision, v.created_at, lead(v.created_at) OVER (ORDER BY v.revision) AS ended_at
                   FROM risk.revisions v JOIN known USING (revision) WHERE ${rowCondition('v', scope, values, false)})
    SELECT revision, created_at, ended_at FROM listed WHERE ${condition(values)}`;
  return sql.query<ListedRow>(prepared(text, values));
}

/**
 * Counts what the caller may see now, and takes back, revision by revision, what changed after: of rows that the caller may
 * still see, or could when they were deleted. What has become hidden since is counted in no revision.
 */
async function withCounts(sql: Sql, scope: RowScope, rows: readonly ListedRow[]): Promise<PartnerItem[]> {
  const [first] = rows;
  if (first === undefined) return [];
  const values: unknown[] = [first.revision];
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

/** What there is now, without a revision, then what to add to go back behind each change after the revision `$1`. */
function countsText(scope: RowScope, values: unknown[]): string {
  const seen = (alias: string) => rowCondition(alias, scope, values);
  const ofOrg = (alias: string) => rowCondition(alias, scope, values, false);
  const kinds = `$${values.push(SEEN_BY_ALL_KINDS)}::text[]`;
  const seesAll = scope.unrestricted && scope.canReadSensitive;
  // The last change of a row tells what it is now, or was when it was deleted.
  const isSeenNow = seesAll
    ? ''
    : `AND (c.id IS NULL OR c.kind = ANY (${kinds}) OR EXISTS (
         SELECT FROM (SELECT l.org_id, l.owner_id, l.department, l.sensitive FROM risk.changes l
                       WHERE l.org_id = c.org_id AND l.id = c.id
                       ORDER BY l.revision DESC, l.delta DESC LIMIT 1) last WHERE ${seen('last')}))`;
  return `SELECT NULL::bigint AS revision, r.kind, count(*)::integer AS delta FROM risk.resources r
     WHERE ${ofOrg('r')} AND (r.kind = ANY (${kinds}) OR (${seen('r')})) GROUP BY r.kind
    UNION ALL SELECT NULL, 'framework', count(*)::integer FROM risk.frameworks f WHERE ${ofOrg('f')}
    UNION ALL SELECT NULL, 'coverage', count(*)::integer FROM risk.requirements q WHERE ${ofOrg('q')}
    UNION ALL SELECT NULL, 'proof', count(*)::integer FROM risk.proofs p
      JOIN risk.resources r ON r.org_id = p.org_id AND r.kind = 'evidence' AND r.id = p.evidence_id WHERE ${seen('r')}
    UNION ALL SELECT c.revision, c.kind, -sum(c.delta)::integer FROM risk.changes c
     WHERE c.revision > $1 AND c.delta <> 0 AND ${changeCondition('c', scope, values)} ${isSeenNow}
     GROUP BY c.revision, c.kind ORDER BY revision DESC NULLS FIRST`;
}

function itemOf(
  { revision, created_at: createdAt, ended_at: endedAt }: ListedRow,
  counts: Map<string, number>,
): PartnerItem {
  const id = snapshotIdOf(Number(revision));
  const rowCounts = Object.fromEntries(Object.entries(COUNTED).map(([name, kind]) => [name, counts.get(kind) ?? 0]));
  const expiresAt = new Date((endedAt ?? createdAt).getTime() + SNAPSHOT_KEPT_MS).toISOString();
  const text = canonical({ id, createdAt: createdAt.toISOString(), rowCounts, expiresAt });
  return { id, createdAt: createdAt.toISOString(), text };
}
