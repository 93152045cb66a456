import type { ChainedDecision } from '@sealgate/envelope';
import type { MembersOf } from '@sealgate/schemas';
import { Type } from '@sinclair/typebox';
import { named, OrNull, Sha256, Text, Time, Verdict } from '../schemas.ts';
import type { RecordOf } from './model.ts';

/** Reasons that say nothing about the subject: a fact could not be established. */
export const FAIL_CLOSED_REASONS = [
  'BACKEND_UNAVAILABLE',
  'DEADLINE_EXCEEDED',
  'RECORD_INTEGRITY_FAILED',
  'OVERLOADED',
  'INTERNAL_ERROR',
] as const;

export const DENY_REASONS = [
  'SUBJECT_UNKNOWN',
  'ELIGIBILITY_REVOKED',
  'ELIGIBILITY_SUSPENDED',
  'ELIGIBILITY_UNCONFIRMED',
  'NO_SEALED_DECISION',
  'INELIGIBLE',
  'ELIGIBILITY_NOT_YET_VALID',
  'ELIGIBILITY_EXPIRED',
  'POLICY_VERSION_MISMATCH',
  'VENUE_UNKNOWN',
  'VENUE_NOT_PERMITTED',
] as const;

export type GateDenial = (typeof FAIL_CLOSED_REASONS)[number] | (typeof DENY_REASONS)[number];
export type GateReason = 'ELIGIBLE' | GateDenial;

/** A decision, as it is logged: members of the hash chain of `@sealgate/envelope`, and its hash. */
export const LoggedDecision = named(
  'LoggedDecision',
  Type.Object({
    decision_id: Text,
    process: Type.String({ description: 'The process that made the decision.' }),
    seq: Type.Integer({ description: 'Sequence number within the process, from 1 without gaps.' }),
    environment: Text,
    key_id: Text,
    request_id: Text,
    subject_ref: OrNull(Text),
    venue_id: OrNull(Text),
    action: Text,
    decision: Verdict,
    reason_codes: Type.Array(Text),
    fail_closed: Type.Boolean(),
    policy_version: OrNull(Text),
    ledger_record_id: OrNull(Text),
    record_version: OrNull(Type.Integer()),
    evaluated_at: Time,
    hash: OrNull(Sha256, {
      description:
        'Hash chain of the process: SHA-256 over the canonical form (RFC 8785) of the other members and `prev_hash`, the hash of the previous decision or null. Null for decisions written by an earlier version.',
    }),
  } satisfies MembersOf<ChainedDecision & { readonly hash: string | null }>),
);
export type LoggedDecision = RecordOf<typeof LoggedDecision>;

/** What a check answers. `valid_until` is the end of eligibility, for display on an allow; null otherwise. */
export const GateAnswer = named(
  'GateDecision',
  Type.Object({
    decision: Verdict,
    allow: Type.Boolean(),
    decision_id: Text,
    subject_ref: Text,
    venue_id: Text,
    policy_version: OrNull(Text),
    reason_codes: Type.Array(Text, { minItems: 1, maxItems: 1 }),
    ledger_record_id: OrNull(Text),
    evaluated_at: Time,
    valid_until: OrNull(Time),
    fail_closed: Type.Boolean(),
  }),
);

/** A decision of the gate, with what the log needs besides the answer. Its ids are as they were asked about. */
export interface GateDecision
  extends RecordOf<typeof GateAnswer>, Pick<LoggedDecision, 'seq' | 'environment' | 'action' | 'record_version'> {
  readonly reason_codes: [GateReason];
}
