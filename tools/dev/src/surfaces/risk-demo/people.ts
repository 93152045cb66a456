import { isKeyValid, type KeyEnd } from '@sealgate/auth/key-state';
import { type AdminClient, textOf } from '../../start/admin-client.ts';
import type { Secrets } from '../../start/secrets.ts';
import type { SignIn } from '../../start/surface.ts';

export interface DemoPerson {
  readonly role: string;
  readonly id: string;
  readonly key: string;
}

/** One person for each role. Contributor and viewer see two departments each, and no sensitive row. */
const PEOPLE = [
  { role: 'owner', name: 'Owner (demo)', kind: 'human' },
  { role: 'admin', name: 'Administrator (demo)', kind: 'human' },
  { role: 'risk_manager', name: 'Risk manager (demo)', kind: 'human' },
  { role: 'auditor', name: 'Auditor (demo)', kind: 'human' },
  { role: 'contributor', name: 'Contributor (demo)', kind: 'human', departments: ['operations', 'warehouse'] },
  { role: 'viewer', name: 'Viewer (demo)', kind: 'human', departments: ['operations', 'it'] },
  { role: 'partner_read', name: 'Partner machine (demo)', kind: 'machine' },
] as const;

/** Creates missing people of the demo organisation, each with a valid key. */
export async function demoPeople(demo: {
  readonly admin: AdminClient;
  readonly secrets: Secrets;
  readonly orgId: string;
}): Promise<DemoPerson[]> {
  const people: DemoPerson[] = [];
  for (const person of PEOPLE) people.push((await knownPerson(demo, person.role)) ?? (await newPerson(demo, person)));
  return people;
}

type Demo = Parameters<typeof demoPeople>[0];

const named = (role: string, what: string): string => `demo.risk.${role}.${what}`;

type ListedKey = KeyEnd & { readonly id: string };

/** The person and key of an earlier start, unless they were removed or the key has ended. */
async function knownPerson({ admin, secrets, orgId }: Demo, role: string): Promise<DemoPerson | undefined> {
  const [id, key, keyId] = ['person', 'key', 'keyId'].map((what) => secrets.recall(named(role, what)));
  if (id === undefined || key === undefined) return undefined;
  const { status, body } = await admin.get(`/orgs/${orgId}/people/${id}/keys`);
  const keys: ListedKey[] = status === 200 && Array.isArray(body['items']) ? body['items'] : [];
  const isValid = keys.some((row) => row.id === keyId && isKeyValid(row, Date.now()));
  return isValid ? { role, id, key } : undefined;
}

async function newPerson({ admin, secrets, orgId }: Demo, person: (typeof PEOPLE)[number]): Promise<DemoPerson> {
  const { role, name, kind } = person;
  const scope = 'departments' in person ? { scope: { departments: person.departments } } : {};
  const id = textOf(await admin.post(`/orgs/${orgId}/people`, { name, kind, roles: [role], ...scope }), 'id');
  const minted = await admin.post(`/orgs/${orgId}/people/${id}/keys`, { label: 'Demo' });
  const key = textOf(minted, 'rawKey');
  for (const [what, value] of Object.entries({ person: id, key, keyId: textOf(minted, 'id') }))
    secrets.remember(named(role, what), value);
  return { role, id, key };
}

interface LinkedPeople {
  readonly admin: AdminClient;
  readonly orgId: string;
  readonly people: readonly DemoPerson[];
}

/** Links identities of the provider to people of the same role, if they are not linked yet. */
export async function linkIdentities(
  { admin, orgId, people }: LinkedPeople,
  signIn: SignIn | undefined,
): Promise<void> {
  const { issuer, people: identities } = signIn ?? { issuer: '', people: [] };
  for (const { role, id } of people) {
    const subject = identities.find((identity) => identity.role === role)?.subject;
    if (subject === undefined) continue;
    const made = await admin.post(`/orgs/${orgId}/people/${id}/identities`, { issuer, subject });
    if (made.body['code'] !== 'ALREADY_EXISTS') textOf(made, 'id');
  }
}

/** Content of the demo organisation. A freight company: everything is fictional. */

export const departments = ['operations', 'warehouse', 'it', 'finance', 'hr', 'legal'] as const;

/** Risks by category; each occurs in several places. */
export const threats: Readonly<Record<string, readonly string[]>> = {
  operations: [
    'Loss of the transport management system',
    'Customs declarations sent late',
    'Cold chain broken unnoticed',
    'Night shift without a supervisor',
  ],
  security: [
    'Ransomware on file servers',
    'Stolen handheld scanners',
    'Phishing of dispatch mailboxes',
    'Shared accounts at packing stations',
    'Unpatched edge routers',
  ],
  supplier: ['Subcontractor without insurance', 'Single supplier of pallets', 'Cloud provider changes its terms'],
  compliance: [
    'Driving times not recorded',
    'Dangerous goods without papers',
    'Retention periods exceeded',
    'Data processing agreement missing',
  ],
  finance: ['Payment run released by one person', 'Fuel price not hedged', 'Invoices matched by hand'],
  people: ['Key dispatcher leaves', 'Forklift licences expired', 'No deputy for payroll'],
};

export const places = [
  'Hamburg hub',
  'Rotterdam hub',
  'Gdansk depot',
  'Lyon depot',
  'headquarters',
  'road fleet',
  'customer portal',
  'bonded warehouse',
  'rail terminal',
  'returns centre',
] as const;

export const assetKinds = [
  ['Transport management system', 'application', 'critical'],
  ['Warehouse management system', 'application', 'critical'],
  ['Customer portal', 'application', 'high'],
  ['Payroll', 'application', 'high'],
  ['Data warehouse', 'data store', 'high'],
  ['Handheld scanners', 'device fleet', 'medium'],
  ['Edge routers', 'network', 'high'],
  ['Cold storage sensors', 'device fleet', 'medium'],
  ['Backup vault', 'data store', 'critical'],
  ['Forklift fleet', 'equipment', 'medium'],
] as const;

/** Two shortened frameworks: each requirement with its text, and the control that meets it. */
export const frameworks = [
  {
    name: 'Information security baseline',
    version: '2026',
    requirements: [
      'Security policy',
      'Roles and duties',
      'Asset inventory',
      'Access rights',
      'Privileged access',
      'Secure configuration',
      'Vulnerability handling',
      'Backups',
      'Logging',
      'Incident response',
      'Supplier security',
      'Continuity of operation',
      'Awareness',
      'Physical access',
      'Cryptography',
      'Change control',
    ],
    prefix: 'IS',
  },
  {
    name: 'Transport compliance',
    version: '4',
    requirements: [
      'Driving and rest times',
      'Load securing',
      'Dangerous goods',
      'Temperature control',
      'Customs security',
      'Vehicle inspection',
      'Driver qualification',
      'Accident reporting',
      'Subcontractor checks',
      'Record keeping',
    ],
    prefix: 'TC',
  },
] as const;

export const policies = [
  ['Information security policy', 'Everybody protects what customers trust us with.'],
  ['Acceptable use', 'Company devices are for company work.'],
  ['Incident handling', 'Report at once; nobody is blamed for reporting.'],
  ['Supplier selection', 'Two offers, one check, one contract.'],
  ['Driving times', 'No delivery is worth a tired driver.'],
  ['Business continuity', 'Each hub can work for two days without the centre.'],
] as const;
