import type { Attachment, CaseRecord, Decision, NewAttachment } from '../domain/case-record.ts';

const CASE_MEMBERS = {
  case_id: 'caseId',
  environment: 'environment',
  subject_ref: 'subjectRef',
  case_type: 'caseType',
  status: 'status',
  venue_ids: 'venueIds',
  external_ref: 'externalRef',
  requested_policy_version: 'requestedPolicyVersion',
  metadata: 'metadata',
  attachment_count: 'attachmentCount',
  policy_version: 'policyVersion',
  decision: 'decision',
  decision_id: 'decisionId',
  ledger_record_id: 'ledgerRecordId',
  decided_at: 'decidedAt',
  sealed_at: 'sealedAt',
  created_at: 'createdAt',
  updated_at: 'updatedAt',
  expires_at: 'expiresAt',
} as const satisfies Record<string, keyof CaseRecord>;

export type CaseRow = Omit<CaseRecord, 'metadata'> & { readonly metadata: string };

/** The columns of a case, aliased to the names of its members. */
export const CASE_COLUMNS = Object.entries(CASE_MEMBERS)
  .map(([column, member]) => `c.${column} AS "${member}"`)
  .join(', ');

export function caseOf(row: CaseRow): CaseRecord {
  // Only this service writes it.
  const metadata = JSON.parse(row.metadata) as Record<string, string>;
  return { ...row, metadata };
}

const columns = Object.keys(CASE_MEMBERS) as (keyof typeof CASE_MEMBERS)[];

export function insertCaseStatement(record: CaseRecord, mac: string) {
  const places = columns.map((_, at) => `$${at + 2}`).join(', ');
  return {
    name: 'gate insert case',
    text: `INSERT INTO gate.cases (mac, ${columns.join(', ')}) VALUES ($1, ${places})`,
    values: [mac, ...columns.map((column) => valueOf(record, CASE_MEMBERS[column]))],
  };
}

/** Members that never change. */
const FIXED: ReadonlySet<string> = new Set([
  ...['case_id', 'environment', 'subject_ref', 'case_type', 'external_ref', 'requested_policy_version'],
  ...['metadata', 'created_at', 'expires_at'],
]);
const changing = columns.filter((column) => !FIXED.has(column));

export function saveCaseStatement(record: CaseRecord, mac: string) {
  const changes = changing.map((column, at) => `${column} = $${at + 3}`).join(', ');
  return {
    name: 'gate save case',
    text: `UPDATE gate.cases SET mac = $2, ${changes} WHERE case_id = $1`,
    values: [record.caseId, mac, ...changing.map((column) => valueOf(record, CASE_MEMBERS[column]))],
  };
}

function valueOf(record: CaseRecord, member: keyof CaseRecord): unknown {
  return member === 'metadata' ? JSON.stringify(record.metadata) : record[member];
}

export interface AttachmentRow extends Omit<Attachment, 'sizeBytes'> {
  readonly sizeBytes: string;
}

export const ATTACHMENT_COLUMNS = `attachment_id AS "attachmentId", kind, ref, sha256, media_type AS "mediaType",
  size_bytes AS "sizeBytes", label`;

export function attachmentOf(row: AttachmentRow): Attachment {
  return { ...row, sizeBytes: Number(row.sizeBytes) };
}

export function insertAttachmentsStatement(
  caseId: string,
  attachments: readonly (NewAttachment & { readonly attachmentId: string })[],
  at: Date,
) {
  return {
    name: 'gate insert attachments',
    text: `INSERT INTO gate.attachments (attachment_id, case_id, position, kind, ref, sha256, media_type, size_bytes, label, added_at)
      SELECT a.id, $1, (SELECT count(*) FROM gate.attachments WHERE case_id = $1) + a.ordinal, a.kind, a.ref, a.sha256,
             a.media_type, a.size_bytes, a.label, $9
        FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[])
             WITH ORDINALITY a (id, kind, ref, sha256, media_type, size_bytes, label, ordinal)`,
    values: [
      caseId,
      attachments.map(({ attachmentId }) => attachmentId),
      attachments.map(({ kind }) => kind),
      attachments.map(({ ref }) => ref),
      attachments.map(({ sha256 }) => sha256),
      attachments.map(({ mediaType }) => mediaType),
      attachments.map(({ sizeBytes }) => String(sizeBytes)),
      attachments.map(({ label }) => label),
      at,
    ],
  };
}

export const DECISION_COLUMNS = `decision_id AS "decisionId", case_id AS "caseId", policy_version AS "policyVersion",
  is_final AS "isFinal", decision, reason_codes AS "reasonCodes", valid_until AS "validUntil", decided_at AS "decidedAt",
  decided_by AS "decidedBy", mac`;

export function insertDecisionStatement(decision: Decision) {
  return {
    name: 'gate insert decision',
    text: `INSERT INTO gate.decisions (decision_id, case_id, policy_version, is_final, decision, reason_codes, valid_until,
             decided_at, decided_by, mac) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    values: [
      decision.decisionId,
      decision.caseId,
      decision.policyVersion,
      decision.isFinal,
      decision.decision,
      decision.reasonCodes,
      decision.validUntil,
      decision.decidedAt,
      decision.decidedBy,
      decision.mac,
    ],
  };
}

export const SEAL_COLUMNS = `s.case_id AS "caseId", s.policy_version AS "policyVersion", s.decision_id AS "decisionId",
  s.ledger_record_id AS "ledgerRecordId", s.document, s.seal_hash AS "sealHash", s.seal_version AS "sealVersion", s.status,
  s.sealed_at AS "sealedAt", s.proof`;
