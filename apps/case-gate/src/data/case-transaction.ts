import { AppError } from '@sealgate/errors';
import { canonical } from '@sealgate/json';
import type { AuditTrail } from '@sealgate/audit';
import type { KeyedHasher } from '@sealgate/auth';
import type { Sql } from '@sealgate/storage';
import { chainEvent, caseMac, isCaseAuthentic, type Attachment } from '../domain/case-record.ts';
import type { CaseTransaction, StoredClaim } from '../domain/case-transaction.ts';
import type { Policy } from '../domain/policy.ts';
import {
  ATTACHMENT_COLUMNS,
  attachmentOf,
  CASE_COLUMNS,
  caseOf,
  DECISION_COLUMNS,
  decisionOf,
  insertAttachmentsStatement,
  insertCaseStatement,
  insertDecisionStatement,
  insertSealStatement,
  saveCaseStatement,
  SEAL_COLUMNS,
  sealOf,
  type Row,
} from './case-rows.ts';
import { lockEligibility, saveEligibility } from './eligibility-store.ts';
import type { LedgerVersions } from './ledger-versions.ts';
import { addToOutbox, type RecordingSql, type RecordingTransactions } from './ledger-writer.ts';
import type { SignedRows } from './signed-rows.ts';

/** Maximum wait for the same claim in another transaction. */
const CLAIM_WAIT_MS = 250;
const TRANSACTION_WITHIN_MS = 2000;
const LOCK_NOT_AVAILABLE = '55P03';

/** Authenticates the rows that a case is decided by. */
export interface CaseParts {
  readonly macs: { readonly eligibility: KeyedHasher; readonly cases: KeyedHasher };
  readonly policies: Pick<SignedRows<Policy>, 'lock'>;
  readonly versions: LedgerVersions;
  readonly audit: Pick<AuditTrail, 'record'>;
}

/** `InTransaction` whose work may also run its own statements in the transaction. */
export type InCaseTransaction = <Result>(
  work: (cases: CaseTransaction, sql: RecordingSql) => Promise<Result>,
) => Promise<Result>;

/** Transactions over cases and subjects in PostgreSQL. */
export function caseTransactions(inTransaction: RecordingTransactions, parts: CaseParts): InCaseTransaction {
  return (work) =>
    inTransaction((sql) => work(caseTransaction(sql, parts), sql), { deadlineMs: TRANSACTION_WITHIN_MS });
}

/** The ports of one transaction. */
function caseTransaction(sql: RecordingSql, { macs, policies, versions, audit }: CaseParts): CaseTransaction {
  const eligibility = { macs: macs.eligibility, versions };
  return {
    ...caseStatements(sql, macs.cases),
    ...decisionStatements(sql, policies),
    ...sealStatements(sql),
    ...claimStatements(sql),
    lockEligibility: (environment, subjectRef) => lockEligibility(sql, eligibility, { environment, subjectRef }),
    saveEligibility: (record, by) => saveEligibility(sql, macs.eligibility, { record, ...by }),
    enter: (record, urgency) => sql.enter(record, urgency),
    audit: ({ caseId: resourceId, ...deed }) => audit.record(sql, { ...deed, resource: 'case', resourceId }),
  };
}

type Part<Name extends keyof CaseTransaction> = Pick<CaseTransaction, Name>;

