import type { Attachment, CaseRecord, Decision, NewAttachment, Policy, Seal } from './case-record.ts';
import type { EligibilityRecord, LossReview } from './eligibility-record.ts';
import type { NewEvent } from './timeline.ts';
import type { VersionedRecord } from './versioned-record.ts';

/** A claim of an Idempotency-Key, as it is stored. */
export interface StoredClaim {
  readonly fingerprint: string;
  readonly body: string;
}

/** A record on its way to the ledger. */
export interface OutboxRecord {
  readonly recordId: string;
  readonly recordType: string;
  /** Canonical JSON. */
  readonly data: string;
  readonly nextAttemptAt: Date;
}

/**
 * What a subject's record is said to be: one that was believed, one that was not, or none. `review` is how it stands to
 * declared losses now, and what the next version has to say of them; the record itself says what it said when it was made.
 */
export type StoredEligibility = (
  | { readonly kind: 'none' }
  | { readonly kind: 'record'; readonly record: EligibilityRecord }
  | { readonly kind: 'corrupt'; readonly newestVersion: number }
) & { readonly review: LossReview | undefined };

/** What an operator did with a case, for the audit; a key of the public listener stands in the timeline alone. */
export interface CaseDeed {
  readonly action: string;
  readonly caseId: string;
  readonly actor: string;
  readonly requestId: string;
  readonly detail: Readonly<Record<string, string>>;
}

/** What one transaction can do with cases and subjects. A case that was locked stays as it is until the end. */
export interface CaseTransaction {
  /** The case of this environment, held against every other writer. */
  lockCase(environment: string, caseId: string): Promise<CaseRecord | undefined>;
  insertCase(record: CaseRecord): Promise<void>;
  /** Writes the members that a case can change. */
  saveCase(record: CaseRecord): Promise<void>;
  addEvent(caseId: string, event: NewEvent): Promise<void>;
  audit(deed: CaseDeed): Promise<void>;
  /** Those of the ids that no venue of the environment has. */
  unknownVenues(environment: string, venueIds: readonly string[]): Promise<string[]>;
  attachments(caseId: string): Promise<Attachment[]>;
  /** The attachments of the case that have one of these references. */
  attachmentsWith(caseId: string, refs: readonly string[]): Promise<Attachment[]>;
  insertAttachments(
    caseId: string,
    attachments: readonly (NewAttachment & { attachmentId: string })[],
    at: Date,
  ): Promise<void>;
  findPolicy(environment: string, policyVersion: string): Promise<Policy | undefined>;
  decisions(caseId: string): Promise<Decision[]>;
  insertDecision(decision: Decision): Promise<void>;
  findSeal(caseId: string, policyVersion: string): Promise<Seal | undefined>;
  findSealByRecord(ledgerRecordId: string): Promise<{ readonly seal: Seal; readonly environment: string } | undefined>;
  insertSeal(seal: Seal, at: Date): Promise<void>;
  /** Ends a pending seal; false when it had ended before. */
  endSeal(seal: Seal, status: 'sealed' | 'conflict', at: Date): Promise<boolean>;
  addToOutbox(record: OutboxRecord): Promise<void>;
  removeFromOutbox(recordId: string): Promise<void>;
  /** Has a version written to the ledger: soon after the commit, or before whoever runs the transaction goes on. */
  enter(record: VersionedRecord, urgency: 'before the answer' | 'soon'): Promise<void>;
  /** The record of a subject, held against every other writer, also while there is none. */
  lockEligibility(environment: string, subjectRef: string): Promise<StoredEligibility>;
  saveEligibility(record: EligibilityRecord, by: { readonly event: string; readonly actor: string }): Promise<void>;
  /**
   * Holds a claim against the same one elsewhere, and reads it.
   * @throws AppError IDEMPOTENCY_IN_PROGRESS when it is held for longer than the contract lets a caller wait.
   */
  lockClaim(claim: Buffer): Promise<StoredClaim | undefined>;
  insertClaim(claim: Buffer, stored: StoredClaim, at: Date): Promise<void>;
}

/** Runs work as one transaction: all of it, or nothing. */
export type InTransaction = <Result>(work: (tx: CaseTransaction) => Promise<Result>) => Promise<Result>;
