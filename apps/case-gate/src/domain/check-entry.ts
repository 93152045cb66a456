import { storedStatus, type EligibilityRecord } from './eligibility-record.ts';

/** One answer of the gate, as it is told and logged. */
export interface GateDecision {
  readonly decisionId: string;
  readonly seq: number;
  readonly entry: Entry;
  readonly allow: boolean;
  readonly reason: GateReason;
  readonly failClosed: boolean;
  readonly policyVersion: string | null;
  readonly ledgerRecordId: string | null;
  readonly recordVersion: number | null;
  readonly evaluatedAt: Date;
  /** The end of eligibility, for display on an allow; null otherwise. */
  readonly validUntil: string | null;
}

/** What was looked up for an entry together with the key; 'overloaded': there was no room to look; 'unavailable': no answer. */
export type LookedUp = Omit<EntryFacts, 'nowMs'> | 'overloaded' | 'unavailable';

/** What the gate looked up for a request, together with its key. */
export interface GateLookup {
  /** For each entry that the body names, in that order. Empty where the body has a fault. */
  readonly found: readonly LookedUp[];
  /** When the last byte of the body was read, in milliseconds since the epoch. */
  readonly readAtMs: number;
}

export interface GateAsker {
  readonly keyId: string;
  readonly requestId: string;
}

export interface CheckPorts {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** The next id of this process, without a gap. */
  readonly nextDecision: () => { readonly decisionId: string; readonly seq: number };
  /** Takes the decision down, off the path: it never throws and never waits. */
  readonly record: (decision: GateDecision, asker: GateAsker) => void;
  /** Milliseconds from the last byte of the body to the answer. */
  readonly deadlineMs: number;
}

/**
 * Answers one entry: a denial until every condition has held, and again where the answer comes too late.
 * Never throws.
 */
export function checkEntry(
  ports: CheckPorts,
  { entry, found, readAtMs, asker }: { entry: Entry; found: LookedUp | undefined; readAtMs: number; asker: GateAsker },
): GateDecision {
  const { decisionId, seq } = ports.nextDecision();
  const evaluatedMs = ports.now();
  let reason = safely(() => reasonOf(entry, found, evaluatedMs));
  // Asked again at the end, because evaluating takes its time too.
  if (!isInTime(ports, readAtMs)) reason = 'DEADLINE_EXCEEDED';
  const record = typeof found === 'object' && found.isIntact ? found.record : undefined;
  const allow = reason === 'ELIGIBLE';
  const decision: GateDecision = {
    decisionId,
    seq,
    entry,
    allow,
    reason,
    failClosed: failsClosed(reason),
    ...shownOf(record),
    evaluatedAt: new Date(evaluatedMs),
    validUntil: allow ? (record?.current?.valid_until ?? null) : null,
  };
  ports.record(decision, asker);
  return decision;
}

/** What an answer tells of the record it was made from. */
function shownOf(record: EligibilityRecord | undefined) {
  return {
    policyVersion: record?.current?.policy_version ?? null,
    ledgerRecordId: record?.current?.ledger_record_id ?? null,
    recordVersion: record?.record_version ?? null,
  };
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
