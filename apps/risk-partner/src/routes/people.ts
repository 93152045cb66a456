import {
  closedObject,
  columnsOf,
  listQuery,
  routeFor,
  searchParameter,
  sortParameter,
  type Route,
} from '@sealgate/http';
import { allPages, type ListPosition, searchOf, sortingOf, sortValues } from '@sealgate/paging';
import { NewScope, scopeOf, type RiskCaller } from '../domain/caller.ts';
import {
  MadeInvitation,
  NewInvitation,
  ShownInvitation,
  type Invitation,
  type InvitationReads,
} from '../domain/invitation.ts';
import { Member, type NamedOrder, NAMED_ORDERS, type PeoplePorts, type Person } from '../domain/manage-orgs.ts';
import {
  findInvitation,
  invitePerson,
  removeInvitation,
  removePerson,
  setRoles,
  setScope,
} from '../domain/manage-people.ts';
import { noSuchRow } from '../domain/manage-resources.ts';
import { mayDo, Roles } from '../domain/permissions.ts';
import type { Cursors } from '../domain/read-partner.ts';
import { ofId } from '../schemas.ts';
import { barePage, barePageOf, countedPageOf } from './bare-page.ts';
import { BODY_MAX_BYTES } from './dashboard.ts';
import { exporting, exportQuery, sendExport, type ExportQuery, type RecordExport } from './exports.ts';

const route = routeFor<RiskCaller>();

export interface PeopleRoutePorts extends PeoplePorts {
  readonly invitations: InvitationReads;
  /** When these people made their newest request; null: never. */
  readonly lastSeen: (orgId: string, ids: readonly string[]) => Promise<ReadonlyMap<string, string | null>>;
  readonly cursors: Cursors;
  readonly recordExport: RecordExport;
  /** Where people sign in; links are relative without one. */
  readonly signInUrl: string | undefined;
}

const PATH = '/api/people';
const INVITATIONS_PATH = '/api/people/invitations';
const LIST_RANGE = { default: 50, max: 200 } as const;

const base = { charge: 1, idempotency: 'none', tags: ['people'], errors: [] } as const;
const one = { ...base, params: ofId } as const;
const onePerson = { 200: { description: 'The person.', schema: Member } };

/** Members of the organisation, and invitations of further ones. */
export const peopleRoutes = (ports: PeopleRoutePorts): Route<RiskCaller>[] => [
  ...memberRoutes(ports),
  ...changeRoutes(ports),
  ...invitationRoutes(ports),
];

const ASKING = {
  q: searchParameter,
  sort: sortParameter(sortValues(NAMED_ORDERS), { name: 'PeopleSort', byDefault: 'createdAt' }),
};

/** What a valid query asks for; without `sort`, the oldest first. */
function askedBy(orgId: string, { q, sort = 'createdAt' }: Readonly<Record<string, string | undefined>>) {
  const sorting = sortingOf(sort as NamedOrder | `-${NamedOrder}`);
  return { orgId, search: q === undefined ? undefined : searchOf(q), sorting };
}

