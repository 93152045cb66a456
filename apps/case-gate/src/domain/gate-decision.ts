import { storedStatus, type EligibilityRecord } from './eligibility-record.ts';

/** Reasons that say nothing of the subject: what had to be known could not be. */
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

export type FailClosedReason = (typeof FAIL_CLOSED_REASONS)[number];
export type DenyReason = (typeof DENY_REASONS)[number];
export type GateReason = 'ELIGIBLE' | FailClosedReason | DenyReason;

/** Who wants to enter where. An id that no subject or venue can have is one that is not there. */
export interface Entry {
  readonly environment: string;
  readonly subjectRef: string;
  readonly venueId: string;
  readonly action: string;
  /** The version the venue insists on; undefined: any. */
  readonly policyVersion: string | undefined;
}

export interface KnownVenue {
  readonly environment: string;
  readonly venueId: string;
  readonly active: boolean;
}

/** What the primary said just now, after every row was authenticated: undefined where there is none. */
export interface EntryFacts {
  /** False: a row is not what was written, or older than one that was seen. */
  readonly isIntact: boolean;
  /** False: ledger records were declared lost, and an operator has to confirm the record first. */
  readonly isConfirmed: boolean;
  readonly record: EligibilityRecord | undefined;
  readonly venue: KnownVenue | undefined;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

/** One thing that must be so. `holds` has to say true itself: everything else, and any error, is a denial. */
export interface Condition {
  readonly reason: FailClosedReason | DenyReason;
  readonly holds: (entry: Entry, facts: EntryFacts) => boolean;
}

/** All that must be so, in the order in which it is told. */
export const CONDITIONS: readonly Condition[] = [
  { reason: 'RECORD_INTEGRITY_FAILED', holds: (_, { isIntact }) => isIntact },
  {
    reason: 'SUBJECT_UNKNOWN',
    holds: ({ environment, subjectRef }, { record }) =>
      record !== undefined && record.environment === environment && record.subject_ref === subjectRef,
  },
  { reason: 'ELIGIBILITY_REVOKED', holds: (_, { record }) => record?.revocation === null },
  { reason: 'ELIGIBILITY_SUSPENDED', holds: (_, { record }) => record?.suspension === null },
  { reason: 'ELIGIBILITY_UNCONFIRMED', holds: (_, { isConfirmed }) => isConfirmed },
  { reason: 'NO_SEALED_DECISION', holds: (_, { record }) => hasDecision(record) },
  { reason: 'INELIGIBLE', holds: (_, { record }) => record?.current?.decision === 'approve' },
  {
    reason: 'ELIGIBILITY_NOT_YET_VALID',
    holds: (_, { record, nowMs }) => nowMs >= momentOf(record?.current?.valid_from),
  },
  {
    reason: 'ELIGIBILITY_EXPIRED',
    holds: (_, { record, nowMs }) =>
      record?.current?.valid_until === null || nowMs < momentOf(record?.current?.valid_until),
  },
  {
    reason: 'POLICY_VERSION_MISMATCH',
    holds: ({ policyVersion }, { record }) =>
      policyVersion === undefined || policyVersion === record?.current?.policy_version,
  },
  {
    reason: 'VENUE_UNKNOWN',
    holds: ({ environment, venueId }, { venue }) =>
      venue !== undefined && venue.environment === environment && venue.venueId === venueId && venue.active === true,
  },
  {
    reason: 'VENUE_NOT_PERMITTED',
    holds: ({ venueId, action }, { record }) => action === 'enter' && isPermitted(record, venueId),
  },
];

/** A decline counts unsealed; an approve is none before it is sealed. */
function hasDecision(record: EligibilityRecord | undefined): boolean {
  const current = record?.current ?? null;
  return current !== null && (current.decision === 'decline' || typeof current.ledger_record_id === 'string');
}

/** NaN where there is no moment: then no comparison holds. */
function momentOf(text: string | null | undefined): number {
  return typeof text === 'string' ? Date.parse(text) : Number.NaN;
}

function isPermitted(record: EligibilityRecord | undefined, venueId: string): boolean {
  const venueIds = record?.current?.venue_ids ?? [];
  return venueIds.includes('*') || venueIds.includes(venueId);
}

/** The reason of an answer: ELIGIBLE alone lets anybody in. */
export function reasonFor(entry: Entry, facts: EntryFacts, conditions: readonly Condition[] = CONDITIONS): GateReason {
  let reason: GateReason = 'INTERNAL_ERROR';
  const broken = conditions.find(({ holds }) => holds(entry, facts) !== true);
  if (broken !== undefined) reason = broken.reason;
  else if (storedStatusIs(facts.record, 'eligible')) reason = 'ELIGIBLE'; // The one line that may let anybody in.
  return reason;
}

/** What the conditions came to, once more from the record itself. */
function storedStatusIs(record: EligibilityRecord | undefined, status: string): boolean {
  return record !== undefined && storedStatus(record) === status;
}

const FAIL_CLOSED: ReadonlySet<string> = new Set(FAIL_CLOSED_REASONS);

/** Whether a reason says that something was not known, rather than what was. */
export function failsClosed(reason: GateReason): boolean {
  return FAIL_CLOSED.has(reason);
}
