import type { KeyedHasher } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import { sha256, canonical } from '@sealgate/json';
import { ChannelHaltedError, type LedgerAppender } from '@sealgate/ledger-port';
import { noCase } from './case-lifetime.ts';
import type { CaseRecord, Decision, Seal, Attachment } from './case-record.ts';
import { move } from './case-states.ts';
import type { CaseTransaction, InTransaction } from './case-transaction.ts';
import { applyDecision, type EligibilityPorts } from './change-eligibility.ts';
import { isAuthentic, ledgerRecordId, macOf } from './versioned-record.ts';

export const SEAL_RECORD_TYPE = 'case.seal';
/** Lease of the request that began a seal, after which a worker takes over. */
const OWN_TRY_MS = 3500;

/** The destination of the ledger records of this surface. */
export interface LedgerTarget {
  readonly network: string;
  /** `<networkId>.<name>` */
  readonly channel: string;
}

export interface SealPorts extends EligibilityPorts {
  readonly inTransaction: InTransaction;
  readonly ledger: Pick<LedgerAppender, 'append'>;
  readonly target: LedgerTarget;
  /** Called with a record id that holds other content, which we did not write. */
  readonly onConflict: (recordId: string) => void;
  /** Called between the steps; tests crash the process there. */
  readonly atStep?: (step: SealStep) => void;
}

export type SealStep = 'begun' | 'appended' | 'completed';

interface SealOrder {
  readonly environment: string;
  readonly caseId: string;
  readonly policyVersion: string;
  readonly actor: string;
  /** The request id, where an operator acts and the action is audited. */
  readonly auditedIn?: string;
}

export interface Sealed {
  readonly seal: Seal;
  /** True for the one call that completed the seal. */
  readonly byThis: boolean;
}

/**
 * Seals a decided case: writes a row and an outbox entry in one transaction, then the ledger record, then completes the
 * seal. After a crash a worker finds the outbox entry and continues; the record has the same id and content, so the
 * ledger takes it once.
 * @throws AppError NOT_FOUND, CASE_NOT_DECIDED, RECORD_CONFLICT, LEDGER_UNAVAILABLE (a worker completes the seal).
 */
export async function sealCase(ports: SealPorts, order: SealOrder): Promise<Sealed> {
  const seal = await ports.inTransaction((tx) => begin(tx, ports, order));
  if (seal.status === 'sealed') return { seal, byThis: false };
  if (seal.status === 'conflict') throw conflict();
  ports.atStep?.('begun');
  const outcome = await append(ports, seal);
  ports.atStep?.('appended');
  const done = await ports.inTransaction((tx) =>
    completeSeal(tx, ports, { recordId: seal.ledger_record_id, outcome, actor: order.actor }),
  );
  ports.atStep?.('completed');
  if (outcome === 'conflict') throw conflict();
  return done;
}

async function begin(tx: CaseTransaction, ports: SealPorts, order: SealOrder): Promise<Seal> {
  const { environment, caseId, policyVersion, actor } = order;
  const record = await tx.lockCase(environment, caseId);
  if (record === undefined) throw noCase();
  const known = await tx.findSeal(caseId, policyVersion);
  if (known !== undefined) return known;
  if (record.policy_version !== policyVersion || record.status !== 'decided') {
    throw new AppError('CASE_NOT_DECIDED', 'The case has no current decision under this policy version.');
  }
  const decision = (await tx.decisions(caseId)).find((one) => one.decision_id === record.decision_id);
  if (decision === undefined) throw new Error('The decision of a decided case is missing.');
  const at = new Date(ports.now());
  const document = await decidedDocument(tx, record, { ports, decision });
  const seal: Seal = {
    case_id: caseId,
    policy_version: policyVersion,
    decision_id: decision.decision_id,
    ledger_record_id: ledgerRecordId(ports.recordIds, ['seal', caseId, policyVersion]),
    document,
    seal_hash: sha256(document).toString('hex'),
    seal_version: SEAL_VERSION,
    status: 'pending',
    sealed_at: null,
    proof: null,
  };
  await tx.insertSeal(seal, at);
  const row = { recordId: seal.ledger_record_id, recordType: SEAL_RECORD_TYPE, data: document };
  await tx.addToOutbox(row, OWN_TRY_MS);
  await tx.saveCase({ ...record, status: move(record.status, 'sealing'), updated_at: at.toISOString() });
  const { seal_hash, ledger_record_id } = seal;
  const data = { policy_version: policyVersion, seal_hash, ledger_record_id };
  await tx.addEvent(caseId, { event: 'case.sealing', actor, at, data });
  if (order.auditedIn !== undefined) {
    const detail = { environment, policy_version: policyVersion };
    await tx.audit({ action: 'case.seal', caseId, actor, requestId: order.auditedIn, detail });
  }
  return seal;
}

