import { enumOf } from '@sealgate/schemas';
import { Type, type Static } from '@sinclair/typebox';

/** The roles, in column order of the table. */
export const ROLES = ['owner', 'admin', 'risk_manager', 'auditor', 'contributor', 'viewer', 'partner_read'] as const;
export const Role = enumOf('Role', ROLES);
export type Role = Static<typeof Role>;
export const Roles = Type.Array(Role, { uniqueItems: true });

/** The roles in their order. Those unknown to this version grant nothing. */
export const rolesOf = (names: readonly string[]): Role[] => ROLES.filter((role) => names.includes(role));

const ACTIONS = { c: 'create', r: 'read', u: 'update', d: 'delete', e: 'export' } as const;

/**
 * The permission table, the only source of permissions: c create, r read, u update, d delete, e export, one column per
 * role of `ROLES`. A star marks a row-filtered permission; `-` is none.
 */
const PERMISSION_TABLE = {
  risk: ['crude', 'crude', 'crue', 're', 'r*u*', 'r*', '-'],
  evidence: ['crude', 'crude', 'crue', 're', 'cr*u*', 'r*', '-'],
  control: ['crude', 'crude', 'crue', 're', 'r*', 'r*', '-'],
  asset: ['crude', 'crude', 'crue', 're', 'r*', 'r*', '-'],
  policy: ['crude', 'crude', 're', 're', 'r*', '-', '-'],
  policyMetadata: ['r', 'r', 'r', 'r', 'r', 'r', '-'],
  framework: ['r', 'r', 'r', 'r', 'r', 'r', '-'],
  coverage: ['r', 'r', 'r', 'r', 'r', 'r', '-'],
  proof: ['r', 'r', 'r', 'r', 'r', 'r', '-'],
  snapshot: ['r', 'r', 'r', 'r', 'r', 'r', '-'],
  apiKey: ['crd', 'crd', 'crd', 'crd', 'crd', 'crd', '-'],
  audit: ['r', 'r', '-', 'r', '-', '-', '-'],
  member: ['crude', 'crue', '-', 're', '-', '-', '-'],
  partner: ['-', '-', '-', '-', '-', '-', 'r'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** Every permission of each role, as `resource:action`. */
const GRANTED: ReadonlyMap<Role, ReadonlySet<string>> = new Map(
  ROLES.map((role, column) => [role, new Set(permissionsOfColumn(column))]),
);

function permissionsOfColumn(column: number): string[] {
  return Object.entries(PERMISSION_TABLE).flatMap(([resource, cells]) =>
    Object.entries(ACTIONS)
      .filter(([letter]) => cells[column]?.includes(letter))
      .map(([, action]) => `${resource}:${action}`),
  );
}

/** Whether one of the roles has the permission. `a or b` accepts either. */
export function mayDo(roles: readonly Role[], permission: string): boolean {
  return permission.split(' or ').some((wanted) => roles.some((role) => GRANTED.get(role)?.has(wanted)));
}

/** What `partner:read` gives access to, as metadata. */
const PARTNER_READS = [
  'risk',
  'evidence',
  'control',
  'asset',
  'policyMetadata',
  'framework',
  'coverage',
  'proof',
  'snapshot',
] as const satisfies readonly (keyof typeof PERMISSION_TABLE)[];

/** Whether the roles may do everything that the others may. Who reads all that partners see has `partner:read`. */
export function coverRoles(roles: readonly Role[], others: readonly Role[]): boolean {
  return permissionsOf(others).every((permission) =>
    permission === 'partner:read'
      ? mayDo(roles, permission) || PARTNER_READS.every((resource) => mayDo(roles, `${resource}:read`))
      : mayDo(roles, permission),
  );
}

/** The permissions of the roles, sorted. */
export function permissionsOf(roles: readonly Role[]): string[] {
  return [...new Set(roles.flatMap((role) => [...(GRANTED.get(role) ?? [])]))].sort();
}

/** The table as the README shows it. */
export function permissionTable(): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const cell = (text: string) => text.replaceAll('*', '\\*');
  const rows = Object.entries(PERMISSION_TABLE).map(([resource, cells]) => line([resource, ...cells.map(cell)]));
  return [line(['resource', ...ROLES]), line(['resource', ...ROLES].map(() => '-')), ...rows].join('\n');
}
