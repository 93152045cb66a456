import {
  adminRoute,
  listRoute,
  OPERATORS_ONLY,
  resourceRoutes,
  rowAnswers,
  type AdminCaller,
} from '@sealgate/admin-api';
import type { Route } from '@sealgate/http';
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
  const { created } = rowAnswers((identity: Identity) => identity);
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
    listRoute({
      ...listing,
      summary: 'List the identities and invitations of a person, oldest first',
      boundTo: ['personId'],
      holder: ({ orgId, personId }) => findPerson(people, orgId, personId),
      rows: ({ personId, limit, after = '' }) => identities.list(personId, { limit, after }),
      positionOf: ({ id }: Identity) => id,
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

function unlinkedRoute({ unlinked, cursors }: Pick<AdminIdentityPorts, 'unlinked' | 'cursors'>): Route<AdminCaller> {
  return listRoute({
    permit: OPERATORS_ONLY,
    path: '/admin/v1/identities/unlinked',
    operationId: 'listUnlinkedIdentities',
    summary: 'List identities with valid tokens that belong to nobody, newest first; for operators only',
    description:
      'One row for each issuer and subject whose access token was valid on the public listener in the last 24 hours, the newest 1,000. A row appears within seconds and disappears when the identity is linked, by its issuer and subject; the e-mail address is only for display.',
    name: 'unlinked identities',
    boundTo: [],
    rows: (page) => unlinked.list(page),
    positionOf: ({ lastSeenAt, issuer, subject }: UnlinkedIdentity): UnlinkedPosition => [lastSeenAt, issuer, subject],
    row: UnlinkedIdentity,
    cursors,
  });
}
