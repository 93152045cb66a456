import { isDeepStrictEqual } from 'node:util';
import { AppError, refusedMember } from '@sealgate/errors';
import { scopeOf, type RiskCaller, type Scope } from './caller.ts';
import { foldedEmail, INVITATION_MS, type Invitation, type InvitationReads, type NewInvitation } from './invitation.ts';
import {
  adminEntry,
  noSuchPerson,
  type AdminContext,
  type NewPerson,
  type PeopleChange,
  type PeoplePorts,
  type Person,
} from './manage-orgs.ts';
import { auditEntry, noSuchRow } from './manage-resources.ts';
import { checkGrant, checkOwnChange, checkOwner, mayGrant, rightsOf, type Grant } from './member-rights.ts';
import { mayDo, rolesOf, type Role } from './permissions.ts';
import { timeText } from './resource.ts';
import type { AuditEntry } from './resource-ports.ts';

/** Who changes people: a member, whose rights bound the change, or an administrator, who may do everything. */
type ChangeContext = MemberContext | AdminContext;

interface MemberContext {
  readonly caller: RiskCaller;
  readonly requestId: string;
}

const MAX_INVITATIONS = 1000;

/** A partner machine is unrestricted unless its scope says otherwise. @throws AppError NOT_FOUND. */
export function addPerson(
  { people, newId, now }: PeoplePorts,
  orgId: string,
  { person, by }: { readonly person: NewPerson; readonly by: AdminContext },
): Promise<Person> {
  const { name, kind, roles = [], scope = {} } = person;
  const isPartnerMachine = kind === 'machine' && roles.includes('partner_read');
  const made: Person = {
    id: newId('per_'),
    orgId,
    name,
    kind,
    roles: rolesOf(roles),
    scope: scopeOf({ ...scope, unrestricted: scope.unrestricted ?? isPartnerMachine }),
    createdAt: timeText(now()),
  };
  return people.change(orgId, async (change) => {
    await change.insert(made);
    await change.record(adminEntry('member', 'create', made.id, by));
    return made;
  });
}

/** @throws AppError NOT_FOUND, FORBIDDEN, IN_USE if the organisation would be left without an owner. */
export function setRoles(
  ports: PeoplePorts,
  orgId: string,
  { personId, roles, by }: { readonly personId: string; readonly roles: Role[]; readonly by: ChangeContext },
): Promise<Person> {
  return changePeople(ports, orgId, by, async (change) => {
    const person = await findToChange(change, by, personId);
    checkChange(by, person, { roles });
    if (!roles.includes('owner')) await keepAnOwner(change, person);
    const changed = { ...person, roles: rolesOf(roles) };
    await change.update(personId, { roles });
    await endInvitations(change, changed, by);
    await change.record(entryOf('member', 'roles', personId, by));
    return changed;
  });
}

/** @throws AppError NOT_FOUND, FORBIDDEN. */
export function setScope(
  ports: PeoplePorts,
  orgId: string,
  { personId, scope, by }: { readonly personId: string; readonly scope: Scope; readonly by: ChangeContext },
): Promise<Person> {
  return changePeople(ports, orgId, by, async (change) => {
    const person = await findToChange(change, by, personId);
    checkChange(by, person, { scope });
    await change.update(personId, { scope });
    const changed = { ...person, scope };
    await endInvitations(change, changed, by);
    await change.record(entryOf('member', 'scope', personId, by));
    return changed;
  });
}

/**
 * Ends the person's keys and invitations as well. Idempotent for administrators; for members a removed person is not there.
 * @throws AppError NOT_FOUND, FORBIDDEN, IN_USE.
 */
export function removePerson(
  ports: PeoplePorts,
  orgId: string,
  { personId, by }: { readonly personId: string; readonly by: ChangeContext },
): Promise<void> {
  return changePeople(ports, orgId, by, async (change) => {
    if (!isMember(by) && (await change.wasRemoved(personId))) return;
    const person = await findToChange(change, by, personId);
    checkChange(by, person, {});
    await keepAnOwner(change, person);
    await change.remove(personId, new Date(ports.now()));
    await endInvitations(change, { roles: [], scope: scopeOf({}), id: personId }, by);
    await change.record(entryOf('member', 'delete', personId, by));
  });
}

/**
 * The person comes to be when a token with the verified address is first used.
 * @throws AppError FORBIDDEN, ALREADY_EXISTS if the address waits already or a member was invited by it, LIMIT_REACHED.
 */
