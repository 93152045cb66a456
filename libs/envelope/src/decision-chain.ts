import { canonical, sha256Text } from '@sealgate/json';

/** The ledger type of the heads of the gate's log of decisions. */
export const DECISION_HEAD_TYPE = 'gate.decisions';

/**
 * One answer of the gate as its log holds it. Texts are as they were logged; a subject or venue that was no id is null.
 * The hash of a decision is over these members and `prev_hash`, the hash of the decision before it in its process.
 */
export interface ChainedDecision {
  readonly action: string;
  readonly decision: 'allow' | 'deny';
  readonly decision_id: string;
  readonly environment: string;
  /** RFC 3339, UTC, three fraction digits. */
  readonly evaluated_at: string;
  readonly fail_closed: boolean;
  readonly key_id: string;
  readonly ledger_record_id: string | null;
  readonly policy_version: string | null;
  readonly process: string;
  readonly reason_codes: readonly string[];
  readonly record_version: number | null;
  readonly request_id: string;
  /** From 1 without a gap within a process. */
  readonly seq: number;
  readonly subject_ref: string | null;
  readonly venue_id: string | null;
}

/** Decisions that a process had to drop before they were written: they are in the chain, and not in the log. */
export interface DroppedDecisions {
  readonly first_seq: number;
  readonly last_seq: number;
  /** The hash of the last of them, so that the chain can be followed beyond. */
  readonly hash: string;
}

/** What a process seals into the ledger each minute: how far its chain has come. */
export interface DecisionHead {
  readonly v: 1;
  readonly process: string;
  /** From 1 without a gap within a process. */
  readonly number: number;
  /** The decisions since the head before; where there are none, `last_seq` is `first_seq` - 1. */
  readonly first_seq: number;
  readonly last_seq: number;
  /** The hash of the decision before `first_seq`; null at the beginning. */
  readonly prev_hash: string | null;
  /** The hash of the decision `last_seq`; null where the process has decided nothing. */
  readonly hash: string | null;
  readonly dropped: readonly DroppedDecisions[];
  /** When the head was made: RFC 3339, UTC, three fraction digits. Every decision of it was made before. */
  readonly at: string;
  /** True on the last head of a process, which has drained and decides nothing more. */
  readonly ended: boolean;
}

/**
 * The hash of a decision in the chain of its process: SHA-256 over the canonical form (RFC 8785) of its members and
 * `prev_hash`. 64 lower hex digits.
 */
export function decisionHash(decision: ChainedDecision, prevHash: string | null): string {
  // Members stand in the order of RFC 8785, and JSON.stringify writes texts and whole numbers as it does: the same text as
  // `canonical` gives, at a third of its cost. The gate does this for each of its answers.
  return sha256Text(
    JSON.stringify({
      action: decision.action,
      decision: decision.decision,
      decision_id: decision.decision_id,
      environment: decision.environment,
      evaluated_at: decision.evaluated_at,
      fail_closed: decision.fail_closed,
      key_id: decision.key_id,
      ledger_record_id: decision.ledger_record_id,
      policy_version: decision.policy_version,
      prev_hash: prevHash,
      process: decision.process,
      reason_codes: decision.reason_codes,
      record_version: decision.record_version,
      request_id: decision.request_id,
      seq: decision.seq,
      subject_ref: decision.subject_ref,
      venue_id: decision.venue_id,
    }),
    'hex',
  );
}

/** The text of a head: what the ledger holds. */
export function decisionHeadText(head: DecisionHead): string {
  return canonical({ ...head, dropped: head.dropped.map((each) => ({ ...each })) });
}