function memberRoutes(ports: PeopleRoutePorts): Route<RiskCaller>[] {
  const { people, cursors, recordExport } = ports;
  const list = route({
    ...base,
    looks: true,
    method: 'get',
    path: PATH,
    permit: 'member:read',
    operationId: 'dashboard_list_people',
    summary: 'List the members of the organisation, with roles and scope',
    query: listQuery(LIST_RANGE, ASKING),
    responses: countedPageOf(Member),
    async handler({ caller, query }) {
      const binding = ['dashboard.people.v2', caller.orgId, caller.personId];
      const page = barePage(cursors, { path: PATH, binding, query, range: LIST_RANGE });
      const after = page.after as ListPosition | undefined; // As `position` below makes it.
      const asked = askedBy(caller.orgId, page.filters);
      const counted = await people.list.count(asked);
      const found = await people.list.rows({ ...asked, counted, limit: page.take, after });
      const { rows, next } = page.answer(found, ({ position }) => position, counted);
      return { status: 200, body: await membersSeen(ports, caller, rows), ...next };
    },
  });
  const all = route({
    ...exporting,
    tags: base.tags,
    path: `${PATH}/export`,
    permit: 'member:export',
    operationId: 'dashboard_export_people',
    summary: 'Export the members of the organisation, with roles and scope',
    query: exportQuery(ASKING),
    errors: [],
    async handler(context) {
      const { caller, requestId, method } = context;
      const query = context.query as ExportQuery; // By its schema.
      await sendExport(context, {
        fileName: 'people',
        format: query.format,
        columns: columnsOf(Member),
        pages: membersOf(ports, caller, askedBy(caller.orgId, query)),
        async begin() {
          if (method === 'GET')
            await recordExport({ caller, requestId }, { resource: 'member', collection: 'people', query });
        },
      });
    },
  });
  const get = route({
    ...one,
    method: 'get',
    path: `${PATH}/:id`,
    permit: 'member:read',
    operationId: 'dashboard_get_person',
    summary: 'Read a member of the organisation, with roles and scope',
    responses: onePerson,
    async handler({ caller, params }) {
      const person = await people.find(caller.orgId, params.id);
      if (person === undefined) throw noSuchRow();
      const [member] = await membersSeen(ports, caller, [{ row: person }]);
      return { status: 200, body: member! };
    },
  });
  // The export before the person whose id would be `export`.
  return [list, all, get];
}

/** All members that are asked for, in steps. */
async function* membersOf(ports: SeenPorts, caller: RiskCaller, asked: ReturnType<typeof askedBy>) {
  const { list } = ports.people;
  const counted = await list.count(asked);
  const pages = allPages(
    (page: { readonly limit: number; readonly after: ListPosition | undefined }) =>
      list.rows({ ...asked, counted, ...page }),
    ({ position }) => position,
  );
  for await (const rows of pages) yield await membersSeen(ports, caller, rows);
}

type SeenPorts = Pick<PeopleRoutePorts, 'people' | 'lastSeen'>;

/** With when they were seen, for those who may change members: what others did is not for everybody who may read names. */
async function membersSeen(
  { lastSeen }: Pick<SeenPorts, 'lastSeen'>,
  { orgId, roles }: RiskCaller,
  rows: readonly { readonly row: Person }[],
): Promise<Member[]> {
  const members = rows.map(({ row }) => memberOf(row));
  if (!mayDo(roles, 'member:update') || rows.length === 0) return members;
  const seen = await lastSeen(
    orgId,
    members.map(({ id }) => id),
  );
  return members.map((member) => ({ ...member, lastSeenAt: seen.get(member.id) ?? null }));
}

function changeRoutes(ports: PeopleRoutePorts): Route<RiskCaller>[] {
  const changing = { ...one, method: 'put', permit: 'member:update', bodyMaxBytes: BODY_MAX_BYTES } as const;
  const roles = route({
    ...changing,
    path: `${PATH}/:id/roles`,
    operationId: 'dashboard_set_roles',
    summary: 'Set the roles of a member, from the next request on',
    description: 'They replace all others. Nobody grants a role beyond their own, and only owners change owners (403).',
    body: closedObject({ roles: Roles }),
    responses: onePerson,
    errors: ['FORBIDDEN', 'IN_USE'],
    async handler(context) {
      const set = { personId: context.params.id, roles: context.body.roles, by: context };
      return { status: 200, body: memberOf(await setRoles(ports, context.caller.orgId, set)) };
    },
  });
  const scope = route({
    ...changing,
    path: `${PATH}/:id/scope`,
    operationId: 'dashboard_set_scope',
    summary: 'Set which rows a member may see, from the next request on',
    description:
      'What is left out is removed. Nobody grants a scope beyond their own, and only owners change owners (403).',
    body: NewScope,
    responses: onePerson,
    errors: ['FORBIDDEN'],
    async handler(context) {
      const set = { personId: context.params.id, scope: scopeOf(context.body), by: context };
      return { status: 200, body: memberOf(await setScope(ports, context.caller.orgId, set)) };
    },
  });
  const remove = route({
    ...one,
    method: 'delete',
    path: `${PATH}/:id`,
    permit: 'member:delete',
    operationId: 'dashboard_remove_person',
    summary: 'Remove a member; their keys and access tokens are refused from the next request on',
    description: 'Ends the invitations that they made as well. Only owners remove owners (403).',
    responses: { 204: { description: 'Removed.' } },
    errors: ['FORBIDDEN', 'IN_USE'],
    async handler(context) {
      await removePerson(ports, context.caller.orgId, { personId: context.params.id, by: context });
      return { status: 204 };
    },
  });
  return [roles, scope, remove];
}

