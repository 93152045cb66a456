import type { AuditTrail } from '@sealgate/audit';
import type { WaitingItem } from '@sealgate/admin-api';
import { canonical } from '@sealgate/json';
import type { Database, Sql } from '@sealgate/storage';
import type { Anchor, AnchorStore, ProvenAnchor } from '../domain/anchor-evidence.ts';
import type { Evidence } from '../domain/evidence.ts';
import { insertRow } from './insert-row.ts';
import { addChanges, nextRevision } from './revisions.ts';
import { attributesOf } from './row-condition.ts';
import { findRow } from './dashboard-reads.ts';
import { everything, putRow } from './resource-writes.ts';

interface AnchorRow {
  ledger_record_id: string;
  org_id: string;
  evidence_id: string;
  sha256: string;
  data: string;
  state: 'waiting' | 'anchored';
  attempts: number;
}

interface AnchorStoreOptions {
  readonly sql: Database;
  readonly audit: AuditTrail;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly newId: (prefix: string) => string;
}

/** The outbox of fingerprints to write to the ledger. */
export function anchorStore(options: AnchorStoreOptions): AnchorStore {
  const { sql } = options;
  return {
    async take({ nowMs, leaseMs, limit }) {
      const rows = await sql.query<AnchorRow>({
        text: `UPDATE risk.anchors a SET due_at = $2, attempts = a.attempts + 1
                 FROM (SELECT ledger_record_id FROM risk.anchors
                        WHERE state IN ('waiting', 'anchored') AND due_at <= $1
                        ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED) due
                WHERE a.ledger_record_id = due.ledger_record_id
               RETURNING a.ledger_record_id, a.org_id, a.evidence_id, a.sha256, a.data, a.state, a.attempts`,
        values: [new Date(nowMs), new Date(nowMs + leaseMs), limit],
      });
      return rows.map(anchorOf);
    },
    postpone: async ({ ledgerRecordId }, untilMs) => {
      await sql.query({
        text: 'UPDATE risk.anchors SET due_at = $2 WHERE ledger_record_id = $1',
        values: [ledgerRecordId, new Date(untilMs)],
      });
    },
    refuse: async ({ ledgerRecordId }) => {
      await sql.query({
        text: `UPDATE risk.anchors SET state = 'refused' WHERE ledger_record_id = $1`,
        values: [ledgerRecordId],
      });
    },
    unproved: async ({ ledgerRecordId }) => {
      await sql.query({
        text: `UPDATE risk.anchors SET due_at = 'infinity' WHERE ledger_record_id = $1`,
        values: [ledgerRecordId],
      });
    },
    anchored: (anchor) => writeAnchored(options, anchor),
    proved: (anchor) => writeProof(options, anchor),
  };
}

/** How many fingerprints are not in the ledger yet, and the age of the oldest. */
export async function waitingAnchors(sql: Sql, nowMs: number): Promise<{ count: number; oldestSeconds: number }> {
  const [row] = await sql.query<{ count: number; oldest: Date | null }>({
    text: `SELECT count(*)::integer AS count, min(created_at) AS oldest FROM risk.anchors WHERE state = 'waiting'`,
  });
  const oldestMs = row?.oldest?.getTime() ?? nowMs;
  return { count: row?.count ?? 0, oldestSeconds: Math.max(0, (nowMs - oldestMs) / 1000) };
}

/** Fingerprints not yet in the ledger, and anchored ones without a proof. */
export async function waitingWork(sql: Sql): Promise<WaitingItem[]> {
  const rows = await sql.query<{ state: string; count: string; oldest: Date }>({
    text: `SELECT state, count(*) AS count, min(created_at) AS oldest FROM risk.anchors
            WHERE state IN ('waiting', 'anchored') AND due_at < 'infinity' GROUP BY state`,
  });
  const item = (what: string, description: string, state: string): WaitingItem => {
    const row = rows.find((one) => one.state === state);
    return { what, description, count: Number(row?.count ?? 0), oldestAt: row?.oldest };
  };
  return [
    item('anchors', 'Fingerprints of evidence not yet written to the ledger', 'waiting'),
    item('proofs', 'Anchored fingerprints whose proof is not yet stored', 'anchored'),
  ];
}

