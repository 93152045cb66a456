import type { Role } from './permissions.ts';

/** What an administrator has set for a person. */
export interface Scope {
  readonly unrestricted: boolean;
  readonly departments: readonly string[];
  readonly canReadSensitive: boolean;
}

/** How somebody came in: by which key, or as which identity by an access token. */
export interface Credential {
  readonly kind: 'key' | 'token';
  readonly id: string;
}

/** Who asks: a live key or an identity, the person it belongs to, and what holds for that person now. */
export interface RiskCaller {
  readonly credential: Credential;
  readonly orgId: string;
  readonly personId: string;
  readonly roles: readonly Role[];
  /** What holds, the roles counted in. */
  readonly scope: Scope;
}

/** Which rows a caller may see. One function makes an SQL condition of it: `rowCondition` in data/row-condition.ts. */
export interface RowScope extends Scope {
  readonly orgId: string;
  /** Whose own rows are seen in any case; null: nobody's. */
  readonly ownerId: string | null;
}

const UNRESTRICTED: readonly Role[] = ['owner', 'admin', 'risk_manager', 'auditor', 'partner_read'];
const READS_SENSITIVE: readonly Role[] = ['owner', 'admin', 'risk_manager'];

/** The scope that roles and settings give together. A machine that reads for partners never reads sensitive rows. */
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

/** Somebody who reads for a partner and has no other role. */
export function isPartner(roles: readonly Role[]): boolean {
  return roles.length > 0 && roles.every((role) => role === 'partner_read');
}
