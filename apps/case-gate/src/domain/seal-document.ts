import type { KeyedHasher } from '@sealgate/auth';
import { canonical, type JsonValue } from '@sealgate/json';
import type { Attachment, CaseRecord, Decision } from './case-record.ts';
import { isAuthentic } from './eligibility-record.ts';

export const SEAL_VERSION = 1;

/**
 * The canonical text that a final decision is sealed as. All that is in it stands still from the decision on: venues and
 * attachments can be changed before one only.
 */
export function sealDocument(
  record: Pick<CaseRecord, 'caseId' | 'subjectRef' | 'environment' | 'venueIds'>,
  decision: Omit<Decision, 'mac'>,
  attachments: readonly Attachment[],
): string {
  const document: JsonValue = {
    v: SEAL_VERSION,
    case_id: record.caseId,
    subject_ref: record.subjectRef,
    environment: record.environment,
    venue_ids: [...record.venueIds],
    policy_version: decision.policyVersion,
    decision: decision.decision,
    reason_codes: [...decision.reasonCodes],
    valid_until: decision.validUntil?.toISOString() ?? null,
    decided_at: decision.decidedAt.toISOString(),
    decision_id: decision.decisionId,
    attachments: attachments.map(({ attachmentId, sha256 }) => ({ attachment_id: attachmentId, sha256 })),
  };
  return canonical(document);
}

/** Authenticates what was decided, as `<secretId>:<base64url>`. */
export function decisionMac(document: string, macs: KeyedHasher): string {
  const { id, digest } = macs.hash(document);
  return `${id}:${digest.toString('base64url')}`;
}

/** Whether this is the document of what was decided then. */
export function isDecided(document: string, { mac }: Pick<Decision, 'mac'>, macs: KeyedHasher): boolean {
  return isAuthentic(mac, macs, [document]);
}
