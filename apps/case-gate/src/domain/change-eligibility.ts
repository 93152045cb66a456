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
import { ledgerRecordId, ledgerRecordIds } from './ledger-record-id.ts';

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

/** What the ledger record of a version is named after. It must never change. */
function nameOf({ environment, subjectRef }: Subject, version: number): string[] {
  return ['eligibility', environment, subjectRef, String(version)];
}

/** Where the ledger may hold this version: one id for each secret, that of the current one first. */
export function eligibilityRecordIds(recordIds: KeyedHasher, subject: Subject, version: number): string[] {
  return ledgerRecordIds(recordIds, nameOf(subject, version));
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
  await save(tx, ports, newRecord(environment, subjectRef, new Date(ports.now())), { event: 'registered', actor });
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
  await save(tx, ports, next, { event: candidate.decision === 'approve' ? 'approved' : 'declined', actor });
}

export type SubjectAction = 'suspend' | 'reinstate' | 'revoke';

/**
 * What an operator does to a subject. Done again, nothing happens. A record that is not believed can be revoked, which
 * is safe whatever it said, and nothing else.
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
  if (stored.kind === 'corrupt') {
    ports.onCorrupt({ environment, subjectRef });
    if (action !== 'revoke') throw notNow('unknown');
    const blank = { ...newRecord(environment, subjectRef, at), record_version: stored.newestVersion };
    return save(tx, ports, changed(blank, { revocation: restriction(at, reason) }, at), { event: 'revoked', actor });
  }
  const next = afterAction(stored.record, action, restriction(at, reason));
  if (next === undefined) return stored.record;
  return save(tx, ports, changed(stored.record, next, at), { event: PAST[action], actor });
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
  ports: EligibilityPorts,
  record: EligibilityRecord,
  by: { event: string; actor: string },
): Promise<EligibilityRecord> {
  await tx.saveEligibility(record, by);
  const { environment, subject_ref: subjectRef, record_version: version } = record;
  await tx.addToOutbox({
    recordId: ledgerRecordId(ports.recordIds, nameOf({ environment, subjectRef }, version)),
    recordType: ELIGIBILITY_RECORD_TYPE,
    data: canonical({ ...record } as never),
    nextAttemptAt: new Date(ports.now()),
  });
  return record;
}
