import { canonical, type JsonValue } from '@sealgate/json';
import type { KeyedHasher } from '@sealgate/auth';
import type { Attachment, CaseRecord } from './case-record.ts';
import { isAuthentic } from './eligibility-record.ts';

/**
 * What ids of cases begin with. Those of before went on with a hexadecimal digit, and had no MAC. Whoever decides a case
 * names its id, so nobody who has the database alone can take a MAC away.
 */
export const CASE_ID_PREFIX = 'case_m';

/** Authenticates what a case is decided by, as `<secretId>:<base64url>`. Status and decision are not part of it. */
export function caseMac(record: CaseRecord, attachments: readonly Attachment[], macs: KeyedHasher): string {
  const { id, digest } = macs.hash(textOf(record, attachments));
  return `${id}:${digest.toString('base64url')}`;
}

/** Whether a case is what was sent, or was made before there were MACs. */
export function isCaseAuthentic(
  { record, mac }: { record: CaseRecord; mac: string },
  attachments: readonly Attachment[],
  macs: KeyedHasher,
): boolean {
  return !record.caseId.startsWith(CASE_ID_PREFIX) || isAuthentic(mac, macs, [textOf(record, attachments)]);
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
