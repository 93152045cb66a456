import type { EligibilityRecord } from './eligibility-record.ts';
import { failsClosed, reasonFor, type Entry, type EntryFacts, type GateReason } from './gate-decision.ts';

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
