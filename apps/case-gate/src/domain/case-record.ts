import type { KeyedHasher } from '@sealgate/auth';
import { canonicalHash, canonical, type JsonValue } from '@sealgate/json';
import { Type } from '@sinclair/typebox';
import {
  answered,
  CaseId,
  closedObject,
  enumOf,
  Environment,
  lineOfText,
  Name,
  named,
  OrNull,
  Outcome,
  PolicyVersion,
  ReasonCode,
  Sha256,
  SubjectRef,
  Text,
  Time,
  VenueIds,
} from '../schemas.ts';
import { CaseStatus } from './case-states.ts';
import type { RecordOf } from './model.ts';
import { isAuthentic, macOf } from './versioned-record.ts';

const Metadata = Type.Object(
  {},
  {
    maxProperties: 20,
    propertyNames: { type: 'string', minLength: 1, maxLength: 512 },
    additionalProperties: Type.String({ maxLength: 512 }),
  },
);
const ExternalRef = lineOfText({ min: 1, max: 256 });

/** A case. Members from `policy_version` to `sealed_at` belong to the current decision. */
export const Case = Type.Object({
  case_id: CaseId,
  environment: Environment,
  subject_ref: SubjectRef,
  case_type: Type.Literal('onboarding'),
  status: CaseStatus,
  venue_ids: VenueIds,
  external_ref: OrNull(ExternalRef),
  requested_policy_version: OrNull(PolicyVersion),
  metadata: Type.Unsafe<Record<string, string>>(Metadata),
  attachment_count: Type.Integer(),
  policy_version: OrNull(PolicyVersion),
  decision: OrNull(Outcome),
  decision_id: OrNull(Text),
  ledger_record_id: OrNull(Text),
  decided_at: OrNull(Time),
  sealed_at: OrNull(Time),
  created_at: Time,
  updated_at: Time,
  // When the case expires undecided.
  expires_at: Time,
});
export type CaseRecord = RecordOf<typeof Case>;

const asked = Type.Partial(Type.Pick(Case, ['case_type', 'venue_ids', 'metadata'])).properties;
export const NewCase = closedObject({
  subject_ref: SubjectRef,
  case_type: asked.case_type,
  venue_ids: asked.venue_ids,
  external_ref: Type.Optional(ExternalRef),
  requested_policy_version: Type.Optional(PolicyVersion),
  metadata: asked.metadata,
});
export const CreatedCase = named(
  'CreatedCase',
  answered(Type.Pick(Case, ['case_id', 'status', 'subject_ref', 'created_at'])),
);
export const CaseAnswer = named(
  'Case',
  answered(
    Type.Pick(Case, [
      ...(['case_id', 'status', 'subject_ref', 'venue_ids', 'policy_version', 'decision', 'decision_id'] as const),
      ...(['attachment_count', 'ledger_record_id', 'created_at', 'updated_at', 'decided_at', 'sealed_at'] as const),
      'expires_at',
    ]),
  ),
);
const further = answered(Type.Pick(Case, ['case_type', 'external_ref', 'requested_policy_version']));
export const CaseRow = named('CaseRow', Type.Object({ ...CaseAnswer.properties, ...further.properties }));

const Label = lineOfText({ min: 1, max: 200 });

/** A reference into the vault. */
export const Attachment = Type.Object({
  attachment_id: Text,
  kind: enumOf('AttachmentKind', ['vault_ref', 'upload_handle']),
  ref: lineOfText({ min: 1, max: 512 }),
  sha256: Sha256,
  media_type: lineOfText({ min: 1, max: 255 }),
  size_bytes: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  label: OrNull(Label),
});
export type Attachment = RecordOf<typeof Attachment>;

const { properties: reference } = Type.Omit(Attachment, ['attachment_id']);
export const NewAttachment = named('NewAttachment', closedObject({ ...reference, label: Type.Optional(Label) }));
export const AttachmentAnswer = named(
  'Attachment',
  answered(Type.Pick(Attachment, ['attachment_id', 'kind', 'ref', 'sha256'])),
);
export const CaseReference = named('CaseReference', Type.Object({ ...answered(Attachment).properties, kind: Text }));
export const PackAttachment = named('PackAttachment', answered(Type.Pick(Attachment, ['attachment_id', 'sha256'])));

export type DecisionOutcome = RecordOf<typeof Outcome>;
export type FinalDecision = Exclude<DecisionOutcome, 'refer'>;

