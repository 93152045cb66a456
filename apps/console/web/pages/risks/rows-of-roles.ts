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
  if (roles.length === 0) return { decided: 'Without a role they see no rows.', isSensitiveAsked: false };
  if (has(...SEE_ALL))
    return {
      decided: 'Owners, administrators and risk managers see all rows, sensitive ones too.',
      isSensitiveAsked: false,
    };
  if (roles.every((role) => role === 'partner_read'))
    return { decided: 'Partners read the metadata of all rows but sensitive ones.', isSensitiveAsked: false };
  if (has('auditor', 'partner_read'))
    return { decided: 'Auditors and partners see the rows of all departments.', isSensitiveAsked: true };
  const does = has('contributor')
    ? 'They read all risks, evidence and assets, and change the risks and evidence'
    : 'They read all risks, evidence and assets';
  return {
    allRows: `${does}, of every department. Without this: only what they own, and the departments below.`,
    isSensitiveAsked: true,
  };
}
