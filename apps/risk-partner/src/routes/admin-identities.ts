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
import { AppError } from '@sealgate/errors';
import { closedObject, lineOfText, listOf, listQuery, named, type Route } from '@sealgate/http';
import type { CursorCodec } from '@sealgate/paging';
import { Type, type Static } from '@sinclair/typebox';
import {
  addIdentity,
  removeIdentity,
  type Identity,
  type IdentityPorts,
  type NewIdentity,
} from '../domain/identities.ts';
import { findPerson } from '../domain/manage-orgs.ts';
import type { UnlinkedIdentity, UnlinkedPosition, UnlinkedStore } from '../domain/unlinked-identities.ts';
import { Flag, IdText, Optional, OrNull, Text, Time } from '../schemas.ts';

const Issuer = lineOfText({ min: 1, max: 500 });
const Subject = lineOfText({ min: 1, max: 255 });
const Email = Type.String({
  minLength: 3,
  maxLength: 254,
  pattern: '^[^@\\x00-\\x20\\x7f\\xa0]+@[^@\\x00-\\x20\\x7f\\xa0]+$',
});

const IdentityRow = named(
  'Identity',
  Type.Object({
    id: Text,
    issuer: OrNull(Text),
    subject: OrNull(Text),
    email: OrNull(Type.String({ description: 'The invited e-mail address.' })),
    createdAt: Time,
    expiresAt: OrNull(Time),
  }),
);

const UnlinkedRow = named(
  'UnlinkedIdentity',
  Type.Object({
    issuer: Text,
    subject: Text,
    email: OrNull(Type.String({ description: 'As the provider says, for display: link by issuer and subject.' })),
    emailVerified: Flag,
    lastSeenAt: Time,
  }),
);

export interface AdminIdentityPorts extends IdentityPorts {
  readonly unlinked: Pick<UnlinkedStore, 'list'>;
  readonly cursors: CursorCodec;
}

const { creating, listing, deleting } = resourceRoutes({
  name: 'Identity',
  plural: 'Identities',
  said: 'The identity, or the invitation.',
  row: IdentityRow,
  path: '/admin/v1/orgs/:orgId/people/:personId/identities',
  params: { orgId: IdText, personId: IdText },
  id: 'identityId',
  idSchema: IdText,
});

/** Identities of people at identity providers. */
export function adminIdentityRoutes(ports: AdminIdentityPorts): Route<AdminCaller>[] {
  const { people, identities, cursors } = ports;
  const { created, page } = rowAnswers({ rowOf: identityView, positionOf: ({ id }) => id, cursors });
  return [
    unlinkedRoute(ports),
    adminRoute({
      ...creating,
      operationId: 'addIdentity',
      summary: 'Link an identity to a person, or invite them by e-mail',
      description:
        'Either `issuer` and `subject` of their access tokens, or an `email`: the invitation is valid for 14 days, and the first token of a configured issuer with that verified address becomes the identity.',
      body: closedObject({ issuer: Optional(Issuer), subject: Optional(Subject), email: Optional(Email) }),
      errors: ['ALREADY_EXISTS'],
      async handler(context) {
        return created(await addIdentity(ports, context.params, { identity: namedIn(context.body), by: context }));
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
    responses: { 200: { description: 'A page.', schema: listOf(UnlinkedRow) } },
    errors: [],
    async handler({ query }) {
      const page = readPage(query, cursors, ['unlinked identities']);
      const after = page.after as UnlinkedPosition | undefined; // As made below: cursors are authenticated.
      const rows = await unlinked.list({ limit: page.limit + 1, after });
      const position = ({ lastSeenAt, issuer, subject }: UnlinkedIdentity) => [
        lastSeenAt.toISOString(),
        issuer,
        subject,
      ];
      return { status: 200, body: page.answer(rows, { item: unlinkedView, position }) };
    },
  });
}

const unlinkedView = ({ lastSeenAt, ...identity }: UnlinkedIdentity): Static<typeof UnlinkedRow> => ({
  ...identity,
  lastSeenAt: lastSeenAt.toISOString(),
});

/** @throws AppError INVALID_REQUEST unless the body has either issuer and subject, or email. */
function namedIn({ issuer, subject, email }: { issuer?: string; subject?: string; email?: string }): NewIdentity {
  if (issuer !== undefined && subject !== undefined && email === undefined) return { issuer, subject };
  if (issuer === undefined && subject === undefined && email !== undefined) return { email };
  throw new AppError('INVALID_REQUEST', 'Send either issuer and subject, or email.', {
    faults: [{ in: 'body', pointer: '', detail: 'must have either issuer and subject, or email' }],
  });
}

function identityView({ createdAt, expiresAt, ...identity }: Identity): Static<typeof IdentityRow> {
  return { ...identity, createdAt: createdAt.toISOString(), expiresAt: expiresAt?.toISOString() ?? null };
}
