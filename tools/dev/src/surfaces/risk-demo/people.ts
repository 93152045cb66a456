import { textOf, type AdminClient } from '../../start/admin-client.ts';
import type { Secrets } from '../../start/secrets.ts';
import type { SignIn } from '../../start/sign-in.ts';

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

/** The people of the demo organisation, made where they are missing, each with a key that works. */
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

/** The person and key of an earlier start, as long as neither was removed nor revoked. */
async function knownPerson({ admin, secrets, orgId }: Demo, role: string): Promise<DemoPerson | undefined> {
  const [id, key, keyId] = ['person', 'key', 'keyId'].map((what) => secrets.recall(named(role, what)));
  if (id === undefined || key === undefined) return undefined;
  const { status, body } = await admin.get(`/orgs/${orgId}/people/${id}/keys`);
  const keys = status === 200 && Array.isArray(body['items']) ? body['items'] : [];
  const isLive = keys.some((row: { id?: unknown; revokedAt?: unknown }) => row.id === keyId && row.revokedAt === null);
  return isLive ? { role, id, key } : undefined;
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

/** Says who of the provider's people is whom here, where it is not known yet: by role. */
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
