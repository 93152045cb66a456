import { closedObject, named } from '@sealgate/schemas';
import { Type, type Static } from '@sinclair/typebox';
import { Flag, Short } from '../schemas.ts';
import { shown } from './model.ts';
import type { Role } from './permissions.ts';

const scope = {
  departments: Type.Array(Short, { maxItems: 200, uniqueItems: true }),
  canReadSensitive: Flag,
  unrestricted: Flag,
};
/** The row scope that an administrator has set for a person. */
export const PersonScope = named('PersonScope', Type.Object(shown(scope)));
export type Scope = Static<typeof PersonScope>;
/** Omitted members grant nothing. */
export const NewScope = named('Scope', Type.Partial(closedObject(scope)));

/** The scope that a request sets. */
export const scopeOf = ({
  departments = [],
  canReadSensitive = false,
  unrestricted = false,
}: Static<typeof NewScope>): Scope => ({ departments, canReadSensitive, unrestricted });

/** How a caller authenticated: with a key, or as an identity with an access token. */
export interface Credential {
  readonly kind: 'key' | 'token';
  readonly id: string;
}

/** An authenticated caller: the credential, the person it belongs to, and that person's current rights. */
export interface RiskCaller {
  readonly credential: Credential;
  readonly orgId: string;
  readonly personId: string;
  readonly roles: readonly Role[];
  /** The effective scope, with the roles applied. */
  readonly scope: Scope;
  /** Of a key: changes with all of the above, so that a read can tell whether the caller is still the same. */
  readonly version?: string;
  /** Organisations that invited the caller's verified address, and were not named by a request yet. */
  readonly invitedTo?: readonly string[];
}

/** An organisation of a caller, with who they are in it; null: it invited them. */
export interface OrganizationOfCaller {
  readonly id: string;
  readonly name: string;
  readonly member: Pick<RiskCaller, 'personId' | 'roles' | 'scope'> | null;
}

/** The rows that a caller may see. `rowCondition` in data/row-condition.ts turns it into SQL. */
export interface RowScope extends Scope {
  readonly orgId: string;
  /** The person whose own rows are always visible; null: none. */
  readonly ownerId: string | null;
}

const UNRESTRICTED: readonly Role[] = ['owner', 'admin', 'risk_manager', 'auditor', 'partner_read'];
const READS_SENSITIVE: readonly Role[] = ['owner', 'admin', 'risk_manager'];

/** The effective scope of roles and settings. A partner machine never reads sensitive rows. */
export function effectiveScope(roles: readonly Role[], set: Scope): Scope {
  const has = (wanted: readonly Role[]) => roles.some((role) => wanted.includes(role));
  return {
    unrestricted: set.unrestricted || has(UNRESTRICTED),
    departments: set.departments,
    canReadSensitive: has(READS_SENSITIVE) || (set.canReadSensitive && !isPartner(roles)),
  };
}

export function rowScopeOf({ orgId, personId, roles, scope }: RiskCaller): RowScope {
  return { ...scope, orgId, ownerId: isPartner(roles) ? null : personId };
}

/** Whether `partner_read` is the caller's only role. */
export function isPartner(roles: readonly Role[]): boolean {
  return roles.length > 0 && roles.every((role) => role === 'partner_read');
}
