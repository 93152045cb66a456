import * as texts from './people-texts.ts';
import type { Person } from './risk-api.ts';

type Role = Person['roles'][number];

/** What of a scope matters beside roles. */
interface RowsOfRoles {
  /** What the roles alone decide; undefined: nothing. */
  readonly decided?: string;
  /** What "Sees all rows" means for them; undefined: they see all rows, or none, without it. */
  readonly allRows?: string;
  readonly isSensitiveAsked: boolean;
}

const SEE_ALL: readonly Role[] = ['owner', 'admin', 'risk_manager'];

/** Which settings of a scope make a difference for people with these roles, in words. */
export function rowsOfRoles(roles: readonly Role[]): RowsOfRoles {
  const has = (...wanted: readonly Role[]): boolean => roles.some((role) => wanted.includes(role));
  if (roles.length === 0) return { decided: texts.withoutRole, isSensitiveAsked: false };
  if (has(...SEE_ALL))
    return {
      decided: texts.ownersSeeAll,
      isSensitiveAsked: false,
    };
  if (roles.every((role) => role === 'partner_read'))
    return { decided: texts.partnersSeeMetadata, isSensitiveAsked: false };
  if (has('auditor', 'partner_read')) return { decided: texts.auditorsSeeAllDepartments, isSensitiveAsked: true };
  return {
    allRows: has('contributor') ? texts.contributorsSeeAllRows : texts.othersSeeAllRows,
    isSensitiveAsked: true,
  };
}
