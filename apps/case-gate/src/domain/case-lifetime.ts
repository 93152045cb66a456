import { AppError } from '@sealgate/errors';
import type { CaseRecord } from './case-record.ts';
import { isOpen, move } from './case-states.ts';
import type { CaseTransaction, InTransaction } from './case-transaction.ts';

interface LifetimePorts {
  readonly inTransaction: InTransaction;
  readonly now: () => number;
}

export interface CaseReadPorts extends LifetimePorts {
  /** Reads without a lock. Undefined for a case of another environment too. */
  readonly readCase: (environment: string, caseId: string) => Promise<CaseRecord | undefined>;
}

/** Whether an undecided case is past its expiry. */
export function hasEnded({ status, expires_at: expiresAt }: CaseRecord, nowMs: number): boolean {
  return isOpen(status) && nowMs >= Date.parse(expiresAt);
}

/**
 * Runs a change of a case, which is locked until the transaction ends. A case past its expiry is expired first, in a
 * transaction of its own, so that this is kept even where the change is refused.
 * @throws AppError NOT_FOUND, also for a case of another environment.
 */
export async function changeCase<Result>(
  ports: LifetimePorts,
  { environment, caseId }: { environment: string; caseId: string },
  work: (tx: CaseTransaction, record: CaseRecord) => Promise<Result>,
): Promise<Result> {
  const outcome = await ports.inTransaction(async (tx): Promise<{ result: Result } | { expired: CaseRecord }> => {
    const record = await tx.lockCase(environment, caseId);
    if (record === undefined) throw noCase();
    if (hasEnded(record, ports.now())) return { expired: await expire(tx, record, ports.now()) };
    return { result: await work(tx, record) };
  });
  if ('result' in outcome) return outcome.result;
  // The expiry is committed, so the change sees the expired case.
  return ports.inTransaction(async (tx) => {
    const record = await tx.lockCase(environment, caseId);
    if (record === undefined) throw noCase();
    return work(tx, record);
  });
}

/** Reads a case, and expires it where it is past its expiry. Undefined where there is none. */
export async function settledCase(
  ports: CaseReadPorts,
  environment: string,
  caseId: string,
): Promise<CaseRecord | undefined> {
  const record = await ports.readCase(environment, caseId);
  if (record === undefined || !hasEnded(record, ports.now())) return record;
  return ports.inTransaction(async (tx) => {
    const locked = await tx.lockCase(environment, caseId);
    return locked !== undefined && hasEnded(locked, ports.now()) ? expire(tx, locked, ports.now()) : locked;
  });
}

/** Expires a case. */
export async function expire(tx: CaseTransaction, record: CaseRecord, nowMs: number): Promise<CaseRecord> {
  const at = new Date(nowMs);
  const next = { ...record, status: move(record.status, 'expired'), updated_at: at.toISOString() };
  await tx.saveCase(next);
  await tx.addEvent(record.case_id, { event: 'case.expired', actor: 'system', at, data: {} });
  return next;
}

/** Withdraws a case before a decision. @throws AppError INVALID_STATE_TRANSITION. */
export async function withdraw(
  tx: CaseTransaction,
  record: CaseRecord,
  { actor, at }: { actor: string; at: Date },
): Promise<CaseRecord> {
  const next = { ...record, status: move(record.status, 'withdrawn'), updated_at: at.toISOString() };
  await tx.saveCase(next);
  await tx.addEvent(record.case_id, { event: 'case.withdrawn', actor, at, data: {} });
  return next;
}

export function noCase(): AppError {
  return new AppError('NOT_FOUND', 'There is no such case.');
}
