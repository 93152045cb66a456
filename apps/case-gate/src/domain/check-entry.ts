import { storedStatus, type EligibilityRecord } from './eligibility-record.ts';
import { FAIL_CLOSED_REASONS, type GateDecision, type GateDenial, type GateReason } from './gate-decision.ts';
import type { Venue } from './venue.ts';

/** An entry to look up. Both ids match their patterns; others are never looked up. */
export interface EntryIds {
  readonly subjectRef: string;
  readonly venueId: string;
}

/** Facts about an entry. 'overloaded': the look-up queue was full; 'unavailable': the ledger did not answer. */
export type LookedUp = Omit<EntryFacts, 'nowMs'> | 'overloaded' | 'unavailable';

/** What the gate looked up for a request, together with its key. */
export interface GateLookup {
  /** For each entry that the body names, in that order. Empty where the body has a fault. */
  readonly found: readonly LookedUp[];
  /** When the last byte of the body was read, in milliseconds since the epoch. */
  readonly readAtMs: number;
}

export interface GateRequester {
  readonly keyId: string;
  readonly requestId: string;
}

export interface CheckPorts {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** The next decision id of this process, without gaps. */
  readonly nextDecision: () => Pick<GateDecision, 'decision_id' | 'seq'>;
  /** Counts the decision, or a refusal in its place. */
  readonly decided: (decision: Pick<GateDecision, 'reason_codes'>) => void;
  /** Queues the decision for the log. Never throws or blocks. */
  readonly record: (decision: GateDecision, requester: GateRequester) => void;
  /** Milliseconds from the last byte of the body to the answer. */
  readonly deadlineMs: number;
}

/**
 * Decides one entry. Starts as deny; allows only if every condition holds and the deadline has not passed.
 * Never throws.
 */
export function checkEntry(
  ports: CheckPorts,
  {
    entry,
    found,
    readAtMs,
    requester,
  }: { entry: Entry; found: LookedUp | undefined; readAtMs: number; requester: GateRequester },
): GateDecision {
  const next = ports.nextDecision();
  const evaluatedMs = ports.now();
  let reason = safely(() => reasonOf(entry, found, evaluatedMs));
  // Checked after evaluation, which takes time too.
  if (!isInTime(ports, readAtMs)) reason = 'DEADLINE_EXCEEDED';
  const record = typeof found === 'object' && found.isIntact ? found.record : undefined;
  const current = record?.current;
  const allow = reason === 'ELIGIBLE';
  const decision: GateDecision = {
    ...next,
    environment: entry.environment,
    subject_ref: entry.subjectRef,
    venue_id: entry.venueId,
    action: entry.action,
    decision: allow ? 'allow' : 'deny',
    allow,
    reason_codes: [reason],
    fail_closed: failsClosed(reason),
    policy_version: current?.policy_version ?? null,
    ledger_record_id: current?.ledger_record_id ?? null,
    record_version: record?.record_version ?? null,
    evaluated_at: new Date(evaluatedMs).toISOString(),
    valid_until: allow ? (current?.valid_until ?? null) : null,
  };
  ports.decided(decision);
  ports.record(decision, requester);
  return decision;
}

function reasonOf(entry: Entry, found: LookedUp | undefined, nowMs: number): GateReason {
  if (found === undefined || found === 'unavailable') return 'BACKEND_UNAVAILABLE';
  if (found === 'overloaded') return 'OVERLOADED';
  return reasonFor(entry, { ...found, nowMs });
}

function isInTime({ now, deadlineMs }: CheckPorts, readAtMs: number): boolean {
  return now() - readAtMs < deadlineMs;
}

function safely(work: () => GateReason): GateReason {
  try {
    return work();
  } catch {
    return 'INTERNAL_ERROR';
  }
}

/** A subject that wants to enter a venue. An id that cannot exist is treated as unknown. */
export interface Entry {
  readonly environment: string;
  readonly subjectRef: string;
  readonly venueId: string;
  readonly action: string;
  /** The policy version that the venue requires; undefined: any. */
  readonly policyVersion: string | undefined;
}

/** What the primary returned, after every row was authenticated. Undefined members do not exist. */
export interface EntryFacts {
  /** False: a row fails its MAC, or is older than a version already seen. */
  readonly isIntact: boolean;
  /** False: ledger records were declared lost, and an operator must confirm the record first. */
  readonly isConfirmed: boolean;
  readonly record: EligibilityRecord | undefined;
  readonly venue: Venue | undefined;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

/** Must return true itself: any other result, and any error, is a denial. */
export interface Condition {
  readonly reason: GateDenial;
  readonly holds: (entry: Entry, facts: EntryFacts) => boolean;
}

/** All conditions, in the order in which they are reported. */
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
      venue !== undefined && venue.environment === environment && venue.venue_id === venueId && venue.active === true,
  },
  {
    reason: 'VENUE_NOT_PERMITTED',
    holds: ({ venueId, action }, { record }) => action === 'enter' && isPermitted(record, venueId),
  },
];

/** A decline counts unsealed; an approve counts only once it is sealed. */
function hasDecision(record: EligibilityRecord | undefined): boolean {
  const current = record?.current ?? null;
  return current !== null && (current.decision === 'decline' || typeof current.ledger_record_id === 'string');
}

/** NaN where there is no time, so that no comparison holds. */
function momentOf(text: string | null | undefined): number {
  return typeof text === 'string' ? Date.parse(text) : Number.NaN;
}

function isPermitted(record: EligibilityRecord | undefined, venueId: string): boolean {
  const venueIds = record?.current?.venue_ids ?? [];
  return venueIds.includes('*') || venueIds.includes(venueId);
}

/** The reason of a decision. Only ELIGIBLE allows entry. */
export function reasonFor(entry: Entry, facts: EntryFacts, conditions: readonly Condition[] = CONDITIONS): GateReason {
  let reason: GateReason = 'INTERNAL_ERROR';
  const broken = conditions.find(({ holds }) => holds(entry, facts) !== true);
  if (broken !== undefined) reason = broken.reason;
  else if (storedStatusIs(facts.record, 'eligible')) reason = 'ELIGIBLE'; // The only line that may allow entry.
  return reason;
}

/** Checks the result of the conditions once more, from the record itself. */
function storedStatusIs(record: EligibilityRecord | undefined, status: string): boolean {
  return record !== undefined && storedStatus(record) === status;
}

const FAIL_CLOSED: ReadonlySet<string> = new Set(FAIL_CLOSED_REASONS);

/** Whether a reason means that a fact could not be established. */
function failsClosed(reason: GateReason): boolean {
  return FAIL_CLOSED.has(reason);
}
