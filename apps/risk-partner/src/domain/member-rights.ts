import { AppError } from '@sealgate/errors';
import { effectiveScope, type RiskCaller, type Scope } from './caller.ts';
import { coverRoles, type Role } from './permissions.ts';

/** What a member may do now: their roles, and their effective scope. */
export type Rights = Pick<RiskCaller, 'roles' | 'scope'>;

/** What a change sets. Absent: it leaves that as it is. */
export interface Grant {
  readonly roles?: readonly Role[];
  readonly scope?: Scope;
}

const NO_SCOPE: Scope = { departments: [], canReadSensitive: false, unrestricted: false };

/** The rights of a person, of their roles and the scope that was set. */
export const rightsOf = ({ roles, scope }: Required<Grant>): Rights => ({ roles, scope: effectiveScope(roles, scope) });

/** Whether the rights include all that is granted, so that nobody grants more than they have. */
export function mayGrant(rights: Rights, { roles = [], scope = NO_SCOPE }: Grant): boolean {
  return (
    coverRoles(rights.roles, roles) &&
    isScopeWithin(rights.scope, scope) &&
    // Of roles that see every row, or sensitive ones.
    isScopeWithin(rights.scope, effectiveScope(roles, scope))
  );
}

function isScopeWithin(own: Scope, granted: Scope): boolean {
  return (
    (own.unrestricted || !granted.unrestricted) &&
    (own.canReadSensitive || !granted.canReadSensitive) &&
    (own.unrestricted || granted.departments.every((department) => own.departments.includes(department)))
  );
}

/** Only owners change or remove owners, invited ones too. @throws AppError FORBIDDEN */
export function checkOwner({ roles }: Rights, held: readonly Role[]): void {
  if (!held.includes('owner') || roles.includes('owner')) return;
  throw new AppError('FORBIDDEN', 'Only an owner may do this to an owner.');
}

/** @throws AppError FORBIDDEN */
export function checkGrant(rights: Rights, grant: Grant): void {
  if (!mayGrant(rights, grant)) throw new AppError('FORBIDDEN', 'Nobody grants roles or a scope beyond their own.');
}

/**
 * People only lower what is set for themselves. A scope counts without the roles: one that the roles imply today would
 * outlast them.
 * @throws AppError FORBIDDEN
 */
export function checkOwnChange(set: Required<Grant>, { roles = set.roles, scope = set.scope }: Grant): void {
  const isLower = roles.every((role) => set.roles.includes(role)) && isScopeWithin(set.scope, scope);
  if (!isLower) throw new AppError('FORBIDDEN', 'Nobody raises their own roles or scope.');
}
