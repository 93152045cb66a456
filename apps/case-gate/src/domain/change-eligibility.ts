import type { KeyedHasher } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import { canonical } from '@sealgate/json';
import { notNow } from './case-states.ts';
import type { CaseTransaction } from './case-transaction.ts';
import {
  changed,
  isNewer,
  newRecord,
  storedStatus,
  type CurrentDecision,
  type EligibilityRecord,
} from './eligibility-record.ts';
import type { VersionedRecord } from './versioned-record.ts';

export interface EligibilityPorts {
  readonly recordIds: KeyedHasher;
  /** Authenticates decisions. */
  readonly decisionMacs: KeyedHasher;
  readonly now: () => number;
  /** Told of a subject whose stored record is not believed: a person must look at it. */
  readonly onCorrupt: (subject: Subject) => void;
}

export interface Subject {
  readonly environment: string;
  readonly subjectRef: string;
}

export const ELIGIBILITY_RECORD_TYPE = 'eligibility.record';

/** What the ledger ids of a subject's record are made of. */
export function eligibilityName({ environment, subjectRef }: Subject): string[] {
  return ['eligibility', environment, subjectRef];
}

/** A version of a subject's record; its document is what the ledger holds. */
export function eligibilityVersion(record: EligibilityRecord, document: string): VersionedRecord {
  const { environment, subject_ref: subjectRef, record_version: version } = record;
  return { name: eligibilityName({ environment, subjectRef }), type: ELIGIBILITY_RECORD_TYPE, version, data: document };
}

/** Makes a subject known, once it has a case. Nothing happens when it is. */
export async function registerSubject(
  tx: CaseTransaction,
  ports: EligibilityPorts,
  subject: Subject & { readonly actor: string },
): Promise<void> {
  const { environment, subjectRef, actor } = subject;
  const stored = await tx.lockEligibility(environment, subjectRef);
  if (stored.kind !== 'none') return;
  const record = newRecord(environment, subjectRef, new Date(ports.now()));
  await save(tx, record, { event: 'registered', actor, urgency: 'soon' });
}

/**
 * Lets a decision count: a decline once it is made, an approve once it is sealed. An older one than the one that counts
 * changes nothing. Over a record that is not believed nothing is written: the gate goes on denying.
 */
export async function applyDecision(
  tx: CaseTransaction,
  ports: EligibilityPorts,
  { environment, subjectRef, actor, candidate }: Subject & { actor: string; candidate: CurrentDecision },
): Promise<void> {
  const stored = await tx.lockEligibility(environment, subjectRef);
  if (stored.kind === 'corrupt') return ports.onCorrupt({ environment, subjectRef });
  const at = new Date(ports.now());
  const record = stored.kind === 'record' ? stored.record : newRecord(environment, subjectRef, at);
  if (!isNewer(candidate, record.current)) return;
  const next =
    stored.kind === 'record' ? changed(record, { current: candidate }, at) : { ...record, current: candidate };
  // What could let the subject in until now must not come back, so the ledger knows of its end before anybody is answered.
  const urgency = storedStatus(record) === 'eligible' ? 'before the answer' : 'soon';
  await save(tx, next, { event: candidate.decision === 'approve' ? 'approved' : 'declined', actor, urgency });
}

export type SubjectAction = 'suspend' | 'reinstate' | 'revoke';

/**
 * What an operator does to a subject. Done again, nothing happens. A record that is not believed can be revoked, which
 * is safe whatever it said, and nothing else. It is answered once the ledger has it, where the ledger answers in time.
 * @throws AppError NOT_FOUND, INVALID_STATE_TRANSITION with `current_status` for a subject that is revoked.
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
  if (stored.kind === 'corrupt') {
    ports.onCorrupt({ environment, subjectRef });
    if (action !== 'revoke') throw notNow('unknown');
    const blank = { ...newRecord(environment, subjectRef, at), record_version: stored.newestVersion };
    return save(tx, changed(blank, { revocation: restriction(at, reason) }, at), { event: 'revoked', actor, urgency });
  }
  const next = afterAction(stored.record, action, restriction(at, reason));
  if (next !== undefined) return save(tx, changed(stored.record, next, at), { event: PAST[action], actor, urgency });
  // Asked again perhaps because the first answer was lost: this one also means that the ledger has it.
  await tx.enter(eligibilityVersion(stored.record, canonical({ ...stored.record } as never)), urgency);
  return stored.record;
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
  if (status === 'revoked') throw notNow('revoked');
  if (action === 'suspend') return status === 'suspended' ? undefined : { suspension: given };
  return status === 'suspended' ? { suspension: null } : undefined;
}

async function save(
  tx: CaseTransaction,
  record: EligibilityRecord,
  by: { event: string; actor: string; urgency: 'before the answer' | 'soon' },
): Promise<EligibilityRecord> {
  const { urgency, ...told } = by;
  await tx.saveEligibility(record, told);
  await tx.enter(eligibilityVersion(record, canonical({ ...record } as never)), urgency);
  return record;
}