function invitationRoutes(ports: PeopleRoutePorts): Route<RiskCaller>[] {
  const { invitations, cursors, signInUrl = '' } = ports;
  const shown = ({ orgId }: RiskCaller, invitation: Invitation) => {
    // A page of the console, which names the organisation to the service.
    return { ...invitation, link: `${signInUrl}/risks/${orgId}/register` };
  };
  const create = route({
    ...base,
    method: 'post',
    path: INVITATIONS_PATH,
    permit: 'member:create',
    operationId: 'dashboard_invite',
    summary: 'Invite somebody by their e-mail address; the inviter passes on the link',
    description:
      'No mail is sent. Within 14 days, the first access token of a configured issuer with that verified address makes a person with these roles and this scope, once; if they belong to an organisation already, the first that names this one in X-Organization. The link holds no secret. Nobody grants roles or a scope beyond their own (403).',
    body: NewInvitation,
    bodyMaxBytes: BODY_MAX_BYTES,
    responses: {
      201: { description: 'The invitation.', schema: MadeInvitation, headers: { Location: 'Its path.' } },
    },
    errors: ['FORBIDDEN', 'ALREADY_EXISTS', 'LIMIT_REACHED'],
    async handler(context) {
      const { id, link, expiresAt } = shown(
        context.caller,
        await invitePerson(ports, { invitation: context.body, by: context }),
      );
      return { status: 201, body: { id, link, expiresAt }, headers: { Location: `${INVITATIONS_PATH}/${id}` } };
    },
  });
  const list = route({
    ...base,
    looks: true,
    method: 'get',
    path: INVITATIONS_PATH,
    permit: 'member:read',
    operationId: 'dashboard_list_invitations',
    summary: 'List invitations that wait, oldest first',
    query: listQuery(LIST_RANGE, {}),
    responses: barePageOf(ShownInvitation),
    async handler({ caller, query }) {
      const binding = ['dashboard.invitations.v1', caller.orgId, caller.personId];
      const page = barePage(cursors, { path: INVITATIONS_PATH, binding, query, range: LIST_RANGE });
      const [after] = (page.after ?? ['']) as [string]; // As `position` below makes it.
      const found = await invitations.list(caller.orgId, { limit: page.take, after });
      const { rows, next } = page.answer(found, ({ id }) => [id]);
      return { status: 200, body: rows.map((one) => shown(caller, one)), ...next };
    },
  });
  const get = route({
    ...one,
    method: 'get',
    path: `${INVITATIONS_PATH}/:id`,
    permit: 'member:read',
    operationId: 'dashboard_get_invitation',
    summary: 'Read an invitation that waits',
    responses: { 200: { description: 'The invitation.', schema: ShownInvitation } },
    handler: async ({ caller, params }) => ({
      status: 200,
      body: shown(caller, await findInvitation(invitations, caller.orgId, params.id)),
    }),
  });
  const remove = route({
    ...one,
    method: 'delete',
    path: `${INVITATIONS_PATH}/:id`,
    permit: 'member:delete',
    operationId: 'dashboard_delete_invitation',
    summary: 'Delete an invitation that waits',
    responses: { 204: { description: 'Deleted.' } },
    errors: ['FORBIDDEN'],
    async handler(context) {
      await removeInvitation(ports, { id: context.params.id, by: context });
      return { status: 204 };
    },
  });
  return [create, list, get, remove];
}

const memberOf = ({ id, name, kind, roles, scope }: Person): Member => ({ id, name, kind, roles, scope });
