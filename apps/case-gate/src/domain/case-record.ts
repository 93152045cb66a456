import type { JsonValue } from '@sealgate/json';
import type { CaseStatus } from './case-states.ts';

/** A case as it is stored. Members from `policyVersion` to `sealedAt` are of the current decision. */
export interface CaseRecord {
  readonly caseId: string;
  readonly environment: string;
  readonly subjectRef: string;
  readonly caseType: string;
  readonly status: CaseStatus;
  /** `['*']`: every active venue. */
  readonly venueIds: readonly string[];
  readonly externalRef: string | null;
  readonly requestedPolicyVersion: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly attachmentCount: number;
  readonly policyVersion: string | null;
  readonly decision: FinalDecision | null;
  readonly decisionId: string | null;
  readonly ledgerRecordId: string | null;
  readonly decidedAt: Date | null;
  readonly sealedAt: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** When it ends undecided. */
  readonly expiresAt: Date;
}

export type FinalDecision = 'approve' | 'decline';
export type DecisionOutcome = FinalDecision | 'refer';

export interface Decision {
  readonly decisionId: string;
  readonly caseId: string;
  readonly policyVersion: string;
  readonly isFinal: boolean;
  readonly decision: DecisionOutcome;
  /** Distinct, in code unit order. */
  readonly reasonCodes: readonly string[];
  readonly validUntil: Date | null;
  readonly decidedAt: Date;
  readonly decidedBy: string;
  /** Over the document that it would be sealed as; empty for a referral. */
  readonly mac: string;
}

export interface NewAttachment {
  readonly kind: 'vault_ref' | 'upload_handle';
  readonly ref: string;
  readonly sha256: string;
  readonly mediaType: string;
  readonly sizeBytes: number;
  readonly label: string | null;
}

export interface Attachment extends NewAttachment {
  readonly attachmentId: string;
}

/** One event of a case, chained to the one before it. */
export interface TimelineEvent {
  readonly seq: number;
  /** RFC 3339, UTC, milliseconds. */
  readonly at: string;
  readonly event: string;
  readonly actor: string;
  readonly data: JsonValue;
  readonly prev_hash: string | null;
  readonly hash: string;
}

export interface Seal {
  readonly caseId: string;
  readonly policyVersion: string;
  readonly decisionId: string;
  readonly ledgerRecordId: string;
  /** The canonical text that was hashed, and that the ledger holds. */
  readonly document: string;
  readonly sealHash: string;
  readonly sealVersion: number;
  readonly status: 'pending' | 'sealed' | 'conflict';
  readonly sealedAt: Date | null;
  /** JSON text, once a checkpoint covered the seal. */
  readonly proof: string | null;
}

export interface Policy {
  readonly policyVersion: string;
  readonly status: 'draft' | 'active' | 'retired';
  /** JSON text. */
  readonly rules: string | null;
}
