import assert from 'node:assert/strict';
import type { AuditTrail } from '@sealgate/audit';
import { canonical } from '@sealgate/json';
import { searchText, sortText } from '@sealgate/paging';
import type { Database, Sql } from '@sealgate/storage';
import type { RowScope } from '../domain/caller.ts';
import type { Evidence } from '../domain/evidence.ts';
import { KIND_OF } from '../domain/kinds.ts';
import { SCREENING_RULES } from '../domain/may-hold-personal-data.ts';
import { isFreeOfPersonalData } from '../domain/partner-item.ts';
import type { Doc, Kind, KindName } from '../domain/resource.ts';
import type { ResourceWrites, Row, WriteUnit } from '../domain/resource-ports.ts';
import { coverageIdsOf, writeFacts } from './coverage-facts.ts';
import { findRow, rowsOf, visibleIds } from './dashboard-reads.ts';
import { insertRow, type Columns } from './insert-row.ts';
import { nextRevision, recordChanges, type RevisionChange } from './revisions.ts';
import { attributeColumns, attributesOf } from './row-condition.ts';
import { termsOf } from './rows-by-term.ts';

interface ResourceWritesOptions {
  readonly sql: Database;
  readonly audit: AuditTrail;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly newId: (prefix: string) => string;
  /** Called after a fingerprint was added to the outbox. */
  readonly onAnchor: () => void;
}

const MAX_LINKED = 1000;

/** Changes of documents. Each is one transaction and one revision of the organisation. */
export function resourceWrites(options: ResourceWritesOptions): ResourceWrites {
  return {
    async run(orgId, work) {
      let anchors = false;
      const result = await options.sql.transaction(async (sql) => {
        const unit = await beginUnit(options, sql, orgId, () => (anchors = true));
        return work(unit);
      });
      if (anchors) options.onAnchor();
      return result;
    },
  };
}

async function beginUnit(
  { audit, now, newId }: ResourceWritesOptions,
  sql: Sql,
  orgId: string,
  anchored: () => void,
): Promise<WriteUnit> {
  const { revision, nowMs } = await nextRevision(sql, orgId, now());
  const change = { sql, orgId, revision };
  return {
    revision,
    nowMs,
    find: (kind, id, scope = everything(orgId)) => findRow(sql, { kind, id, scope, lock: true }),
    visible: (kind, ids, scope) => visibleIds(sql, { kind, ids, scope }),
    withFacet: (kind, facet) => rowsWithFacet(sql, orgId, kind, facet),
    isMember: async (personId) => {
      const text = 'SELECT 1 FROM risk.people WHERE person_id = $1 AND org_id = $2 AND removed_at IS NULL';
      return (await sql.query({ text, values: [personId, orgId] })).length > 0;
    },
    coverageIds: (refs) => coverageIdsOf(sql, orgId, refs),
    put: (kind, row, before) => putRow(change, kind, { row, before }),
    async remove(kind, row) {
      await sql.query({
        text: 'DELETE FROM risk.resources WHERE org_id = $1 AND kind = $2 AND id = $3',
        values: [orgId, kind, row.doc.id],
      });
      await recordChanges(change, kind, { before: row.doc, after: undefined });
      await writeFacts(change, kind, { before: row.doc, after: undefined });
    },
    async anchor(evidence) {
      const ledgerRecordId = newId('ledger_rec_');
      await insertAnchor(sql, orgId, evidence, { id: ledgerRecordId, nowMs });
      anchored();
      return ledgerRecordId;
    },
    record: ({ actorId, ...entry }, about) => {
      const filtered = about === undefined ? {} : attributesOf(about.kind, about.doc);
      return audit.record(sql, { ...entry, actor: actorId, detail: { orgId, ...filtered } });
    },
  };
}

