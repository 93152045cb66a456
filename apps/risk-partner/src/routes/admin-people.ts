import { ADMIN_BODY_MAX_BYTES, ADMIN_LIST_RANGE, adminRoute, readPage, type AdminCaller } from '@sealgate/admin-api';
import { closedObject, enumOf, listOf, listQuery, named, type Route } from '@sealgate/http';
import { Type, type Static } from '@sinclair/typebox';
import {
  addPerson,
  findOrg,
  findPerson,
  removePerson,
  setRoles,
  setScope,
  type PeoplePorts,
  type Person,
} from '../domain/manage-orgs.ts';
import { Flag, IdText, Optional, Role, Short, Text, Texts, Time, Title } from '../schemas.ts';
import { personKeyRoutes, type KeysPorts } from './keys.ts';

const Kind = enumOf('PersonKind', ['human', 'machine']);
const Roles = Type.Array(Role, { uniqueItems: true });
const Departments = Type.Array(Short, { maxItems: 200, uniqueItems: true });
/** Omitted members grant nothing. */
const Scope = named(
  'Scope',
  closedObject({
    departments: Optional(Departments),
    canReadSensitive: Optional(Flag),
    unrestricted: Optional(Flag),
  }),
);

const PersonRow = named(
  'Person',
  Type.Object({
    id: Text,
    orgId: Text,
    name: Text,
    kind: Kind,
    roles: Type.Array(Role),
    scope: named('PersonScope', Type.Object({ departments: Texts, canReadSensitive: Flag, unrestricted: Flag })),
    createdAt: Time,
  }),
);

export type AdminPeoplePorts = PeoplePorts & KeysPorts;

const base = { charge: 'none', idempotency: 'none', permit: 'authenticated' } as const;
const ofOrg = Type.Object({ orgId: IdText });
const ofPerson = Type.Object({ orgId: IdText, personId: IdText });

export function adminPeopleRoutes(ports: AdminPeoplePorts): Route<AdminCaller>[] {
  return [...listRoutes(ports), ...personRoutes(ports), ...personKeyRoutes(ports)];
}

function listRoutes(ports: AdminPeoplePorts): Route<AdminCaller>[] {
  const path = '/admin/v1/orgs/:orgId/people';
  return [
    adminRoute({
      ...base,
      method: 'post',
      path,
      operationId: 'addPerson',
      summary: 'Add a person to an organisation',
      params: ofOrg,
      body: closedObject({ name: Title, kind: Kind, roles: Optional(Roles), scope: Optional(Scope) }),
      bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
      responses: { 201: { description: 'The person.', schema: PersonRow } },
      errors: [],
      async handler(context) {
        const person = await addPerson(ports, context.params.orgId, { person: context.body, by: context });
        return { status: 201, body: rowOf(person) };
      },
    }),
    adminRoute({
      ...base,
      method: 'get',
      path,
      operationId: 'listPeople',
      summary: 'List the people of an organisation, oldest first',
      params: ofOrg,
      query: listQuery(ADMIN_LIST_RANGE, {}),
      responses: { 200: { description: 'A page.', schema: listOf(PersonRow) } },
      errors: [],
      async handler({ params, query }) {
        await findOrg(ports.orgs, params.orgId);
        const page = readPage(query, ports.cursors, ['people', params.orgId]);
        const rows = await ports.people.list(params.orgId, { limit: page.limit + 1, after: String(page.after ?? '') });
        return { status: 200, body: page.answer(rows, { item: rowOf, position: ({ id }) => id }) };
      },
    }),
  ];
}

function personRoutes(ports: AdminPeoplePorts): Route<AdminCaller>[] {
  const one = { ...base, path: '/admin/v1/orgs/:orgId/people/:personId', params: ofPerson } as const;
  const row = { 200: { description: 'The person.', schema: PersonRow } };
  return [
    adminRoute({
      ...one,
      method: 'get',
      operationId: 'getPerson',
      summary: 'Read a person',
      responses: row,
      errors: [],
      async handler({ params }) {
        return { status: 200, body: rowOf(await findPerson(ports.people, params.orgId, params.personId)) };
      },
    }),
    adminRoute({
      ...one,
      method: 'delete',
      operationId: 'removePerson',
      summary: 'Remove a person; their keys end at once',
      responses: { 204: { description: 'Removed, now or earlier.' } },
      errors: ['IN_USE'],
      async handler(context) {
        const { orgId, personId } = context.params;
        await removePerson(ports, orgId, { personId, by: context });
        return { status: 204 };
      },
    }),
    adminRoute({
      ...one,
      path: '/admin/v1/orgs/:orgId/people/:personId/roles',
      method: 'put',
      operationId: 'setRoles',
      summary: 'Set the roles of a person',
      body: closedObject({ roles: Roles }),
      bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
      responses: row,
      errors: ['IN_USE'],
      async handler(context) {
        const { orgId, personId } = context.params;
        const { roles } = context.body;
        return { status: 200, body: rowOf(await setRoles(ports, orgId, { personId, roles, by: context })) };
      },
    }),
    adminRoute({
      ...one,
      path: '/admin/v1/orgs/:orgId/people/:personId/scope',
      method: 'put',
      operationId: 'setScope',
      summary: 'Set which rows a person may see',
      body: Scope,
      bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
      responses: row,
      errors: [],
      async handler(context) {
        const { orgId, personId } = context.params;
        const { departments = [], canReadSensitive = false, unrestricted = false } = context.body;
        const scope = { departments, canReadSensitive, unrestricted };
        return { status: 200, body: rowOf(await setScope(ports, orgId, { personId, scope, by: context })) };
      },
    }),
  ];
}

function rowOf({ id, orgId, name, kind, roles, scope, createdAt }: Person): Static<typeof PersonRow> {
  const { departments, canReadSensitive, unrestricted } = scope;
  return {
    id,
    orgId,
    name,
    kind,
    roles: [...roles],
    scope: { departments: [...departments], canReadSensitive, unrestricted },
    createdAt: createdAt.toISOString(),
  };
}
