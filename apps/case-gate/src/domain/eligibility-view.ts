import { sealEligibility, type DocumentSigner } from '@sealgate/envelope';
import { Type } from '@sinclair/typebox';
import { answerOf, enumOf, named, OrNull, Text, Texts, Time } from '../schemas.ts';
import { CurrentDecision, storedStatus, type EligibilityRecord, type LossReview } from './eligibility-record.ts';
import type { RecordOf } from './model.ts';

export const EligibilityStatus = enumOf(
  'EligibilityStatus',
  ['eligible', 'ineligible', 'pending', 'expired', 'unconfirmed', 'suspended', 'revoked'],
  {
    description:
      'As the gate decides. `unconfirmed`: ledger records were declared lost, and this record allows no entry until an operator confirms it.',
  },
);

export const EligibilityAnswer = named(
  'Eligibility',
  Type.Object({
    subject_ref: Text,
    status: EligibilityStatus,
    policy_version: OrNull(Text),
    case_id: OrNull(Text),
    decision_id: OrNull(Text),
    ledger_record_id: OrNull(Text),
    reason_codes: Texts,
    venue_ids: Texts,
    valid_from: OrNull(Time),
    valid_until: OrNull(Time),
    revoked_at: OrNull(Time),
    revocation_reason: OrNull(Text),
    as_of: Time,
    record_version: Type.Integer({ minimum: 1 }),
    evidence_hash: Type.String({
      description: 'SHA-256 over the canonical form (RFC 8785) of the other members except `signature`.',
    }),
    signature: Type.String({ description: 'Detached JWS (EdDSA) over the bytes that evidence_hash covers.' }),
  }),
);

/** The signed view of a record: its status now, under the losses declared by now. */
export function eligibilityView(
  record: EligibilityRecord,
  review: LossReview | undefined,
  { now, signer }: { readonly now: () => number; readonly signer: DocumentSigner },
) {
  const nowMs = now();
  const { current, revocation } = record;
  const rest = {
    subject_ref: record.subject_ref,
    status: statusAt({ ...record, loss: review }, nowMs),
    ...(current === null ? UNDECIDED : answerOf(Shown, current)),
    revoked_at: revocation?.at ?? null,
    revocation_reason: revocation?.reason ?? null,
    as_of: new Date(nowMs).toISOString(),
    record_version: record.record_version,
  };
  return sealEligibility(rest, (bytes) => signer.sign(bytes));
}

/** The members of a decision that are shown, without one. */
const UNDECIDED = {
  policy_version: null,
  case_id: null,
  decision_id: null,
  ledger_record_id: null,
  reason_codes: [],
  venue_ids: [],
  valid_from: null,
  valid_until: null,
} satisfies { [Name in keyof CurrentDecision]?: null | [] };

const Shown = Type.Pick(CurrentDecision, Object.keys(UNDECIDED) as (keyof typeof UNDECIDED)[]);

/** The status of a record at a time: an approval ends without a change of its row. */
export function statusAt(record: EligibilityRecord, nowMs: number): RecordOf<typeof EligibilityStatus> {
  const status = storedStatus(record);
  const until = record.current?.valid_until ?? null;
  return status === 'eligible' && until !== null && nowMs >= Date.parse(until) ? 'expired' : status;
}
