import type { KeyedHasher } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import { canonical } from '@sealgate/json';
import type { CaseRecord, Decision } from './case-record.ts';
import { invalidTransition } from './case-states.ts';
import type { CaseTransaction } from './case-transaction.ts';
import {
  changed,
  eligibilityName,
  eligibilityVersion,
  isNewer,
  isUnconfirmed,
  newRecord,
  storedStatus,
  type CurrentDecision,
  type EligibilityRecord,
  type Subject,
} from './eligibility-record.ts';
import { versionOfRow, type VersionedRecord } from './versioned-record.ts';

export interface EligibilityPorts {
  readonly recordIds: KeyedHasher;
  /** Authenticates decisions. */
  readonly decisionMacs: KeyedHasher;
  readonly now: () => number;
  /** Called for a subject with a corrupt record: an operator must look. */
  readonly onCorrupt: (subject: Subject) => void;
}

/** Creates the record of a subject with its first case. Does nothing where there is one. */
export async function registerSubject(
  tx: CaseTransaction,
  ports: EligibilityPorts,
  subject: Subject & { readonly actor: string },
): Promise<void> {
  const { environment, subjectRef, actor } = subject;
  const stored = await tx.lockEligibility(environment, subjectRef);
  if (stored.kind !== 'none') return;
  const record = newRecord(subject, new Date(ports.now()), stored.review);
  await save(tx, record, { event: 'registered', actor, urgency: 'soon' });
}

/**
 * Applies a decision to the subject's record: a decline when it is made, an approve when it is sealed. A decision older
 * than the current one changes nothing. A corrupt record is not changed: the gate keeps denying.
 */
export async function applyDecision(
  tx: CaseTransaction,
  ports: EligibilityPorts,
  {
    record: of,
    decision,
    ledgerId,
    actor,
  }: { record: CaseRecord; decision: Decision; ledgerId: string | null; actor: string },
): Promise<void> {
  const { environment, subject_ref: subjectRef } = of;
  const candidate = currentDecisionOf(of, decision, ledgerId);
  const stored = await tx.lockEligibility(environment, subjectRef);
  if (stored.kind === 'corrupt') return ports.onCorrupt({ environment, subjectRef });
  const at = new Date(ports.now());
  const loss = stored.review;
  const record = stored.kind === 'record' ? stored.record : newRecord({ environment, subjectRef }, at, loss);
  if (!isNewer(candidate, record.current)) return;
  const next =
    stored.kind === 'record' ? changed(record, { current: candidate, loss }, at) : { ...record, current: candidate };
  // A record that allowed entry must not be restored later, so its end is in the ledger before the answer.
  const urgency = storedStatus(record) === 'eligible' ? 'before the answer' : 'soon';
  await save(tx, next, { event: candidate.decision === 'approve' ? 'approved' : 'declined', actor, urgency });
}

/** A final decision, as it enters the record of its subject. */
function currentDecisionOf(record: CaseRecord, decision: Decision, ledgerId: string | null): CurrentDecision {
  return {
    decision: decision.decision === 'approve' ? 'approve' : 'decline',
    case_id: record.case_id,
    policy_version: decision.policy_version,
    decision_id: decision.decision_id,
    decided_at: decision.decided_at,
    ledger_record_id: ledgerId,
    reason_codes: decision.reason_codes,
    venue_ids: record.venue_ids,
    valid_from: decision.decided_at,
    valid_until: decision.valid_until,
  };
}

export type SubjectAction = 'suspend' | 'reinstate' | 'revoke';

/**
 * An operator's action on a subject. Idempotent. A corrupt record can only be revoked, which is safe whatever it says.
 * The ledger has the change before the answer, if it answers in time.
 * @throws AppError NOT_FOUND, INVALID_STATE_TRANSITION with `current_status` for a revoked subject.
 */
export async function changeSubject(
  tx: CaseTransaction,
  ports: EligibilityPorts,
  change: Subject & { readonly action: SubjectAction; readonly reason: string; readonly actor: string },
): Promise<EligibilityRecord> {
  const { environment, subjectRef, action, reason, actor } = change;
  const stored = await tx.lockEligibility(environment, subjectRef);
  if (stored.kind === 'none') throw new AppError('NOT_FOUND', 'There is no such subject.');
  const at = new Date(ports.now());
  const urgency = 'before the answer';
  const loss = stored.review;
  if (stored.kind === 'corrupt') {
    ports.onCorrupt({ environment, subjectRef });
    if (action !== 'revoke') throw invalidTransition('unknown');
    const blank = { ...newRecord(change, at, loss), record_version: stored.newestVersion };
    const revoked = changed(blank, { revocation: restriction(at, reason), loss }, at);
    return save(tx, revoked, { event: 'revoked', actor, urgency });
  }
  const next = afterAction(stored.record, action, restriction(at, reason));
  if (next === undefined) return { ...(await enterRepeated(tx, stored.record)), loss };
  return save(tx, changed(stored.record, { ...next, loss }, at), { event: PAST[action], actor, urgency });
}

