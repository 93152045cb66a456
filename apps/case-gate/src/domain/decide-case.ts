import { AppError } from '@sealgate/errors';
import { factsOf } from './case-facts.ts';
import type { CaseRecord, Decision, DecisionOutcome } from './case-record.ts';
import { isOpen, move, invalidTransition } from './case-states.ts';
import type { CaseTransaction } from './case-transaction.ts';
import { applyDecision, type EligibilityPorts } from './change-eligibility.ts';
import type { CurrentDecision } from './eligibility-record.ts';
import { evaluateRules } from './policy-rules.ts';
import type { Policy, PolicyRules } from './policy.ts';
import { decisionMac, sealDocument } from './seal-case.ts';

export interface DecideOrder {
  readonly policyVersion: string;
  /** Undefined: the rules of the version decide. */
  readonly decision: DecisionOutcome | undefined;
  readonly reasonCodes: readonly string[];
  readonly validUntil: Date | null;
  readonly decidedBy: string | undefined;
  readonly actor: string;
}

export interface DecidePorts extends EligibilityPorts {
  readonly newId: (prefix: string) => string;
}

export interface Decided {
  readonly record: CaseRecord;
  readonly decision: Decision;
  /** True where the same outcome was recorded before. */
  readonly repeated: boolean;
}

/**
 * Records a decision under a policy version. Repeating the same outcome returns the existing decision.
 * @throws AppError INVALID_REQUEST, UNKNOWN_POLICY_VERSION, POLICY_VERSION_RETIRED, DECISION_CONFLICT, INVALID_STATE_TRANSITION.
 */
export async function decideCase(
  tx: CaseTransaction,
  record: CaseRecord,
  { ports, order }: { ports: DecidePorts; order: DecideOrder },
): Promise<Decided> {
  const known = await tx.decisions(record.caseId);
  requireFutureEnd(order, { known, nowMs: ports.now() });
  const policy = await tx.findPolicy(record.environment, order.policyVersion);
  if (policy === undefined || policy.status === 'draft') throw unknownPolicy('There is no such active policy version.');
  const outcome = await outcomeOf(tx, record, { policy, order });
  const repeated = repetitionOf(known, outcome);
  if (repeated !== undefined) return { record, decision: repeated, repeated: true };
  if (policy.status === 'retired') {
    throw new AppError('POLICY_VERSION_RETIRED', 'The policy version is retired and takes no new decisions.');
  }
  const unsigned = {
    ...outcome,
    decisionId: ports.newId('dec_'),
    caseId: record.caseId,
    decidedAt: new Date(ports.now()),
    decidedBy: order.decidedBy ?? order.actor,
  };
  const next = afterDecision(record, unsigned);
  const decision = { ...unsigned, mac: await macOf(tx, next, { ports, decision: unsigned }) };
  await tx.insertDecision(decision);
  await tx.saveCase(next);
  await tx.addEvent(record.caseId, eventOf(next, decision, order.actor));
  if (decision.decision === 'decline') {
    const candidate = currentDecisionOf(next, decision, null);
    const { environment, subjectRef } = record;
    await applyDecision(tx, ports, { environment, subjectRef, actor: order.actor, candidate });
  }
  return { record: next, decision, repeated: false };
}

/**
 * A decision cannot end before it begins; but one that was recorded may be asked for again after its end.
 * @throws AppError INVALID_REQUEST.
 */
function requireFutureEnd(
  { policyVersion, validUntil }: DecideOrder,
  { known, nowMs }: { readonly known: readonly Decision[]; readonly nowMs: number },
): void {
  if (validUntil === null || validUntil.getTime() > nowMs) return;
  const end = validUntil.getTime();
  if (known.some((one) => one.policyVersion === policyVersion && one.validUntil?.getTime() === end)) return;
  throw new AppError('INVALID_REQUEST', 'A decision cannot end in the past.', {
    faults: [{ in: 'body', pointer: '/valid_until', detail: 'valid_until must be in the future.' }],
  });
}

async function macOf(
  tx: CaseTransaction,
  record: CaseRecord,
  { ports, decision }: { ports: DecidePorts; decision: Omit<Decision, 'mac'> },
): Promise<string> {
  if (!decision.isFinal) return '';
  return decisionMac(sealDocument(record, decision, await tx.attachments(record.caseId)), ports.decisionMacs);
}

