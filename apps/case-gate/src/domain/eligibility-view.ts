import { sealEligibility, type DocumentSigner } from '@sealgate/envelope';
import { storedStatus, type CurrentDecision, type EligibilityRecord, type LossReview } from './eligibility-record.ts';

export const ELIGIBILITY_STATUSES = [
  'eligible',
  'ineligible',
  'pending',
  'expired',
  'unconfirmed',
  'suspended',
  'revoked',
] as const;
export type EligibilityStatus = (typeof ELIGIBILITY_STATUSES)[number];

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
    ...(current === null ? UNDECIDED : decisionView(current)),
    revoked_at: revocation?.at ?? null,
    revocation_reason: revocation?.reason ?? null,
    as_of: new Date(nowMs).toISOString(),
    record_version: record.record_version,
  };
  return sealEligibility(rest, (bytes) => signer.sign(bytes));
}

const UNDECIDED = {
  policy_version: null,
  case_id: null,
  decision_id: null,
  ledger_record_id: null,
  reason_codes: [],
  venue_ids: [],
  valid_from: null,
  valid_until: null,
};

function decisionView(current: CurrentDecision) {
  return {
    policy_version: current.policy_version,
    case_id: current.case_id,
    decision_id: current.decision_id,
    ledger_record_id: current.ledger_record_id,
    reason_codes: [...current.reason_codes],
    venue_ids: [...current.venue_ids],
    valid_from: current.valid_from,
    valid_until: current.valid_until,
  };
}

function statusAt(record: EligibilityRecord, nowMs: number): EligibilityStatus {
  const status = storedStatus(record);
  const until = record.current?.valid_until ?? null;
  return status === 'eligible' && until !== null && nowMs >= Date.parse(until) ? 'expired' : status;
}
