import {
  adminRoute,
  exportedList,
  OPERATORS_ONLY,
  resourceRoutes,
  rowAnswers,
  rowsOf,
  type AdminCaller,
} from '@sealgate/admin-api';
import type { Route } from '@sealgate/http';
import {
  addIdentity,
  Identity,
  IDENTITY_ORDERS,
  NewIdentity,
  removeIdentity,
  type IdentityPorts,
} from '../domain/identities.ts';
import { findPerson } from '../domain/manage-orgs.ts';
import { UNLINKED_ORDERS, UnlinkedIdentity, type UnlinkedStore } from '../domain/unlinked-identities.ts';
import { IdText } from '../schemas.ts';
import type { AdminListPorts } from './admin-orgs.ts';

export interface AdminIdentityPorts extends IdentityPorts, AdminListPorts {
  readonly unlinked: Pick<UnlinkedStore, 'list'>;
}

const { creating, listing, deleting } = resourceRoutes({
  name: 'Identity',
  plural: 'Identities',
  said: 'The identity, or the invitation.',
  row: Identity,
  path: '/admin/v1/orgs/:orgId/people/:personId/identities',
  params: { orgId: IdText, personId: IdText },
  id: 'identityId',
  idSchema: IdText,
});

/** Identities of people at identity providers. */
export function adminIdentityRoutes(ports: AdminIdentityPorts): Route<AdminCaller>[] {
  const { people, identities, cursors, auditChange } = ports;
  const { created } = rowAnswers((identity: Identity) => identity);
  return [
    ...unlinkedRoutes(ports),
    adminRoute({
      ...creating,
      operationId: 'addIdentity',
      summary: 'Link an identity to a person, or invite them by e-mail',
      description:
        'Either `issuer` and `subject` of their access tokens, or an `email`: the invitation is valid for 14 days, and the first token of a configured issuer with that verified address becomes the identity.',
      body: NewIdentity,
      errors: ['ALREADY_EXISTS'],
      async handler(context) {
        return created(await addIdentity(ports, context.params, { identity: context.body, by: context }));
      },
    }),
    ...exportedList({
      ...listing,
      summary: 'List the identities and invitations of a person, oldest first unless sorted',
      boundTo: ['personId'],
      search: true,
      sorts: { fields: IDENTITY_ORDERS, default: 'createdAt' },
      holder: ({ orgId, personId }) => findPerson(people, orgId, personId),
      ...rowsOf(() => identities.list),
      exported: { resource: 'identity', of: 'personId', auditChange },
      cursors,
    }),
    adminRoute({
      ...deleting,
      operationId: 'removeIdentity',
      summary: 'Remove an identity or an invitation; its tokens are refused from the next request on',
      description: 'Keys of the person stay, including those created after signing in.',
      responses: { 204: { description: 'Removed, now or earlier.' } },
      async handler(context) {
        const { identityId: id, ...person } = context.params;
        await removeIdentity(ports, person, { id, by: context });
        return { status: 204 };
      },
    }),
  ];
}

function unlinkedRoutes({ unlinked, cursors, auditChange }: AdminIdentityPorts): Route<AdminCaller>[] {
  return exportedList({
    permit: OPERATORS_ONLY,
    path: '/admin/v1/identities/unlinked',
    operationId: 'listUnlinkedIdentities',
    summary: 'List identities with valid tokens that belong to nobody, newest first unless sorted; for operators only',
    description:
      'One row for each issuer and subject whose access token was valid on the public listener in the last 24 hours, the newest 1,000. A row appears within seconds and disappears when the identity is linked, by its issuer and subject; the e-mail address is only for display.',
    name: 'unlinked identities',
    boundTo: [],
    search: true,
    sorts: { fields: UNLINKED_ORDERS, default: '-lastSeenAt' },
    ...rowsOf(() => unlinked.list),
    exported: { resource: 'unlinkedIdentity', auditChange },
    row: UnlinkedIdentity,
    cursors,
  });
}