export function invitePerson(
  ports: PeoplePorts,
  { invitation, by }: { readonly invitation: NewInvitation; readonly by: MemberContext },
): Promise<Invitation> {
  const { orgId, personId } = by.caller;
  const { roles = [], scope = {} } = invitation;
  const nowMs = ports.now();
  const made: Invitation = {
    id: ports.newId('inv_'),
    email: foldedEmail(invitation.email),
    roles: rolesOf(roles),
    scope: scopeOf(scope),
    invitedBy: personId,
    createdAt: timeText(nowMs),
    expiresAt: timeText(nowMs + INVITATION_MS),
  };
  return changePeople(ports, orgId, by, async (change) => {
    checkGrant(by.caller, made);
    if (await change.invitations.isTaken(made.email))
      throw refusedMember('ALREADY_EXISTS', '/email', 'The address was invited already, or is that of a member.');
    if ((await change.invitations.count()) >= MAX_INVITATIONS)
      throw new AppError('LIMIT_REACHED', `There are ${MAX_INVITATIONS} open invitations; delete one first.`);
    await change.invitations.insert(made);
    await change.record(entryOf('invitation', 'create', made.id, by));
    return made;
  });
}

/** @throws AppError NOT_FOUND unless the invitation waits. */
export async function findInvitation(
  invitations: Pick<InvitationReads, 'find'>,
  orgId: string,
  id: string,
): Promise<Invitation> {
  const found = await invitations.find(orgId, id);
  if (found === undefined) throw noSuchRow();
  return found;
}

/** @throws AppError NOT_FOUND unless the invitation waits, FORBIDDEN. */
export function removeInvitation(
  ports: PeoplePorts,
  { id, by }: { readonly id: string; readonly by: MemberContext },
): Promise<void> {
  return changePeople(ports, by.caller.orgId, by, async (change) => {
    const invitation = await change.invitations.find(id);
    if (invitation === undefined) throw noSuchRow();
    checkOwner(by.caller, invitation.roles);
    await change.invitations.remove(id);
    await change.record(entryOf('invitation', 'delete', id, by));
  });
}

/**
 * Runs a change in one transaction, in which no other changes people of the organisation. The rights of a member were read
 * when the request began: if they have changed since, the request is refused, so that a slow body outlasts no removal.
 * @throws AppError NOT_FOUND, FORBIDDEN.
 */
function changePeople<Result>(
  { people }: PeoplePorts,
  orgId: string,
  by: ChangeContext,
  work: (change: PeopleChange) => Promise<Result>,
): Promise<Result> {
  return people.change(orgId, async (change) => {
    if (!isMember(by)) return work(change);
    const { personId, roles, scope } = by.caller;
    const now = await change.find(personId);
    const result = await work(change);
    if (now !== undefined && isDeepStrictEqual(rightsOf(now), { roles, scope })) return result;
    throw new AppError('FORBIDDEN', 'Your own roles or scope have changed; send the request again.');
  });
}

const isMember = (by: ChangeContext): by is MemberContext => 'personId' in by.caller;

function entryOf(resource: string, verb: string, id: string, by: ChangeContext): AuditEntry {
  return isMember(by) ? auditEntry(resource, verb, id, by) : adminEntry(resource, verb, id, by);
}

async function findToChange(change: PeopleChange, by: ChangeContext, personId: string): Promise<Person> {
  const person = await change.find(personId);
  if (person === undefined) throw isMember(by) ? noSuchRow() : noSuchPerson();
  return person;
}

/** @throws AppError FORBIDDEN */
function checkChange(by: ChangeContext, person: Person, grant: Grant): void {
  if (!isMember(by)) return;
  checkOwner(by.caller, person.roles);
  checkGrant(by.caller, grant);
  if (person.id === by.caller.personId) checkOwnChange(person, grant);
}

async function keepAnOwner(change: PeopleChange, person: Person): Promise<void> {
  if (!person.roles.includes('owner') || (await change.hasOtherOwner(person.id))) return;
  throw new AppError('IN_USE', 'An organisation must keep at least one owner.');
}

/** Nobody comes by an invitation that its maker could not make any more. */
async function endInvitations(
  change: PeopleChange,
  maker: Pick<Person, 'id' | 'roles' | 'scope'>,
  by: ChangeContext,
): Promise<void> {
  const rights = rightsOf(maker);
  for (const invitation of await change.invitations.madeBy(maker.id)) {
    if (mayDo(rights.roles, 'member:create') && mayGrant(rights, invitation)) continue;
    await change.invitations.remove(invitation.id);
    await change.record(entryOf('invitation', 'delete', invitation.id, by));
  }
}
