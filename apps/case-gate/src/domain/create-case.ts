import { AppError } from '@sealgate/errors';
import type { Claim } from '@sealgate/idempotency';
import type { CaseRecord } from './case-record.ts';
import { isOpen, invalidTransition } from './case-states.ts';
import type { CaseTransaction, InTransaction } from './case-transaction.ts';
import { registerSubject, type EligibilityPorts } from './change-eligibility.ts';

export interface Actor {
  readonly environment: string;
  /** The name in timelines: the id of a key, or an operator's identity. */
  readonly actor: string;
  /** The request id, where an operator acts and the action is audited. */
  readonly auditedIn?: string;
}

interface NewCase {
  readonly subjectRef: string;
  readonly caseType: string;
  readonly venueIds: readonly string[];
  readonly externalRef: string | null;
  readonly requestedPolicyVersion: string | null;
  readonly metadata: Readonly<Record<string, string>>;
}

export interface CreateCasePorts extends EligibilityPorts {
  readonly inTransaction: InTransaction;
  readonly newId: (prefix: string) => string;
  readonly caseTtlDays: number;
  /** Renders the answer, which is stored and sent again for a repeated request. */
  readonly render: (record: CaseRecord) => string;
}

const DAY_MS = 86_400_000;

/**
 * Creates a case, once for each claim: the claim is a row of the same transaction, locked while it runs.
 * @throws AppError IDEMPOTENCY_KEY_REUSED, IDEMPOTENCY_IN_PROGRESS, UNKNOWN_VENUE.
 */
export function createCase(
  ports: CreateCasePorts,
  { environment, actor, auditedIn }: Actor,
  { fields, claim }: { fields: NewCase; claim: Claim },
): Promise<{ body: string; replayed: boolean }> {
  return ports.inTransaction(async (tx) => {
    const known = await tx.lockClaim(claim.claim);
    if (known !== undefined) {
      if (claim.acceptable.includes(known.fingerprint)) return { body: known.body, replayed: true };
      throw new AppError('IDEMPOTENCY_KEY_REUSED', 'The Idempotency-Key was used before with another request.');
    }
    await requireVenues(tx, environment, fields.venueIds);
    const at = new Date(ports.now());
    const record: CaseRecord = {
      ...fields,
      caseId: ports.newId('case_'),
      environment,
      status: 'received',
      attachmentCount: 0,
      policyVersion: null,
      decision: null,
      decisionId: null,
      ledgerRecordId: null,
      decidedAt: null,
      sealedAt: null,
      createdAt: at,
      updatedAt: at,
      expiresAt: new Date(at.getTime() + ports.caseTtlDays * DAY_MS),
    };
    await tx.insertCase(record);
    const data = { subject_ref: fields.subjectRef, case_type: fields.caseType, venue_ids: [...fields.venueIds] };
    await tx.addEvent(record.caseId, { event: 'case.received', actor, at, data });
    await registerSubject(tx, ports, { environment, subjectRef: fields.subjectRef, actor });
    if (auditedIn !== undefined) {
      const { caseId } = record;
      await tx.audit({ action: 'case.create', caseId, actor, requestId: auditedIn, detail: { environment } });
    }
    const body = ports.render(record);
    await tx.insertClaim(claim.claim, { fingerprint: claim.fingerprint, body }, at);
    return { body, replayed: false };
  });
}

/** Sets the venues of a case, before a decision. @throws AppError INVALID_STATE_TRANSITION, UNKNOWN_VENUE. */
export async function changeVenues(
  tx: CaseTransaction,
  record: CaseRecord,
  { venueIds, actor, at }: { venueIds: readonly string[]; actor: string; at: Date },
): Promise<CaseRecord> {
  if (!isOpen(record.status)) throw invalidTransition(record.status);
  await requireVenues(tx, record.environment, venueIds);
  if (JSON.stringify(venueIds) === JSON.stringify(record.venueIds)) return record;
  const next = { ...record, venueIds, updatedAt: at };
  await tx.saveCase(next);
  await tx.addEvent(record.caseId, { event: 'case.venues_changed', actor, at, data: { venue_ids: [...venueIds] } });
  return next;
}

async function requireVenues(tx: CaseTransaction, environment: string, venueIds: readonly string[]): Promise<void> {
  const named = venueIds.filter((venueId) => venueId !== '*');
  if (named.length === 0) return;
  const unknown = await tx.unknownVenues(environment, named);
  if (unknown.length === 0) return;
  throw new AppError('UNKNOWN_VENUE', 'A named venue does not exist.', {
    faults: unknown.map((venueId) => ({
      in: 'body',
      pointer: `/venue_ids/${venueIds.indexOf(venueId)}`,
      detail: 'There is no such venue.',
    })),
  });
}