/** A decision. Its reason codes are distinct, in code unit order. */
export const Decision = Type.Object({
  decision_id: Text,
  case_id: CaseId,
  policy_version: PolicyVersion,
  is_final: Type.Boolean(),
  decision: Outcome,
  reason_codes: Type.Array(ReasonCode, { maxItems: 20 }),
  valid_until: OrNull(Time),
  decided_at: Time,
  decided_by: Name,
  // Covers the seal document of the decision; empty for a referral.
  mac: Text,
});
export type Decision = RecordOf<typeof Decision>;

const order = Type.Partial(Type.Pick(Decision, ['decision', 'reason_codes', 'decided_by'])).properties;
export const NewDecision = closedObject({
  policy_version: PolicyVersion,
  decision: order.decision,
  reason_codes: order.reason_codes,
  valid_until: Type.Optional(Time),
  decided_by: order.decided_by,
});
export const CaseDecision = named(
  'CaseDecision',
  Type.Object({
    ...answered(Type.Pick(Case, ['case_id', 'status'])).properties,
    ...answered(
      Type.Pick(Decision, [
        ...(['policy_version', 'decision', 'decision_id', 'reason_codes', 'decided_at', 'valid_until'] as const),
      ]),
    ).properties,
  }),
);
export const RecordedDecision = named(
  'RecordedDecision',
  answered(
    Type.Pick(Decision, [
      ...(['decision_id', 'policy_version', 'decision', 'is_final', 'reason_codes'] as const),
      ...(['valid_until', 'decided_at', 'decided_by'] as const),
    ]),
  ),
);

export const PackDecision = Type.Omit(RecordedDecision, ['is_final']);

/** The seal of a decision. */
export const Seal = Type.Object({
  case_id: CaseId,
  policy_version: PolicyVersion,
  decision_id: Text,
  ledger_record_id: Text,
  // The canonical text that was hashed and written to the ledger.
  document: Text,
  seal_hash: Text,
  seal_version: Type.Integer(),
  status: Type.Union([Type.Literal('pending'), Type.Literal('sealed'), Type.Literal('conflict')]),
  sealed_at: OrNull(Time),
  // JSON text; null until a checkpoint covers the seal.
  proof: OrNull(Text),
});
export type Seal = RecordOf<typeof Seal>;

const sealed = Type.Object({
  ...answered(Type.Pick(Case, ['case_id', 'status'])).properties,
  ...answered(Type.Pick(Seal, ['policy_version', 'ledger_record_id', 'seal_hash', 'seal_version'])).properties,
  sealed_at: Time,
});
export const CaseSeal = named('CaseSeal', sealed);
/** Named differently from `CaseSeal`, because the description of administration also lists the scope case:seal. */
export const SealedCase = named('SealedCase', sealed);
export const RecordedSeal = named(
  'RecordedSeal',
  answered(Type.Pick(Seal, ['policy_version', 'decision_id', 'ledger_record_id', 'seal_hash', 'sealed_at'])),
);

/** An event of a case, chained by hash to the previous one. */
export const TimelineEntry = named(
  'TimelineEntry',
  Type.Object({
    seq: Type.Integer(),
    at: Time,
    event: Text,
    actor: Text,
    data: Type.Unsafe<JsonValue>(Type.Object({}, { additionalProperties: true })),
    prev_hash: OrNull(Text),
    hash: Text,
  }),
);
export type TimelineEvent = RecordOf<typeof TimelineEntry>;

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
  return macOf(macs, [textOf(record, attachments)]);
}

/** Whether what the case is decided by is what its process wrote. */
export function isCaseAuthentic(
  { record, mac }: { record: CaseRecord; mac: string },
  attachments: readonly Attachment[],
  macs: KeyedHasher,
): boolean {
  return isAuthentic(mac, macs, [textOf(record, attachments)]);
}

/** What never changes of a case, and its venues and attachments. The members must stay these. */
function textOf(record: CaseRecord, attachments: readonly Attachment[]): string {
  const { case_id, environment, subject_ref, case_type, venue_ids, metadata } = record;
  const { external_ref, requested_policy_version, created_at, expires_at } = record;
  const references = attachments.map(({ attachment_id, kind, ref, sha256, media_type, size_bytes, label }) => {
    return { attachment_id, kind, ref, sha256, media_type, size_bytes, label };
  });
  return canonical({
    case_id,
    environment,
    subject_ref,
    case_type,
    venue_ids,
    metadata,
    external_ref,
    requested_policy_version,
    created_at,
    expires_at,
    attachments: references,
  });
}