type Outcome = Pick<Decision, 'policyVersion' | 'isFinal' | 'decision' | 'reasonCodes' | 'validUntil'>;

async function outcomeOf(
  tx: CaseTransaction,
  record: CaseRecord,
  { policy, order }: { policy: Policy; order: DecideOrder },
): Promise<Outcome> {
  const { decision, reasonCodes } =
    order.decision === undefined
      ? await ruled(tx, record, { policy, added: order.reasonCodes })
      : { decision: order.decision, reasonCodes: order.reasonCodes };
  return {
    policyVersion: order.policyVersion,
    isFinal: decision !== 'refer',
    decision,
    reasonCodes: [...new Set(reasonCodes)].sort(),
    validUntil: order.validUntil,
  };
}

async function ruled(
  tx: CaseTransaction,
  record: CaseRecord,
  { policy, added }: { policy: Policy; added: readonly string[] },
): Promise<{ decision: DecisionOutcome; reasonCodes: readonly string[] }> {
  if (policy.rules === null) throw unknownPolicy('The policy version has no rules: the decision must be named.');
  const attachments = await tx.attachments(record.caseId);
  // Validated when the policy was created.
  const rules = JSON.parse(policy.rules) as PolicyRules;
  const ruling = evaluateRules(rules, factsOf(record, attachments));
  return { decision: ruling.decision, reasonCodes: [...ruling.reason_codes, ...added] };
}

/** The existing decision with this outcome. @throws AppError DECISION_CONFLICT. */
function repetitionOf(known: readonly Decision[], outcome: Outcome): Decision | undefined {
  // A final decision cannot be followed by a referral.
  if (!outcome.isFinal && known.some(({ isFinal }) => isFinal)) throw conflict();
  const same = known.find(
    ({ policyVersion, isFinal }) => policyVersion === outcome.policyVersion && isFinal === outcome.isFinal,
  );
  if (same === undefined) return undefined;
  const isEqual =
    same.decision === outcome.decision &&
    same.validUntil?.getTime() === outcome.validUntil?.getTime() &&
    JSON.stringify([...same.reasonCodes].sort()) === JSON.stringify(outcome.reasonCodes);
  if (isEqual) return same;
  throw conflict();
}

function conflict(): AppError {
  return new AppError('DECISION_CONFLICT', 'Another outcome was decided.');
}

function afterDecision(record: CaseRecord, decision: Omit<Decision, 'mac'>): CaseRecord {
  const updatedAt = decision.decidedAt;
  // Deciding in `received` passes through `in_review`, in one transaction.
  const status = record.status === 'received' ? move('received', 'in_review') : record.status;
  if (decision.decision === 'refer') {
    if (!isOpen(status)) throw invalidTransition(status);
    return { ...record, status, updatedAt };
  }
  return {
    ...record,
    status: move(status, 'decided'),
    policyVersion: decision.policyVersion,
    decision: decision.decision,
    decisionId: decision.decisionId,
    decidedAt: decision.decidedAt,
    ledgerRecordId: null,
    sealedAt: null,
    updatedAt,
  };
}

function eventOf({ status }: CaseRecord, decision: Decision, actor: string) {
  const { decisionId, policyVersion, reasonCodes, validUntil, decidedAt, decidedBy } = decision;
  const data = {
    status,
    decision_id: decisionId,
    policy_version: policyVersion,
    decision: decision.decision,
    reason_codes: [...reasonCodes],
    valid_until: validUntil?.toISOString() ?? null,
    decided_by: decidedBy,
  };
  return { event: decision.isFinal ? 'case.decided' : 'case.referred', actor, at: decidedAt, data };
}

/** A final decision, as it enters the record of its subject. */
export function currentDecisionOf(record: CaseRecord, decision: Decision, ledgerId: string | null): CurrentDecision {
  const decidedAt = decision.decidedAt.toISOString();
  return {
    decision: decision.decision === 'approve' ? 'approve' : 'decline',
    case_id: record.caseId,
    policy_version: decision.policyVersion,
    decision_id: decision.decisionId,
    decided_at: decidedAt,
    ledger_record_id: ledgerId,
    reason_codes: [...decision.reasonCodes],
    venue_ids: [...record.venueIds],
    valid_from: decidedAt,
    valid_until: decision.validUntil?.toISOString() ?? null,
  };
}

function unknownPolicy(detail: string): AppError {
  return new AppError('UNKNOWN_POLICY_VERSION', detail);
}
