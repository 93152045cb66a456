import type { KeyedHasher } from '@sealgate/auth';
import { canonicalHash, canonical, type JsonValue } from '@sealgate/json';
import type { CaseStatus } from './case-states.ts';
import { isAuthentic } from './versioned-record.ts';

/** A stored case. Members from `policyVersion` to `sealedAt` belong to the current decision. */
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
  /** When the case expires undecided. */
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
  /** Covers the seal document of the decision; empty for a referral. */
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

/** An event of a case, chained by hash to the previous one. */
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
  /** The canonical text that was hashed and written to the ledger. */
  readonly document: string;
  readonly sealHash: string;
  readonly sealVersion: number;
  readonly status: 'pending' | 'sealed' | 'conflict';
  readonly sealedAt: Date | null;
  /** JSON text; null until a checkpoint covers the seal. */
  readonly proof: string | null;
}

export interface NewEvent {
  readonly event: string;
  readonly actor: string;
  readonly at: Date;
  /** Ids, hashes and codes; never vault references or policy rules. */
  readonly data: { readonly [member: string]: JsonValue };
}

/** The event after `previous`. Its hash is SHA-256 over the canonical form of its other members. */
export function chainEvent(
  previous: { readonly seq: number; readonly hash: string } | undefined,
  { event, actor, at, data }: NewEvent,
): TimelineEvent {
  const rest = {
    seq: (previous?.seq ?? 0) + 1,
    at: at.toISOString(),
    event,
    actor,
    data: data as JsonValue,
    prev_hash: previous?.hash ?? null,
  };
  return { ...rest, hash: canonicalHash(rest) };
}

/** Authenticates what a case is decided by, as `<secretId>:<base64url>`. Covers neither status nor decision. */
export function caseMac(record: CaseRecord, attachments: readonly Attachment[], macs: KeyedHasher): string {
  const { id, digest } = macs.hash(textOf(record, attachments));
  return `${id}:${digest.toString('base64url')}`;
}

/** Whether what the case is decided by is what its process wrote. */
export function isCaseAuthentic(
  { record, mac }: { record: CaseRecord; mac: string },
  attachments: readonly Attachment[],
  macs: KeyedHasher,
): boolean {
  return isAuthentic(mac, macs, [textOf(record, attachments)]);
}

function textOf(record: CaseRecord, attachments: readonly Attachment[]): string {
  const { caseId, environment, subjectRef, caseType, venueIds, externalRef, requestedPolicyVersion, metadata } = record;
  const document: JsonValue = {
    ...{
      case_id: caseId,
      environment,
      subject_ref: subjectRef,
      case_type: caseType,
      venue_ids: [...venueIds],
      metadata,
    },
    ...{ external_ref: externalRef, requested_policy_version: requestedPolicyVersion },
    ...{ created_at: record.createdAt.toISOString(), expires_at: record.expiresAt.toISOString() },
    attachments: attachments.map(({ attachmentId, kind, ref, sha256, mediaType, sizeBytes, label }) => ({
      ...{ attachment_id: attachmentId, kind, ref, sha256, media_type: mediaType, size_bytes: sizeBytes, label },
    })),
  };
  return canonical(document);
}