/** A case that fails its integrity check cannot be changed, decided or sealed. */
function caseStatements(
  sql: Sql,
  macs: KeyedHasher,
): Part<'lockCase' | 'insertCase' | 'saveCase' | 'addEvent' | 'attachments' | 'attachmentsWith' | 'insertAttachments'> {
  /** Attachments of the cases locked by this transaction. */
  const held = new Map<string, readonly Attachment[]>();
  return {
    async lockCase(environment, caseId) {
      const text = `SELECT ${CASE_COLUMNS}, c.mac FROM gate.cases c
        WHERE c.case_id = $1 AND c.environment = $2 FOR UPDATE`;
      const values = [caseId, environment];
      const [row] = await sql.query<Row & { readonly mac: string }>({ name: 'gate lock case', text, values });
      if (row === undefined) return undefined;
      const record = caseOf(row);
      const attachments = await attachmentsOf(sql, caseId);
      if (!isCaseAuthentic({ record, mac: row.mac }, attachments, macs))
        throw new Error(`The case ${caseId} failed its integrity check.`);
      held.set(caseId, attachments);
      return record;
    },
    async insertCase(record) {
      await sql.query(insertCaseStatement(record, caseMac(record, [], macs)));
    },
    async saveCase(record) {
      const attachments = held.get(record.case_id);
      if (attachments === undefined) throw new Error('A case must be locked before it is changed.');
      await sql.query(saveCaseStatement(record, caseMac(record, attachments, macs)));
    },
    async addEvent(caseId, event) {
      const [last] = await sql.query<{ seq: number; hash: string }>({
        name: 'gate last event',
        text: 'SELECT seq, hash FROM gate.timeline WHERE case_id = $1 ORDER BY seq DESC LIMIT 1',
        values: [caseId],
      });
      const { seq, at, actor, data, prev_hash: previous, hash, event: name } = chainEvent(last, event);
      await sql.query({
        name: 'gate add event',
        text: `INSERT INTO gate.timeline (case_id, seq, at, event, actor, data, prev_hash, hash)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
        values: [caseId, seq, new Date(at), name, actor, canonical(data), previous, hash],
      });
    },
    attachments: async (caseId) => [...(held.get(caseId) ?? (await attachmentsOf(sql, caseId)))],
    async attachmentsWith(caseId, refs) {
      const text = `SELECT ${ATTACHMENT_COLUMNS} FROM gate.attachments a WHERE case_id = $1 AND ref = ANY ($2)`;
      const rows = await sql.query<Row>({ name: 'gate attachments by ref', text, values: [caseId, refs] });
      return rows.map(attachmentOf);
    },
    async insertAttachments(caseId, attachments, at) {
      await sql.query(insertAttachmentsStatement(caseId, attachments, at));
      held.set(caseId, [...(held.get(caseId) ?? []), ...attachments]);
    },
  };
}

async function attachmentsOf(sql: Sql, caseId: string): Promise<Attachment[]> {
  const text = `SELECT ${ATTACHMENT_COLUMNS} FROM gate.attachments a WHERE case_id = $1 ORDER BY position`;
  return (await sql.query<Row>({ name: 'gate attachments', text, values: [caseId] })).map(attachmentOf);
}

function decisionStatements(
  sql: Sql,
  policies: CaseParts['policies'],
): Part<'unknownVenues' | 'findPolicy' | 'decisions' | 'insertDecision'> {
  return {
    async unknownVenues(environment, venueIds) {
      const text = `SELECT n.venue_id FROM unnest($2::text[]) n (venue_id)
        WHERE NOT EXISTS (SELECT FROM gate.venues v WHERE v.environment = $1 AND v.venue_id = n.venue_id)`;
      const rows = await sql.query<{ venue_id: string }>({ text, values: [environment, venueIds] });
      return rows.map((row) => row.venue_id);
    },
    // Locked, so that a concurrent retirement happens before or after the decision.
    findPolicy: (environment, policyVersion) => policies.lock(sql, [environment, policyVersion], 'FOR SHARE'),
    async decisions(caseId) {
      const text = `SELECT ${DECISION_COLUMNS} FROM gate.decisions d WHERE case_id = $1 ORDER BY decided_at, decision_id`;
      return (await sql.query<Row>({ text, values: [caseId] })).map(decisionOf);
    },
    async insertDecision(decision) {
      await sql.query(insertDecisionStatement(decision));
    },
  };
}

function sealStatements(
  sql: Sql,
): Part<'findSeal' | 'findSealByRecord' | 'insertSeal' | 'endSeal' | 'addToOutbox' | 'removeFromOutbox'> {
  return {
    async findSeal(caseId, policyVersion) {
      const text = `SELECT ${SEAL_COLUMNS} FROM gate.seals s WHERE s.case_id = $1 AND s.policy_version = $2`;
      const [row] = await sql.query<Row>({ text, values: [caseId, policyVersion] });
      return row && sealOf(row);
    },
    async findSealByRecord(recordId) {
      const text = `SELECT ${SEAL_COLUMNS}, c.environment FROM gate.seals s JOIN gate.cases c USING (case_id)
        WHERE s.ledger_record_id = $1`;
      const [row] = await sql.query<Row & { readonly environment: string }>({ text, values: [recordId] });
      return row && { seal: sealOf(row), environment: row.environment };
    },
    async insertSeal(seal, at) {
      await sql.query(insertSealStatement(seal, at));
    },
    async endSeal({ case_id: caseId, policy_version: policyVersion }, status, at) {
      const text = `UPDATE gate.seals SET status = $3, sealed_at = CASE WHEN $3 = 'sealed' THEN $4::timestamptz END
        WHERE case_id = $1 AND policy_version = $2 AND status = 'pending' RETURNING 1`;
      return (await sql.query({ text, values: [caseId, policyVersion, status, at] })).length > 0;
    },
    addToOutbox: (record, dueInMs) => addToOutbox(sql, record, dueInMs),
    async removeFromOutbox(recordId) {
      await sql.query({ text: 'DELETE FROM gate.outbox WHERE record_id = $1', values: [recordId] });
    },
  };
}

function claimStatements(sql: Sql): Part<'lockClaim' | 'insertClaim'> {
  return {
    async lockClaim(claim) {
      await lockFor(sql, claim);
      const text = 'SELECT fingerprint, body FROM gate.claims WHERE claim = $1';
      const [row] = await sql.query<StoredClaim>({ name: 'gate claim', text, values: [claim] });
      return row;
    },
    async insertClaim(claim, { fingerprint, body }, at) {
      await sql.query({
        text: 'INSERT INTO gate.claims (claim, fingerprint, body, created_at) VALUES ($1, $2, $3, $4)',
        values: [claim, fingerprint, body, at],
      });
    },
  };
}

/** Takes a transaction-level lock named by the first 64 bits of a SHA-256. */
async function lockFor(sql: Sql, claim: Buffer): Promise<void> {
  await sql.query({ text: `SET LOCAL lock_timeout = ${CLAIM_WAIT_MS}` });
  try {
    await sql.query({ text: 'SELECT pg_advisory_xact_lock($1)', values: [claim.readBigInt64BE(0).toString()] });
  } catch (error) {
    if ((error as { code?: unknown }).code !== LOCK_NOT_AVAILABLE) throw error;
    throw new AppError('IDEMPOTENCY_IN_PROGRESS', 'Another request with this key is still running.', {
      retryAfterSeconds: 1,
      cause: error,
    });
  }
  await sql.query({ text: 'SET LOCAL lock_timeout = 0' });
}
