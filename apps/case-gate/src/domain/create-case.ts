import { AppError } from '@sealgate/errors';
import type { Claim } from '@sealgate/idempotency';
import type { CaseRecord, NewCase } from './case-record.ts';
import { isOpen, invalidTransition } from './case-states.ts';
import type { CaseTransaction, InTransaction } from './case-transaction.ts';
import { registerSubject, type EligibilityPorts } from './change-eligibility.ts';
import type { RecordOf } from './model.ts';

export interface Actor {
  readonly environment: string;
  /** The name in timelines: the id of a key, or an operator's identity. */
  readonly actor: string;
  /** The request id, where an operator acts and the action is audited. */
  readonly auditedIn?: string;
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
  { body, claim }: { body: RecordOf<typeof NewCase>; claim: Claim },
): Promise<{ body: string; replayed: boolean }> {
  return ports.inTransaction(async (tx) => {
    const known = await tx.lockClaim(claim.claim);
    if (known !== undefined) {
      if (claim.acceptable.includes(known.fingerprint)) return { body: known.body, replayed: true };
      throw new AppError('IDEMPOTENCY_KEY_REUSED', 'The Idempotency-Key was used before with another request.');
    }
    await requireVenues(tx, environment, body.venue_ids ?? []);
    const at = new Date(ports.now());
    const time = at.toISOString();
    const record: CaseRecord = {
      case_id: ports.newId('case_'),
      environment,
      subject_ref: body.subject_ref,
      case_type: body.case_type ?? 'onboarding',
      status: 'received',
      venue_ids: body.venue_ids ?? [],
      external_ref: body.external_ref ?? null,
      requested_policy_version: body.requested_policy_version ?? null,
      metadata: body.metadata ?? {},
      attachment_count: 0,
      policy_version: null,
      decision: null,
      decision_id: null,
      ledger_record_id: null,
      decided_at: null,
      sealed_at: null,
      created_at: time,
      updated_at: time,
      expires_at: new Date(at.getTime() + ports.caseTtlDays * DAY_MS).toISOString(),
    };
    const { case_id: caseId, subject_ref: subjectRef, case_type, venue_ids } = record;
    await tx.insertCase(record);
    const data = { subject_ref: subjectRef, case_type, venue_ids };
    await tx.addEvent(caseId, { event: 'case.received', actor, at, data });
    await registerSubject(tx, ports, { environment, subjectRef, actor });
    if (auditedIn !== undefined)
      await tx.audit({ action: 'case.create', caseId, actor, requestId: auditedIn, detail: { environment } });
    const answer = ports.render(record);
    await tx.insertClaim(claim.claim, { fingerprint: claim.fingerprint, body: answer }, at);
    return { body: answer, replayed: false };
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
  if (JSON.stringify(venueIds) === JSON.stringify(record.venue_ids)) return record;
  const next = { ...record, venue_ids: [...venueIds], updated_at: at.toISOString() };
  await tx.saveCase(next);
  await tx.addEvent(record.case_id, { event: 'case.venues_changed', actor, at, data: { venue_ids: [...venueIds] } });
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
