import type { Database, Sql } from '@sealgate/storage';
import type { CaseFile } from '../domain/assessor-pack.ts';
import type { CaseRecord, Decision, Seal, TimelineEvent } from '../domain/case-record.ts';
import {
  ATTACHMENT_COLUMNS,
  attachmentOf,
  CASE_COLUMNS,
  caseOf,
  DECISION_COLUMNS,
  SEAL_COLUMNS,
  type AttachmentRow,
  type CaseRow,
} from './case-rows.ts';

/** A case of this environment. */
export async function readCase(sql: Sql, environment: string, caseId: string): Promise<CaseRecord | undefined> {
  const text = `SELECT ${CASE_COLUMNS} FROM gate.cases c WHERE c.case_id = $1 AND c.environment = $2`;
  const [row] = await sql.query<CaseRow>({ name: 'gate case', text, values: [caseId, environment] });
  return row === undefined ? undefined : caseOf(row);
}

type EventRow = Omit<TimelineEvent, 'at' | 'data'> & { readonly at: Date; readonly data: string };

/** Everything about a case, as one snapshot. */
export function readCaseFile(database: Database, environment: string, caseId: string): Promise<CaseFile | undefined> {
  return database.transaction(async (sql) => {
    await sql.query({ text: 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY' });
    const record = await readCase(sql, environment, caseId);
    if (record === undefined) return undefined;
    const values = [caseId];
    const events = await sql.query<EventRow>({
      text: 'SELECT seq, at, event, actor, data, prev_hash, hash FROM gate.timeline WHERE case_id = $1 ORDER BY seq',
      values,
    });
    const decisions = await sql.query<Decision>({
      text: `SELECT ${DECISION_COLUMNS} FROM gate.decisions WHERE case_id = $1 ORDER BY decided_at, decision_id`,
      values,
    });
    const attachments = await sql.query<AttachmentRow>({
      text: `SELECT ${ATTACHMENT_COLUMNS} FROM gate.attachments WHERE case_id = $1 ORDER BY position`,
      values,
    });
    const seals = await sql.query<Seal>({
      text: `SELECT ${SEAL_COLUMNS} FROM gate.seals s WHERE case_id = $1 AND status = 'sealed' ORDER BY sealed_at, policy_version`,
      values,
    });
    const timeline = events.map(({ seq, at, event, actor, data, prev_hash, hash }): TimelineEvent => {
      // It was written as canonical JSON by this service.
      return { seq, at: at.toISOString(), event, actor, data: JSON.parse(data), prev_hash, hash };
    });
    return { record, timeline, decisions, attachments: attachments.map(attachmentOf), seals };
  });
}

/** Keeps the first proof of a seal, whoever comes first; gives the one that is kept. */
export async function keepProof(sql: Sql, ledgerRecordId: string, proof: string): Promise<string> {
  const kept = await sql.query<{ proof: string }>({
    text: `UPDATE gate.seals SET proof = coalesce(proof, $2) WHERE ledger_record_id = $1 AND status = 'sealed'
           RETURNING proof`,
    values: [ledgerRecordId, proof],
  });
  const [row] = kept;
  if (row === undefined) throw new Error('Only what was sealed has a proof to keep.');
  return row.proof;
}