/** For a repeated action, whose first answer may be lost: its answer too means that the ledger has the version. */
async function enterRepeated(tx: CaseTransaction, record: EligibilityRecord): Promise<EligibilityRecord> {
  await tx.enter(versionOf(record), 'before the answer');
  return record;
}

/**
 * Confirms a record that is denied because of declared losses: the operator has reviewed the named version and vouches
 * for it. The ledger gets that version, if it lost it, and the confirmation as the next one. Idempotent.
 * @throws AppError NOT_FOUND, PRECONDITION_FAILED where the record is at another version, INVALID_STATE_TRANSITION with
 * `current_status` for one that needs no confirmation, is revoked, or is corrupt.
 */
export async function confirmSubject(
  tx: CaseTransaction,
  ports: EligibilityPorts,
  {
    environment,
    subjectRef,
    recordVersion,
    actor,
  }: Subject & { readonly recordVersion: number; readonly actor: string },
): Promise<EligibilityRecord> {
  const stored = await tx.lockEligibility(environment, subjectRef);
  if (stored.kind === 'none') throw new AppError('NOT_FOUND', 'There is no such subject.');
  if (stored.kind === 'corrupt') {
    ports.onCorrupt({ environment, subjectRef });
    throw invalidTransition('unknown');
  }
  const { record, review } = stored;
  const isWaiting = review !== undefined && review.unconfirmed !== null;
  if (record.record_version === recordVersion + 1 && review !== undefined && !isWaiting)
    return enterRepeated(tx, record);
  if (record.record_version !== recordVersion) {
    throw new AppError('PRECONDITION_FAILED', `The record is at version ${record.record_version}: review it again.`);
  }
  const status = storedStatus(record);
  if (!isWaiting || status === 'revoked') throw invalidTransition(status);
  await tx.enter(versionOf(record), 'before the answer');
  const next = changed(record, { loss: { ...review, unconfirmed: null } }, new Date(ports.now()));
  return save(tx, next, { event: 'confirmed', actor, urgency: 'before the answer' });
}

/**
 * Marks a record as unconfirmed where declared losses require it, so that it is listed and the ledger knows.
 * `seenVersion`: a version that existed, 0 if none is known. False where nothing had to be done.
 */
export async function markUnconfirmed(
  tx: CaseTransaction,
  ports: Pick<EligibilityPorts, 'now'>,
  { environment, subjectRef, seenVersion }: Subject & { readonly seenVersion: number },
): Promise<boolean> {
  const stored = await tx.lockEligibility(environment, subjectRef);
  // A corrupt record is denied already.
  if (stored.kind === 'corrupt' || stored.review === undefined) return false;
  const record = stored.kind === 'record' ? stored.record : undefined;
  const from = record?.record_version ?? 0;
  const isBehind = from < seenVersion;
  const unconfirmed = isBehind ? 'newer_version_seen' : stored.review.unconfirmed;
  const isPutDown = record !== undefined && isUnconfirmed(record) && !isBehind;
  if (unconfirmed === null || isPutDown) return false;
  const at = new Date(ports.now());
  const loss = { epoch: stored.review.epoch, unconfirmed };
  if (record !== undefined) await tx.enter(versionOf(record), 'soon');
  // Otherwise an earlier row could be restored and the ledger would know of no later version.
  for (let version = from + 1; version <= seenVersion; version += 1) {
    const members = { environment, subject_ref: subjectRef, lost: true };
    await tx.enter(versionOfRow(eligibilityName({ environment, subjectRef }), version, members), 'soon');
  }
  const before = record ?? newRecord({ environment, subjectRef }, at, loss);
  const next = changed(before, { record_version: Math.max(from, seenVersion) + 1, loss }, at);
  await save(tx, next, { event: 'unconfirmed', actor: 'system', urgency: 'soon' });
  return true;
}

const PAST: Readonly<Record<SubjectAction, string>> = {
  suspend: 'suspended',
  reinstate: 'reinstated',
  revoke: 'revoked',
};

const restriction = (at: Date, reason: string) => ({ at: at.toISOString(), reason });

/** Undefined where nothing changes. */
function afterAction(record: EligibilityRecord, action: SubjectAction, given: { at: string; reason: string }) {
  const status = storedStatus(record);
  if (action === 'revoke') return status === 'revoked' ? undefined : { revocation: given };
  if (status === 'revoked') throw invalidTransition('revoked');
  if (action === 'suspend') return status === 'suspended' ? undefined : { suspension: given };
  return status === 'suspended' ? { suspension: null } : undefined;
}

async function save(
  tx: CaseTransaction,
  record: EligibilityRecord,
  by: { event: string; actor: string; urgency: 'before the answer' | 'soon' },
): Promise<EligibilityRecord> {
  const { urgency, ...change } = by;
  await tx.saveEligibility(record, change);
  await tx.enter(versionOf(record), urgency);
  return record;
}

function versionOf(record: EligibilityRecord): VersionedRecord {
  return eligibilityVersion(record, canonical({ ...record } as never));
}