function anchorOf(row: AnchorRow): Anchor {
  return {
    ledgerRecordId: row.ledger_record_id,
    orgId: row.org_id,
    evidenceId: row.evidence_id,
    sha256: row.sha256,
    data: row.data,
    state: row.state,
    attempts: row.attempts,
  };
}

/** Sets the ledger record id of the evidence. `n` is unchanged, so that no client's If-Match fails because of it. */
async function writeAnchored({ sql, audit, now }: AnchorStoreOptions, anchor: Anchor): Promise<void> {
  const { orgId, evidenceId, ledgerRecordId } = anchor;
  await sql.transaction(async (transaction) => {
    const { revision, nowMs } = await nextRevision(transaction, orgId, now());
    const moved = await transaction.query({
      text: `UPDATE risk.anchors SET state = 'anchored' WHERE ledger_record_id = $1 AND state = 'waiting' RETURNING 1`,
      values: [ledgerRecordId],
    });
    const found = await findRow(transaction, {
      kind: 'evidence',
      id: evidenceId,
      scope: everything(orgId),
      lock: true,
    });
    // Another process was faster, or the evidence has been deleted: the ledger record stays.
    if (moved.length === 0 || found === undefined) return;
    const evidence = found.doc as Evidence; // Of kind 'evidence'.
    const doc: Evidence = { ...evidence, ledgerRecordId, updatedAt: new Date(nowMs).toISOString() };
    await putRow({ sql: transaction, orgId, revision }, 'evidence', { row: { n: found.n, doc }, before: found });
    await audit.record(transaction, {
      actor: 'system',
      action: 'evidence.anchor',
      resource: 'evidence',
      resourceId: evidenceId,
      detail: { orgId, ...attributesOf('evidence', doc) },
    });
  });
}

/** Idempotent: the proof is written once. */
async function writeProof({ sql, now, newId }: AnchorStoreOptions, anchor: ProvenAnchor): Promise<void> {
  const { orgId, evidenceId, ledgerRecordId, sha256, proof, sealedAt } = anchor;
  await sql.transaction(async (transaction) => {
    const { revision, nowMs } = await nextRevision(transaction, orgId, now());
    const moved = await transaction.query({
      text: `UPDATE risk.anchors SET state = 'proved' WHERE ledger_record_id = $1 AND state = 'anchored' RETURNING 1`,
      values: [ledgerRecordId],
    });
    const found = await findRow(transaction, {
      kind: 'evidence',
      id: evidenceId,
      scope: everything(orgId),
      lock: true,
    });
    if (moved.length === 0 || found === undefined) return;
    const id = newId('prf_');
    const subject = { subjectType: 'evidence', subjectId: evidenceId, sha256, ledgerRecordId };
    const item = canonical({ id, ...subject, ...proofMembers(proof), sealedAt });
    const of = { org_id: orgId, evidence_id: evidenceId, ledger_record_id: ledgerRecordId };
    const proofRow = { proof_id: id, ...of, created_at: new Date(nowMs), from_revision: revision, item };
    await transaction.query(insertRow('proofs', proofRow));
    const attributes = attributesOf('evidence', found.doc);
    await addChanges({ sql: transaction, orgId, revision }, [
      { kind: 'proof', id: evidenceId, delta: 1, ...attributes },
    ]);
  });
}

/** The members of a proof of the partner API; on Fabric those of a log are null. */
function proofMembers(proof: ProvenAnchor['proof']) {
  if (!('receipt' in proof)) return proof;
  const { receipt, proof: signed } = proof;
  const ofLog = { index: null, leafHash: null, treeSize: null, inclusionPath: null, checkpoint: null };
  return { channel: receipt.channel, ...ofLog, receipt: { ...receipt }, proof: { ...signed } };
}