/** The document of a decision as it was made. @throws Error where a row that it is built from was changed since. */
async function decidedDocument(
  tx: CaseTransaction,
  record: CaseRecord,
  { ports, decision }: { ports: EligibilityPorts; decision: Decision },
): Promise<string> {
  const document = sealDocument(record, decision, await tx.attachments(record.case_id));
  if (isDecided(document, decision, ports.decisionMacs)) return document;
  ports.onCorrupt({ environment: record.environment, subjectRef: record.subject_ref });
  throw new Error(`The decision of the case ${record.case_id} failed its integrity check.`);
}

/** A ledger unit of this surface: the same bytes however often it is sent. */
export function ledgerUnit(
  { network, channel }: LedgerTarget,
  record: { recordId: string; recordType: string; data: string },
) {
  const { recordId: id, recordType: type, data } = record;
  return { network, channel, note: '{}', records: [{ id, type, owner: null, data, extra: null }] };
}

async function append(ports: SealPorts, seal: Seal): Promise<'written' | 'conflict'> {
  const record = { recordId: seal.ledger_record_id, recordType: SEAL_RECORD_TYPE, data: seal.document };
  try {
    const result = await ports.ledger.append(ledgerUnit(ports.target, record));
    return result.outcome === 'conflict' || result.outcome === 'reused' ? 'conflict' : 'written';
  } catch (cause) {
    // Whatever the error, the outbox entry stays and a worker retries until the outcome is known.
    const detail =
      cause instanceof ChannelHaltedError
        ? `${cause.reason}; the seal is completed once the channel resumes.`
        : 'The ledger cannot be reached; the seal is completed once it can.';
    throw new AppError('LEDGER_UNAVAILABLE', detail, { retryAfterSeconds: 1, cause });
  }
}

/**
 * Writes a seal record again that the ledger lost: the same record under the same id. The case, its answers and the
 * stored proof stay the same. Does nothing for a seal that is not completed.
 * @throws Error where the rows fail their integrity check.
 */
export async function sealAgain(
  tx: CaseTransaction,
  ports: EligibilityPorts,
  { environment, caseId, policyVersion }: Omit<SealOrder, 'actor'>,
): Promise<void> {
  const record = await tx.lockCase(environment, caseId);
  const seal = await tx.findSeal(caseId, policyVersion);
  if (record === undefined || seal?.status !== 'sealed') return;
  const decision = (await tx.decisions(caseId)).find((one) => one.decision_id === seal.decision_id);
  if (decision === undefined) throw new Error('The decision of a seal is missing.');
  const document = await decidedDocument(tx, record, { ports, decision });
  if (document !== seal.document) throw new Error(`The seal of ${caseId} does not match its decision.`);
  const { ledger_record_id: recordId } = seal;
  await tx.addToOutbox({ recordId, recordType: SEAL_RECORD_TYPE, data: document }, 0);
}