/** Writes a row, its entry in the change log of snapshots, and its coverage facts. */
export async function putRow(
  change: RevisionChange,
  kind: KindName,
  { row, before }: { readonly row: Row; readonly before: Row | undefined },
): Promise<void> {
  const { sql, orgId, revision } = change;
  if (before === undefined) {
    const key = { org_id: orgId, kind, id: row.doc.id };
    await sql.query(insertRow('resources', { ...key, ...columnsOf(kind, row, revision) }));
  } else {
    await updateRow(change, kind, row);
  }
  const docs = { before: before?.doc, after: row.doc };
  await recordChanges(change, kind, docs);
  await writeFacts(change, kind, docs);
}

/** The scope of reads that a change needs for itself, whoever makes it. */
export const everything = (orgId: string): RowScope => ({
  orgId,
  ownerId: null,
  unrestricted: true,
  departments: [],
  canReadSensitive: true,
});

async function rowsWithFacet(sql: Sql, orgId: string, kind: KindName, facet: string): Promise<Row[]> {
  const rows = await sql.query<{ n: number; doc: string }>({
    text: `SELECT r.n, r.doc FROM risk.resources r
            WHERE r.org_id = $1 AND r.kind = $2 AND r.facets @> ARRAY[$3::text] AND ${termsOf('r')} @> ARRAY['=' || $3::text]
            ORDER BY r.created_at, r.id LIMIT $4 FOR UPDATE`,
    values: [orgId, kind, facet, MAX_LINKED],
  });
  return rowsOf(kind, rows);
}

/** The columns of a row besides its key, which is the organisation, the kind and the id of the document. */
export function columnsOf(kindName: KindName, { n, doc }: Row, revision: number): Columns {
  const kind: Kind<Doc, unknown, unknown> = KIND_OF[kindName];
  const item = canonical(kind.partnerItem(doc));
  return {
    n,
    ...attributeColumns(attributesOf(kindName, doc)),
    created_at: doc.createdAt,
    updated_at: doc.updatedAt,
    valid_until: kind.validUntil?.(doc) ?? null,
    facets: kind.facets(doc),
    ...listColumns(doc),
    counted: ['all', ...(kind.counted?.(doc) ?? [])],
    doc: JSON.stringify(doc),
    item,
    screened_by: isFreeOfPersonalData(kind.collection, item) ? SCREENING_RULES : null,
    screened_in: revision,
  };
}

/** What lists find rows by, and sort them by. */
function listColumns(doc: Doc): Columns {
  // Each member is of some kinds only.
  const { id, refId, title, name, current, nextReviewAt } = doc as Doc & Listed;
  const called = title ?? name ?? '';
  return {
    folded: searchText([id, refId, called]),
    title: sortText(called),
    ref_id: typeof refId === 'string' ? sortText(refId) : null,
    score: current?.score ?? null,
    review_at: nextReviewAt ?? null,
  };
}

interface Listed {
  readonly refId?: string | null;
  readonly title?: string;
  readonly name?: string;
  readonly current?: { readonly score: number };
  readonly nextReviewAt?: string | null;
}

async function updateRow({ sql, orgId, revision }: RevisionChange, kind: KindName, row: Row): Promise<void> {
  const columns = columnsOf(kind, row, revision);
  const set = Object.keys(columns).map((name, index) => `${name} = $${index + 4}`);
  const rows = await sql.query({
    text: `UPDATE risk.resources SET ${set.join(', ')} WHERE org_id = $1 AND kind = $2 AND id = $3 RETURNING 1`,
    values: [orgId, kind, row.doc.id, ...Object.values(columns)],
  });
  assert(rows.length === 1, 'A changed row was locked before.');
}

/** Fixes id and content of the ledger record, so that sending it again after a crash writes the same record. */
async function insertAnchor(
  sql: Sql,
  orgId: string,
  { id: evidenceId, version, sha256, reviewedAt }: Evidence,
  anchor: { id: string; nowMs: number },
): Promise<void> {
  assert(sha256 !== null, 'Only a fingerprint can be anchored.');
  const data = canonical({ orgId, evidenceId, version, sha256, approvedAt: reviewedAt });
  const now = new Date(anchor.nowMs);
  const key = { ledger_record_id: anchor.id, org_id: orgId, evidence_id: evidenceId };
  await sql.query(insertRow('anchors', { ...key, sha256, data, state: 'waiting', due_at: now, created_at: now }));
}
