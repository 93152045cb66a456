/** Somebody whom the development provider signs in. */
export interface DemoIdentity {
  /** Of surface A, or `operator`: who may do everything on the admin listeners. */
  readonly role: string;
  /** `sub` of their tokens. */
  readonly subject: string;
  readonly email: string;
  readonly name: string;
  readonly groups: readonly string[];
}

/** Values of the claim `groups` that give a role on the admin listeners. */
export const ADMIN_GROUPS = { operator: 'sealgate-operators', viewer: 'sealgate-viewers' } as const;

const person = (role: string, name: string, groups: readonly string[] = []): DemoIdentity => {
  const subject = `demo-${role.replaceAll('_', '-')}`;
  return { role, subject, email: `${subject}@example.com`, name, groups };
};

/** One for each role of surface A, and an operator, who belongs to no organisation. */
export const DEMO_IDENTITIES: readonly DemoIdentity[] = [
  person('operator', 'Operator (demo)', [ADMIN_GROUPS.operator]),
  person('owner', 'Owner (demo)'),
  person('admin', 'Administrator (demo)'),
  person('risk_manager', 'Risk manager (demo)'),
  person('auditor', 'Auditor (demo)'),
  person('contributor', 'Contributor (demo)'),
  person('viewer', 'Viewer (demo)', [ADMIN_GROUPS.viewer]),
  person('partner_read', 'Partner machine (demo)'),
];
