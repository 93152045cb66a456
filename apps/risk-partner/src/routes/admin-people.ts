import { adminRoute, resourceRoutes, rowAnswers, type AdminCaller } from '@sealgate/admin-api';
import { closedObject, enumOf, named, type Route } from '@sealgate/http';
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
import { Role } from '../domain/permissions.ts';
import { Flag, IdText, Optional, Short, Text, Texts, Time, Title } from '../schemas.ts';
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

const { creating, listing, reading, changing, deleting } = resourceRoutes({
  name: 'Person',
  plural: 'People',
  said: 'The person.',
  row: PersonRow,
  path: '/admin/v1/orgs/:orgId/people',
  params: { orgId: IdText },
  id: 'personId',
  idSchema: IdText,
});

export function adminPeopleRoutes(ports: AdminPeoplePorts): Route<AdminCaller>[] {
  const { orgs, people, cursors } = ports;
  const { created, found, page } = rowAnswers({ rowOf, positionOf: ({ id }) => id, cursors });
  return [
    adminRoute({
      ...creating,
      operationId: 'addPerson',
      summary: 'Add a person to an organisation',
      body: closedObject({ name: Title, kind: Kind, roles: Optional(Roles), scope: Optional(Scope) }),
      async handler(context) {
        return created(await addPerson(ports, context.params.orgId, { person: context.body, by: context }));
      },
    }),
    adminRoute({
      ...listing,
      summary: 'List the people of an organisation, oldest first',
      async handler({ params: { orgId }, query }) {
        await findOrg(orgs, orgId);
        return page(query, ['people', orgId], (after) => people.list(orgId, after));
      },
    }),
    adminRoute({
      ...reading,
      summary: 'Read a person',
      handler: async ({ params }) => found(await findPerson(people, params.orgId, params.personId)),
    }),
    adminRoute({
      ...deleting,
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
      ...changing,
      method: 'put',
      path: `${reading.path}/roles`,
      operationId: 'setRoles',
      summary: 'Set the roles of a person',
      body: closedObject({ roles: Roles }),
      errors: ['IN_USE'],
      async handler(context) {
        const { orgId, personId } = context.params;
        const { roles } = context.body;
        return found(await setRoles(ports, orgId, { personId, roles, by: context }));
      },
    }),
    adminRoute({
      ...changing,
      method: 'put',
      path: `${reading.path}/scope`,
      operationId: 'setScope',
      summary: 'Set which rows a person may see',
      body: Scope,
      async handler(context) {
        const { orgId, personId } = context.params;
        const { departments = [], canReadSensitive = false, unrestricted = false } = context.body;
        const scope = { departments, canReadSensitive, unrestricted };
        return found(await setScope(ports, orgId, { personId, scope, by: context }));
      },
    }),
    ...personKeyRoutes(ports),
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
