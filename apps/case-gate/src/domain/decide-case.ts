import { AppError, refusedMember } from '@sealgate/errors';
import { instantOf } from '@sealgate/json';
import { factsOf } from './case-facts.ts';
import type { CaseRecord, Decision, DecisionOutcome, NewDecision } from './case-record.ts';
import { isOpen, move, invalidTransition } from './case-states.ts';
import type { CaseTransaction } from './case-transaction.ts';
import { applyDecision, type EligibilityPorts } from './change-eligibility.ts';
import type { RecordOf } from './model.ts';
import { evaluateRules } from './policy-rules.ts';
import type { Policy, PolicyRules } from './policy.ts';
import { decisionMac, sealDocument } from './seal-case.ts';

/** Without a decision the rules of the version decide. */
export type DecideOrder = RecordOf<typeof NewDecision> & { readonly actor: string };

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
  const known = await tx.decisions(record.case_id);
  const validUntil = order.valid_until === undefined ? null : instantOf(order.valid_until).toISOString();
  requireFutureEnd({ policyVersion: order.policy_version, validUntil }, { known, nowMs: ports.now() });
  const policy = await tx.findPolicy(record.environment, order.policy_version);
  if (policy === undefined || policy.status === 'draft') throw unknownPolicy('There is no such active policy version.');
  const outcome = { ...(await outcomeOf(tx, record, { policy, order })), valid_until: validUntil };
  const repeated = repetitionOf(known, outcome);
  if (repeated !== undefined) return { record, decision: repeated, repeated: true };
  if (policy.status === 'retired') {
    throw refusedMember(
      'POLICY_VERSION_RETIRED',
      '/policy_version',
      'The policy version is retired and takes no new decisions.',
    );
  }
  const unsigned = {
    ...outcome,
    decision_id: ports.newId('dec_'),
    case_id: record.case_id,
    decided_at: new Date(ports.now()).toISOString(),
    decided_by: order.decided_by ?? order.actor,
  };
  const next = afterDecision(record, unsigned);
  const decision = { ...unsigned, mac: await macOf(tx, next, { ports, decision: unsigned }) };
  await tx.insertDecision(decision);
  await tx.saveCase(next);
  await tx.addEvent(record.case_id, eventOf(next, decision, order.actor));
  if (decision.decision === 'decline') {
    await applyDecision(tx, ports, { record: next, decision, ledgerId: null, actor: order.actor });
  }
  return { record: next, decision, repeated: false };
}

/**
 * A decision cannot end before it begins; but one that was recorded may be asked for again after its end.
 * @throws AppError INVALID_REQUEST.
 */
function requireFutureEnd(
  { policyVersion, validUntil }: { readonly policyVersion: string; readonly validUntil: string | null },
  { known, nowMs }: { readonly known: readonly Decision[]; readonly nowMs: number },
): void {
  if (validUntil === null || Date.parse(validUntil) > nowMs) return;
  if (known.some((one) => one.policy_version === policyVersion && one.valid_until === validUntil)) return;
  throw new AppError('INVALID_REQUEST', 'A decision cannot end in the past.', {
    faults: [{ in: 'body', pointer: '/valid_until', detail: 'valid_until must be in the future.' }],
  });
}

async function macOf(
  tx: CaseTransaction,
  record: CaseRecord,
  { ports, decision }: { ports: DecidePorts; decision: Omit<Decision, 'mac'> },
): Promise<string> {
  if (!decision.is_final) return '';
  return decisionMac(sealDocument(record, decision, await tx.attachments(record.case_id)), ports.decisionMacs);
}

type Outcome = Pick<Decision, 'policy_version' | 'is_final' | 'decision' | 'reason_codes' | 'valid_until'>;

async function outcomeOf(
  tx: CaseTransaction,
  record: CaseRecord,
  { policy, order }: { policy: Policy; order: DecideOrder },
): Promise<Omit<Outcome, 'valid_until'>> {
  const { decision: given, reason_codes: added = [] } = order;
  const { decision, reasonCodes } =
    given === undefined ? await ruled(tx, record, { policy, added }) : { decision: given, reasonCodes: added };
  return {
    policy_version: order.policy_version,
    is_final: decision !== 'refer',
    decision,
    reason_codes: [...new Set(reasonCodes)].sort(),
  };
}

async function ruled(
  tx: CaseTransaction,
  record: CaseRecord,
  { policy, added }: { policy: Policy; added: readonly string[] },
): Promise<{ decision: DecisionOutcome; reasonCodes: readonly string[] }> {
  if (policy.rules === null) throw unknownPolicy('The policy version has no rules: the decision must be named.');
  const attachments = await tx.attachments(record.case_id);
  // Validated when the policy was created.
  const rules = JSON.parse(policy.rules) as PolicyRules;
  const ruling = evaluateRules(rules, factsOf(record, attachments));
  return { decision: ruling.decision, reasonCodes: [...ruling.reason_codes, ...added] };
}

/** The existing decision with this outcome. @throws AppError DECISION_CONFLICT. */
function repetitionOf(known: readonly Decision[], outcome: Outcome): Decision | undefined {
  // A final decision cannot be followed by a referral.
  if (!outcome.is_final && known.some(({ is_final }) => is_final)) throw conflict();
  const same = known.find(
    ({ policy_version, is_final }) => policy_version === outcome.policy_version && is_final === outcome.is_final,
  );
  if (same === undefined) return undefined;
  const isEqual =
    same.decision === outcome.decision &&
    same.valid_until === outcome.valid_until &&
    JSON.stringify([...same.reason_codes].sort()) === JSON.stringify(outcome.reason_codes);
  if (isEqual) return same;
  throw conflict();
}

function conflict(): AppError {
  return new AppError('DECISION_CONFLICT', 'Another outcome was decided.');
}

function afterDecision(record: CaseRecord, decision: Omit<Decision, 'mac'>): CaseRecord {
  const updated = { updated_at: decision.decided_at };
  // Deciding in `received` passes through `in_review`, in one transaction.
  const status = record.status === 'received' ? move('received', 'in_review') : record.status;
  if (decision.decision === 'refer') {
    if (!isOpen(status)) throw invalidTransition(status);
    return { ...record, status, ...updated };
  }
  return {
    ...record,
    status: move(status, 'decided'),
    policy_version: decision.policy_version,
    decision: decision.decision,
    decision_id: decision.decision_id,
    decided_at: decision.decided_at,
    ledger_record_id: null,
    sealed_at: null,
    ...updated,
  };
}

function eventOf({ status }: CaseRecord, made: Decision, actor: string) {
  const { decision_id, policy_version, decision, reason_codes, valid_until, decided_by } = made;
  const data = { status, decision_id, policy_version, decision, reason_codes, valid_until, decided_by };
  return { event: made.is_final ? 'case.decided' : 'case.referred', actor, at: new Date(made.decided_at), data };
}

function unknownPolicy(detail: string): AppError {
  return refusedMember('UNKNOWN_POLICY_VERSION', '/policy_version', detail);
}
