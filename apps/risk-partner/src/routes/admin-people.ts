import { adminRoute, exportedList, resourceRoutes, rowAnswers, rowsOf, type AdminCaller } from '@sealgate/admin-api';
import { closedObject, type Route } from '@sealgate/http';
import { NewScope, scopeOf } from '../domain/caller.ts';
import { findOrg, findPerson, NewPerson, Person, type OrgPorts, type PeoplePorts } from '../domain/manage-orgs.ts';
import { addPerson, removePerson, setRoles, setScope } from '../domain/manage-people.ts';
import { Roles } from '../domain/permissions.ts';
import { IdText } from '../schemas.ts';
import { namedOrders, type AdminListPorts } from './admin-orgs.ts';
import { personKeyRoutes, type KeysPorts } from './keys.ts';

export type AdminPeoplePorts = OrgPorts & PeoplePorts & KeysPorts & AdminListPorts;

const { creating, listing, reading, changing, deleting } = resourceRoutes({
  name: 'Person',
  plural: 'People',
  said: 'The person.',
  row: Person,
  path: '/admin/v1/orgs/:orgId/people',
  params: { orgId: IdText },
  id: 'personId',
  idSchema: IdText,
});

export function adminPeopleRoutes(ports: AdminPeoplePorts): Route<AdminCaller>[] {
  const { orgs, people, cursors, auditChange } = ports;
  const { created, found } = rowAnswers((person: Person) => person);
  return [
    adminRoute({
      ...creating,
      operationId: 'addPerson',
      summary: 'Add a person or a machine to an organisation',
      description:
        'Without a role it can only call whoami. A machine of a partner (the role partner_read) reads every row that is not ' +
        'sensitive. To call the API it needs a key.',
      body: NewPerson,
      async handler(context) {
        return created(await addPerson(ports, context.params.orgId, { person: context.body, by: context }));
      },
    }),
    ...exportedList({
      ...listing,
      ...namedOrders,
      summary: 'List the people of an organisation, oldest first unless sorted',
      boundTo: ['orgId'],
      holder: ({ orgId }) => findOrg(orgs, orgId),
      ...rowsOf(() => people.list),
      exported: { resource: 'person', of: 'orgId', auditChange },
      cursors,
    }),
    adminRoute({
      ...reading,
      summary: 'Read a person with roles and scope',
      handler: async ({ params }) => found(await findPerson(people, params.orgId, params.personId)),
    }),
    adminRoute({
      ...deleting,
      operationId: 'removePerson',
      summary: 'Remove a person from an organisation; their keys end at once',
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
      summary: 'Set the roles of a person, from the next request on',
      description: 'The given roles replace all others.',
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
      summary: 'Set which rows a person may see, from the next request on',
      description: 'What is left out is removed.',
      body: NewScope,
      async handler(context) {
        const { orgId, personId } = context.params;
        const scope = scopeOf(context.body);
        return found(await setScope(ports, orgId, { personId, scope, by: context }));
      },
    }),
    ...personKeyRoutes(ports),
  ];
}
