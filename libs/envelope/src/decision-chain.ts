import { canonical, sha256Text } from '@sealgate/json';

/** Ledger type of the decision log heads of the gate. */
export const DECISION_HEAD_TYPE = 'gate.decisions';

/**
 * One logged answer of the gate. Texts are as logged; an invalid subject or venue id is null. The decision hash covers
 * these members and `prev_hash`, the hash of the previous decision of the same process.
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
  /** Sequence number within a process: from 1, without gaps. */
  readonly seq: number;
  readonly subject_ref: string | null;
  readonly venue_id: string | null;
}

/** Decisions that a process dropped before writing them: part of the chain, absent from the log. */
export interface DroppedDecisions {
  readonly first_seq: number;
  readonly last_seq: number;
  /** The hash of the last dropped decision, so that the chain can be followed past the gap. */
  readonly hash: string;
}

/** The state of a process's decision chain, sealed into the ledger every minute. */
export interface DecisionHead {
  readonly v: 1;
  readonly process: string;
  /** Sequence number of the head within a process: from 1, without gaps. */
  readonly number: number;
  /** First and last decision since the previous head; when there are none, `last_seq` is `first_seq` - 1. */
  readonly first_seq: number;
  readonly last_seq: number;
  /** The hash of the decision before `first_seq`; null at the start of the chain. */
  readonly prev_hash: string | null;
  /** The hash of decision `last_seq`; null before the first decision. */
  readonly hash: string | null;
  readonly dropped: readonly DroppedDecisions[];
  /** Creation time: RFC 3339, UTC, three fraction digits. Every covered decision is older. */
  readonly at: string;
  /** True on the last head of a process: it has drained and makes no further decisions. */
  readonly ended: boolean;
}

/**
 * The hash of a decision in its process's chain: SHA-256 over the canonical form (RFC 8785) of its members and
 * `prev_hash`, as 64 lower-case hex digits.
 */
export function decisionHash(decision: ChainedDecision, prevHash: string | null): string {
  // Members are in RFC 8785 order, and JSON.stringify prints strings and integers the same way: equal to `canonical` at
  // a third of its cost. The gate does this for every answer.
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

/** The JSON text of a head, as stored in the ledger. */
export function decisionHeadText(head: DecisionHead): string {
  return canonical({ ...head, dropped: head.dropped.map((each) => ({ ...each })) });
}
