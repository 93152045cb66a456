import assert from 'node:assert/strict';
import type { AuditTrail } from '@sealgate/audit';
import { canonical } from '@sealgate/json';
import type { Database, Sql } from '@sealgate/storage';
import type { RowScope } from '../domain/caller.ts';
import type { Evidence } from '../domain/evidence.ts';
import { KIND_OF } from '../domain/kinds.ts';
import { SCREENING_RULES } from '../domain/may-hold-personal-data.ts';
import { isFreeOfPersonalData } from '../domain/partner-item.ts';
import type { Doc, Kind, KindName } from '../domain/resource.ts';
import type { ResourceWrites, Row, WriteUnit } from '../domain/resource-ports.ts';
import { coverageIdsOf, writeFacts } from './coverage-facts.ts';
import { findRow, rowOf, visibleIds } from './dashboard-reads.ts';
import { nextRevision, recordChanges, type RevisionChange } from './revisions.ts';
import { attributesOf } from './row-condition.ts';

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
      await insertAnchor(sql, orgId, evidence, { id: newId('ledger_rec_'), nowMs });
      anchored();
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
  await (before === undefined ? insertRow(change, kind, row) : updateRow(change, kind, row));
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
    text: `SELECT n, doc FROM risk.resources WHERE org_id = $1 AND kind = $2 AND facets @> ARRAY[$3::text]
           ORDER BY created_at, id LIMIT $4 FOR UPDATE`,
    values: [orgId, kind, facet, MAX_LINKED],
  });
  return rows.map(rowOf);
}

/** The columns derived from a document, besides its key, and the revision that writes it. */
function columnsOf(kindName: KindName, { n, doc }: Row, revision: number): unknown[] {
  const kind: Kind<Doc, unknown, unknown> = KIND_OF[kindName];
  const { ownerId, department, sensitive } = attributesOf(kindName, doc);
  const validUntil = kind.validUntil?.(doc) ?? null;
  const attributes = [n, ownerId, department, sensitive, doc.createdAt, doc.updatedAt, validUntil];
  const item = canonical(kind.partnerItem(doc));
  const screenedBy = isFreeOfPersonalData(kind.collection, item) ? SCREENING_RULES : null;
  return [...attributes, kind.facets(doc), JSON.stringify(doc), item, screenedBy, revision];
}

async function insertRow({ sql, orgId, revision }: RevisionChange, kind: KindName, row: Row): Promise<void> {
  await sql.query({
    text: `INSERT INTO risk.resources (org_id, kind, id, n, owner_id, department, sensitive, created_at, updated_at,
             valid_until, facets, doc, item, screened_by, screened_in)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
    values: [orgId, kind, row.doc.id, ...columnsOf(kind, row, revision)],
  });
}

async function updateRow({ sql, orgId, revision }: RevisionChange, kind: KindName, row: Row): Promise<void> {
  const rows = await sql.query({
    text: `UPDATE risk.resources SET n = $4, owner_id = $5, department = $6, sensitive = $7, created_at = $8,
             updated_at = $9, valid_until = $10, facets = $11, doc = $12, item = $13,
             screened_by = $14, screened_in = $15
           WHERE org_id = $1 AND kind = $2 AND id = $3 RETURNING 1`,
    values: [orgId, kind, row.doc.id, ...columnsOf(kind, row, revision)],
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
  await sql.query({
    text: `INSERT INTO risk.anchors (ledger_record_id, org_id, evidence_id, sha256, data, state, due_at, created_at)
           VALUES ($1, $2, $3, $4, $5, 'waiting', $6, $6)`,
    values: [anchor.id, orgId, evidenceId, sha256, data, new Date(anchor.nowMs)],
  });
}
