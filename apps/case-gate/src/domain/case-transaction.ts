import type { Attachment, CaseRecord, Decision, Seal, NewEvent } from './case-record.ts';
import type { EligibilityRecord, LossReview, StoredRecord } from './eligibility-record.ts';
import type { Policy } from './policy.ts';
import type { VersionedRecord } from './versioned-record.ts';

/** A stored claim of an Idempotency-Key. */
export interface StoredClaim {
  readonly fingerprint: string;
  readonly body: string;
}

/** A record waiting for the ledger. */
export interface OutboxRecord {
  readonly recordId: string;
  readonly recordType: string;
  /** Canonical JSON. */
  readonly data: string;
}

/**
 * The stored record of a subject: authentic, corrupt, or none. `review` is its standing under the losses declared by
 * now, which the next version carries; the record itself carries the standing at the time it was made.
 */
export type StoredEligibility = StoredRecord & { readonly review: LossReview | undefined };

/** An operator's action on a case, for the audit. Actions by key are in the timeline only. */
export interface CaseAction {
  readonly action: string;
  readonly caseId: string;
  readonly actor: string;
  readonly requestId: string;
  readonly detail: Readonly<Record<string, string>>;
}

/** The ports of one transaction over cases and subjects. A locked case stays unchanged until the end. */
export interface CaseTransaction {
  /** Locks and reads a case of this environment. */
  lockCase(environment: string, caseId: string): Promise<CaseRecord | undefined>;
  insertCase(record: CaseRecord): Promise<void>;
  /** Writes the mutable members of a case. */
  saveCase(record: CaseRecord): Promise<void>;
  addEvent(caseId: string, event: NewEvent): Promise<void>;
  audit(deed: CaseAction): Promise<void>;
  /** The given ids that no venue of the environment has. */
  unknownVenues(environment: string, venueIds: readonly string[]): Promise<string[]>;
  attachments(caseId: string): Promise<Attachment[]>;
  /** The attachments of the case with one of these references. */
  attachmentsWith(caseId: string, refs: readonly string[]): Promise<Attachment[]>;
  insertAttachments(caseId: string, attachments: readonly Attachment[], at: Date): Promise<void>;
  findPolicy(environment: string, policyVersion: string): Promise<Policy | undefined>;
  decisions(caseId: string): Promise<Decision[]>;
  insertDecision(decision: Decision): Promise<void>;
  findSeal(caseId: string, policyVersion: string): Promise<Seal | undefined>;
  findSealByRecord(ledgerRecordId: string): Promise<{ readonly seal: Seal; readonly environment: string } | undefined>;
  insertSeal(seal: Seal, at: Date): Promise<void>;
  /** Completes a pending seal; false where it was completed before. */
  endSeal(seal: Seal, status: 'sealed' | 'conflict', at: Date): Promise<boolean>;
  /** A worker sends it after `dueInMs`, unless it was removed by then. */
  addToOutbox(record: OutboxRecord, dueInMs: number): Promise<void>;
  removeFromOutbox(recordId: string): Promise<void>;
  /** Writes a version to the ledger: soon after the commit, or before the transaction's caller continues. */
  enter(record: VersionedRecord, urgency: 'before the answer' | 'soon'): Promise<void>;
  /** Locks and reads the record of a subject. Also locks a subject without a record. */
  lockEligibility(environment: string, subjectRef: string): Promise<StoredEligibility>;
  saveEligibility(record: EligibilityRecord, by: { readonly event: string; readonly actor: string }): Promise<void>;
  /**
   * Locks a claim and reads it.
   * @throws AppError IDEMPOTENCY_IN_PROGRESS where it stays locked for longer than the contract's wait.
   */
  lockClaim(claim: Buffer): Promise<StoredClaim | undefined>;
  insertClaim(claim: Buffer, stored: StoredClaim, at: Date): Promise<void>;
}

/** Runs work in one transaction. */
export type InTransaction = <Result>(work: (tx: CaseTransaction) => Promise<Result>) => Promise<Result>;
