import {
  ADMIN_LIST_RANGE,
  adminBase,
  adminRoute,
  OPERATORS_ONLY,
  readPage,
  resourceRoutes,
  rowAnswers,
  type AdminCaller,
} from '@sealgate/admin-api';
import { listOf, listQuery, type Route } from '@sealgate/http';
import type { CursorCodec } from '@sealgate/paging';
import { addIdentity, Identity, NewIdentity, removeIdentity, type IdentityPorts } from '../domain/identities.ts';
import { findPerson } from '../domain/manage-orgs.ts';
import { UnlinkedIdentity, type UnlinkedPosition, type UnlinkedStore } from '../domain/unlinked-identities.ts';
import { IdText } from '../schemas.ts';

export interface AdminIdentityPorts extends IdentityPorts {
  readonly unlinked: Pick<UnlinkedStore, 'list'>;
  readonly cursors: CursorCodec;
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
  const { people, identities, cursors } = ports;
  const { created, page } = rowAnswers({
    rowOf: (identity: Identity) => identity,
    positionOf: ({ id }) => id,
    cursors,
  });
  return [
    unlinkedRoute(ports),
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
    adminRoute({
      ...listing,
      summary: 'List the identities and invitations of a person, oldest first',
      async handler({ params: { orgId, personId }, query }) {
        await findPerson(people, orgId, personId);
        return page(query, ['identities', personId], (after) => identities.list(personId, after));
      },
    }),
    adminRoute({
      ...deleting,
      operationId: 'removeIdentity',
      summary: 'Remove an identity or an invitation; its tokens are refused from the next request on',
      responses: { 204: { description: 'Removed, now or earlier.' } },
      async handler(context) {
        const { identityId: id, ...person } = context.params;
        await removeIdentity(ports, person, { id, by: context });
        return { status: 204 };
      },
    }),
  ];
}

function unlinkedRoute({ unlinked, cursors }: Pick<AdminIdentityPorts, 'unlinked' | 'cursors'>): Route<AdminCaller> {
  return adminRoute({
    ...adminBase,
    permit: OPERATORS_ONLY,
    method: 'get',
    path: '/admin/v1/identities/unlinked',
    operationId: 'listUnlinkedIdentities',
    summary: 'List identities with valid tokens that belong to nobody, newest first; for operators only',
    description:
      'One row for each issuer and subject whose access token was valid on the public listener in the last 24 hours, the newest 1,000. A row appears within seconds and disappears when the identity is linked.',
    query: listQuery(ADMIN_LIST_RANGE, {}),
    responses: { 200: { description: 'A page.', schema: listOf(UnlinkedIdentity) } },
    errors: [],
    async handler({ query }) {
      const page = readPage(query, cursors, ['unlinked identities']);
      const after = page.after as UnlinkedPosition | undefined; // As made below: cursors are authenticated.
      const rows = await unlinked.list({ limit: page.limit + 1, after });
      const position = ({ lastSeenAt, issuer, subject }: UnlinkedIdentity) => [lastSeenAt, issuer, subject];
      return { status: 200, body: page.answer(rows, { item: (identity) => identity, position }) };
    },
  });
}
