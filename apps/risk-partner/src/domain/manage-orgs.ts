import { AppError } from '@sealgate/errors';
import type { TableList } from '@sealgate/paging';
import { enumOf, named } from '@sealgate/schemas';
import { Type, type Static } from '@sinclair/typebox';
import { OrNull, Text, Time, Title } from '../schemas.ts';
import { NewScope, PersonScope, type Scope } from './caller.ts';
import type { InvitationsChange } from './invitation.ts';
import { newOf, shown } from './model.ts';
import { Roles, type Role } from './permissions.ts';
import type { AuditEntry } from './resource-ports.ts';

const org = { id: Text, name: Title, createdAt: Time };
export const Org = named('Org', Type.Object(shown(org)));
export type Org = Static<typeof Org>;
export const NewOrg = newOf({ ...org, name: { ...Title, description: 'Its name.' } }, ['name']);

const PersonKind = enumOf('PersonKind', ['human', 'machine']);

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
export type NewPerson = Static<typeof NewPerson>;

/** A person as other members see them. */
export const Member = named(
  'Member',
  Type.Object({
    ...Type.Pick(Person, ['id', 'name', 'kind', 'roles', 'scope']).properties,
    lastSeenAt: Type.Optional({
      ...OrNull(Time),
      description: 'Of the newest request, to the minute; null: none. Only for those who may change members.',
    }),
  }),
);
export type Member = Static<typeof Member>;

export interface OrgStore {
  /** Writes the organisation with its first revision and the audit event. */
  insert(org: Org, entry: AuditEntry): Promise<Org>;
  find(id: string): Promise<Org | undefined>;
  readonly list: TableList<object, Org, NamedOrder>;
}

/** What lists of things with a name can be sorted by. */
export const NAMED_ORDERS = ['createdAt', 'name'] as const;
export type NamedOrder = (typeof NAMED_ORDERS)[number];

/** The people of a locked organisation: no concurrent change is possible. */
export interface PeopleChange {
  find(personId: string): Promise<Person | undefined>;
  /** Whether the person has been removed. */
  wasRemoved(personId: string): Promise<boolean>;
  /** Whether somebody else is an owner. */
  hasOtherOwner(personId: string): Promise<boolean>;
  insert(person: Person): Promise<void>;
  update(personId: string, change: { readonly roles?: Role[]; readonly scope?: Scope }): Promise<void>;
  remove(personId: string, at: Date): Promise<void>;
  record(entry: AuditEntry): Promise<void>;
  readonly invitations: InvitationsChange;
}

export interface PeopleStore {
  find(orgId: string, personId: string): Promise<Person | undefined>;
  /** Those who were not removed. */
  readonly list: TableList<{ readonly orgId: string }, Person, NamedOrder>;
  /** Runs one transaction that locks the organisation. @throws AppError NOT_FOUND if there is none. */
  change<Result>(orgId: string, work: (people: PeopleChange) => Promise<Result>): Promise<Result>;
}

export interface OrgPorts {
  readonly orgs: OrgStore;
  readonly newId: (prefix: string) => string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export interface PeoplePorts extends Pick<OrgPorts, 'newId' | 'now'> {
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
export const noSuchPerson = (): AppError => new AppError('NOT_FOUND', 'There is no such person in the organisation.');

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
