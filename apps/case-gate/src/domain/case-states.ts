import { AppError } from '@sealgate/errors';
import { enumOf } from '../schemas.ts';

export const CASE_STATUSES = ['received', 'in_review', 'decided', 'sealing', 'sealed', 'withdrawn', 'expired'] as const;
export const CaseStatus = enumOf('CaseStatus', CASE_STATUSES);
export type CaseStatus = (typeof CASE_STATUSES)[number];

/**
 * All transitions of a case. That a decided or sealed case may be decided again only under a new policy version is
 * checked by `decide-case.ts`.
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

/** The status after a transition. @throws AppError INVALID_STATE_TRANSITION, with `current_status`. */
export function move(from: CaseStatus, to: CaseStatus): CaseStatus {
  if (MOVES[from].includes(to)) return to;
  throw invalidTransition(from);
}

/** The states in which a case can still be changed: it is neither decided nor ended. */
const OPEN: readonly CaseStatus[] = ['received', 'in_review'];

export const isOpen = (status: CaseStatus): boolean => OPEN.includes(status);

export function invalidTransition(current: string): AppError {
  return new AppError('INVALID_STATE_TRANSITION', `Not possible while the status is ${current}.`, {
    members: { current_status: current },
  });
}
