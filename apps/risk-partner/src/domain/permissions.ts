/** The roles, in the order of the table. */
export const ROLES = ['owner', 'admin', 'risk_manager', 'auditor', 'contributor', 'viewer', 'partner_read'] as const;
export type Role = (typeof ROLES)[number];

const ACTIONS = { c: 'create', r: 'read', u: 'update', d: 'delete', e: 'export' } as const;

/**
 * Who may do what, and the only place that says so: c create, r read, u update, d delete, e export, one column for each of
 * `ROLES`. A star marks what row filters narrow; it grants nothing. `-` is nothing.
 */
const PERMISSION_TABLE = {
  risk: ['crude', 'crude', 'crue', 're', 'r*u*', 'r*', '-'],
  evidence: ['crude', 'crude', 'crue', 're', 'cr*u*', 'r*', '-'],
  control: ['crud', 'crud', 'cru', 'r', 'r*', 'r*', '-'],
  asset: ['crud', 'crud', 'cru', 'r', 'r*', 'r*', '-'],
  policy: ['crud', 'crud', 'r', 'r', 'r*', '-', '-'],
  policyMetadata: ['r', 'r', 'r', 'r', 'r', 'r', '-'],
  framework: ['r', 'r', 'r', 'r', 'r', 'r', '-'],
  coverage: ['r', 'r', 'r', 'r', 'r', 'r', '-'],
  proof: ['r', 'r', 'r', 'r', 'r', 'r', '-'],
  snapshot: ['r', 'r', 'r', 'r', 'r', 'r', '-'],
  apiKey: ['crd', 'crd', 'crd', 'crd', 'crd', 'crd', '-'],
  audit: ['r', 'r', '-', 'r', '-', '-', '-'],
  member: ['crud', 'cru', '-', 'r', '-', '-', '-'],
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

/** Whether one of the roles holds the permission. `a or b` asks for either. */
export function mayDo(roles: readonly Role[], permission: string): boolean {
  return permission.split(' or ').some((wanted) => roles.some((role) => GRANTED.get(role)?.has(wanted)));
}

/** All permissions of these roles together, by name. */
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
