import { AppError } from '@sealgate/errors';
import { enumOf, named } from '@sealgate/schemas';
import { Type, type Static } from '@sinclair/typebox';
import { Text, Time, Title } from '../schemas.ts';
import { NewScope, PersonScope, type Scope } from './caller.ts';
import { newOf, shown } from './model.ts';
import { Role } from './permissions.ts';
import { timeText } from './resource.ts';
import type { AuditEntry } from './resource-ports.ts';

const org = { id: Text, name: Title, createdAt: Time };
export const Org = named('Org', Type.Object(shown(org)));
export type Org = Static<typeof Org>;
export const NewOrg = newOf({ ...org, name: { ...Title, description: 'Its name.' } }, ['name']);

const PersonKind = enumOf('PersonKind', ['human', 'machine']);
export const Roles = Type.Array(Role, { uniqueItems: true });

const person = {
  id: Text,
  orgId: Text,
  name: Title,
  kind: PersonKind,
  roles: Roles,
  scope: PersonScope,
  createdAt: Time,
};
/** A member of one organisation. `roles` and `scope` are as set; the effective scope is computed on each request. */
export const Person = named('Person', Type.Object(shown(person)));
export type Person = Static<typeof Person>;
const { orgId: _orgId, ...asked } = person;
const name = { ...Title, description: 'The name of the person.' };
export const NewPerson = newOf({ ...asked, name, scope: NewScope }, ['name', 'kind']);
type NewPerson = Static<typeof NewPerson>;

/** A person as other members see them. */
export const Member = named('Member', Type.Pick(Person, ['id', 'name', 'kind', 'roles', 'scope']));
export type Member = Static<typeof Member>;

export interface OrgStore {
  /** Writes the organisation with its first revision and the audit event. */
  insert(org: Org, entry: AuditEntry): Promise<Org>;
  find(id: string): Promise<Org | undefined>;
  list(page: { readonly limit: number; readonly after: string }): Promise<Org[]>;
}

/** The people of a locked organisation: no concurrent change is possible. */
export interface PeopleChange {
  find(personId: string): Promise<Person | undefined>;
  /** Whether the person has been removed. */
  wasRemoved(personId: string): Promise<boolean>;
  countOwners(): Promise<number>;
  insert(person: Person): Promise<void>;
  update(personId: string, change: { readonly roles?: Role[]; readonly scope?: Scope }): Promise<void>;
  remove(personId: string, at: Date): Promise<void>;
  record(entry: AuditEntry): Promise<void>;
}

export interface PeopleStore {
  find(orgId: string, personId: string): Promise<Person | undefined>;
  list(orgId: string, page: { readonly limit: number; readonly after: string }): Promise<Person[]>;
  /** Runs one transaction that locks the organisation. @throws AppError NOT_FOUND if there is none. */
  change<Result>(orgId: string, work: (people: PeopleChange) => Promise<Result>): Promise<Result>;
}

export interface OrgPorts {
  readonly orgs: OrgStore;
  readonly newId: (prefix: string) => string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export interface PeoplePorts extends OrgPorts {
  readonly people: PeopleStore;
}

/** The administrator and the request id, for the audit. */
export interface AdminContext {
  readonly caller: { readonly actor: string };
  readonly requestId: string;
}

export function adminEntry(
  resource: string,
  verb: string,
  resourceId: string,
  { caller, requestId }: AdminContext,
): AuditEntry {
  return { actorId: caller.actor, action: `${resource}.${verb}`, resource, resourceId, requestId };
}

export const noSuchOrg = (): AppError => new AppError('NOT_FOUND', 'There is no such organisation.');
const noSuchPerson = (): AppError => new AppError('NOT_FOUND', 'There is no such person in the organisation.');

/** @throws AppError NOT_FOUND. */
export async function findOrg(orgs: OrgStore, id: string): Promise<Org> {
  const org = await orgs.find(id);
  if (org === undefined) throw noSuchOrg();
  return org;
}

/** @throws AppError NOT_FOUND. */
export async function findPerson(people: PeopleStore, orgId: string, personId: string): Promise<Person> {
  const person = await people.find(orgId, personId);
  if (person === undefined) throw noSuchPerson();
  return person;
}

/** A partner machine is unrestricted unless its scope says otherwise. @throws AppError NOT_FOUND. */
export function addPerson(
  { people, newId, now }: PeoplePorts,
  orgId: string,
  { person, by }: { readonly person: NewPerson; readonly by: AdminContext },
): Promise<Person> {
  const { name, kind, roles = [], scope = {} } = person;
  const made: Person = {
    id: newId('per_'),
    orgId,
    name,
    kind,
    roles,
    scope: {
      departments: scope.departments ?? [],
      canReadSensitive: scope.canReadSensitive ?? false,
      unrestricted: scope.unrestricted ?? (kind === 'machine' && roles.includes('partner_read')),
    },
    createdAt: timeText(now()),
  };
  return people.change(orgId, async (change) => {
    await change.insert(made);
    await change.record(adminEntry('member', 'create', made.id, by));
    return made;
  });
}

/** @throws AppError NOT_FOUND, IN_USE if the organisation would be left without an owner. */
export function setRoles(
  { people }: PeoplePorts,
  orgId: string,
  { personId, roles, by }: { readonly personId: string; readonly roles: Role[]; readonly by: AdminContext },
): Promise<Person> {
  return people.change(orgId, async (change) => {
    const person = await change.find(personId);
    if (person === undefined) throw noSuchPerson();
    if (!roles.includes('owner')) await keepAnOwner(change, person);
    await change.update(personId, { roles });
    await change.record(adminEntry('member', 'roles', personId, by));
    return { ...person, roles };
  });
}

/** @throws AppError NOT_FOUND. */
export function setScope(
  { people }: PeoplePorts,
  orgId: string,
  { personId, scope, by }: { readonly personId: string; readonly scope: Scope; readonly by: AdminContext },
): Promise<Person> {
  return people.change(orgId, async (change) => {
    const person = await change.find(personId);
    if (person === undefined) throw noSuchPerson();
    await change.update(personId, { scope });
    await change.record(adminEntry('member', 'scope', personId, by));
    return { ...person, scope };
  });
}

/** Idempotent. Ends the person's keys as well. @throws AppError NOT_FOUND, IN_USE. */
export async function removePerson(
  { people, now }: PeoplePorts,
  orgId: string,
  { personId, by }: { readonly personId: string; readonly by: AdminContext },
): Promise<void> {
  await people.change(orgId, async (change) => {
    const person = await change.find(personId);
    if (person === undefined) {
      if (await change.wasRemoved(personId)) return;
      throw noSuchPerson();
    }
    await keepAnOwner(change, person);
    await change.remove(personId, new Date(now()));
    await change.record(adminEntry('member', 'delete', personId, by));
  });
}

async function keepAnOwner(change: PeopleChange, person: Person): Promise<void> {
  if (!person.roles.includes('owner') || (await change.countOwners()) > 1) return;
  throw new AppError('IN_USE', 'An organisation must keep at least one owner.');
}