/** Completes a seal once the ledger has answered. Idempotent. */
export async function completeSeal(
  tx: CaseTransaction,
  ports: Pick<SealPorts, keyof EligibilityPorts | 'onConflict'>,
  { recordId, outcome, actor }: { recordId: string; outcome: 'written' | 'conflict'; actor: string },
): Promise<Sealed> {
  const found = await tx.findSealByRecord(recordId);
  if (found === undefined) throw new Error('The seal is missing.');
  const { seal, environment } = found;
  // Always lock the case first, in every transaction.
  const record = await tx.lockCase(environment, seal.case_id);
  if (record === undefined) throw new Error('The case of a seal is missing.');
  const at = new Date(ports.now());
  const ended = await tx.endSeal(seal, outcome === 'conflict' ? 'conflict' : 'sealed', at);
  await tx.removeFromOutbox(recordId);
  if (!ended) {
    const known = await tx.findSeal(seal.case_id, seal.policy_version);
    if (known?.status === 'conflict') throw conflict();
    if (outcome === 'conflict') ports.onConflict(recordId);
    return { seal: known ?? seal, byThis: false };
  }
  const sealed: Seal = { ...seal, status: outcome === 'conflict' ? 'conflict' : 'sealed', sealed_at: at.toISOString() };
  if (outcome === 'conflict') {
    ports.onConflict(recordId);
    await tx.addEvent(seal.case_id, { event: 'case.seal_refused', actor, at, data: { ledger_record_id: recordId } });
    return { seal: sealed, byThis: true };
  }
  const next = {
    ...record,
    status: move(record.status, 'sealed'),
    ledger_record_id: recordId,
    sealed_at: at.toISOString(),
    updated_at: at.toISOString(),
  };
  await tx.saveCase(next);
  const data = { policy_version: seal.policy_version, seal_hash: seal.seal_hash, ledger_record_id: recordId };
  await tx.addEvent(seal.case_id, { event: 'case.sealed', actor, at, data });
  const decision = (await tx.decisions(seal.case_id)).find((one) => one.decision_id === seal.decision_id);
  if (decision === undefined) throw new Error('The decision of a seal is missing.');
  // Apply what was decided and sealed, whatever happened to the rows meanwhile.
  const document = await decidedDocument(tx, record, { ports, decision });
  if (document !== seal.document) throw new Error(`The seal of ${seal.case_id} does not match its decision.`);
  await applyDecision(tx, ports, { record: next, decision, ledgerId: recordId, actor });
  return { seal: sealed, byThis: true };
}

function conflict(): AppError {
  return new AppError('RECORD_CONFLICT', 'The ledger holds other content under the id of this seal.');
}

const SEAL_VERSION = 1;

/**
 * The canonical text that a final decision is sealed as. Its content is fixed by the decision: venues and attachments
 * can be changed only before it.
 */
export function sealDocument(
  {
    case_id,
    subject_ref,
    environment,
    venue_ids,
  }: Pick<CaseRecord, 'case_id' | 'subject_ref' | 'environment' | 'venue_ids'>,
  made: Omit<Decision, 'mac'>,
  attachments: readonly Attachment[],
): string {
  const { policy_version, decision, reason_codes, valid_until, decided_at, decision_id } = made;
  return canonical({
    v: SEAL_VERSION,
    case_id,
    subject_ref,
    environment,
    venue_ids,
    policy_version,
    decision,
    reason_codes,
    valid_until,
    decided_at,
    decision_id,
    attachments: attachments.map(({ attachment_id, sha256: hash }) => ({ attachment_id, sha256: hash })),
  });
}

/** Authenticates a decision by its document, as `<secretId>:<base64url>`. */
export function decisionMac(document: string, macs: KeyedHasher): string {
  return macOf(macs, [document]);
}

/** Whether this document is the one that was decided. */
export function isDecided(document: string, { mac }: Pick<Decision, 'mac'>, macs: KeyedHasher): boolean {
  return isAuthentic(mac, macs, [document]);
}
