import { AppError } from '@sealgate/errors';

export const CASE_STATUSES = ['received', 'in_review', 'decided', 'sealing', 'sealed', 'withdrawn', 'expired'] as const;
export type CaseStatus = (typeof CASE_STATUSES)[number];

/**
 * Every move a case can make. That a decided or sealed case is decided again under a new policy version only is for
 * `decide-case.ts` to see: under the same one there is nothing to decide.
 */
const MOVES: Readonly<Record<CaseStatus, readonly CaseStatus[]>> = {
  received: ['in_review', 'withdrawn', 'expired'],
  in_review: ['decided', 'withdrawn', 'expired'],
  decided: ['sealing', 'decided'],
  sealing: ['sealed'],
  sealed: ['decided'],
  withdrawn: [],
  expired: [],
};

/** The status after a move. @throws AppError INVALID_STATE_TRANSITION, with `current_status`. */
export function move(from: CaseStatus, to: CaseStatus): CaseStatus {
  if (MOVES[from].includes(to)) return to;
  throw notNow(from);
}

/** Whether a case may still be added to: nothing has been decided, nothing has ended. */
export function isOpen(status: CaseStatus): boolean {
  return status === 'received' || status === 'in_review';
}

/** For what a status does not allow. */
export function notNow(current: string): AppError {
  return new AppError('INVALID_STATE_TRANSITION', `That cannot be done now: the status is ${current}.`, {
    members: { current_status: current },
  });
}
