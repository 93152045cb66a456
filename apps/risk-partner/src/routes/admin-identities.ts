import { AppError } from '@sealgate/errors';
import {
  ADMIN_BODY_MAX_BYTES,
  ADMIN_LIST_RANGE,
  adminRoute,
  closedObject,
  lineOfText,
  listOf,
  listQuery,
  named,
  readPage,
  type AdminCaller,
  type Route,
} from '@sealgate/http';
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
import { IdText, Optional, OrNull, Text, Time } from '../schemas.ts';

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

export interface AdminIdentityPorts extends IdentityPorts {
  readonly cursors: CursorCodec;
}

const base = { charge: 'none', idempotency: 'none', permit: 'authenticated' } as const;
const ofPerson = Type.Object({ orgId: IdText, personId: IdText });

/** Identities of people at identity providers. */
export function adminIdentityRoutes(ports: AdminIdentityPorts): Route<AdminCaller>[] {
  const path = '/admin/v1/orgs/:orgId/people/:personId/identities';
  return [
    adminRoute({
      ...base,
      method: 'post',
      path,
      operationId: 'addIdentity',
      summary: 'Link an identity to a person, or invite them by e-mail',
      description:
        'Either `issuer` and `subject` of their access tokens, or an `email`: the invitation is valid for 14 days, and the first token of a configured issuer with that verified address becomes the identity.',
      params: ofPerson,
      body: closedObject({ issuer: Optional(Issuer), subject: Optional(Subject), email: Optional(Email) }),
      bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
      responses: { 201: { description: 'The identity, or the invitation.', schema: IdentityRow } },
      errors: ['ALREADY_EXISTS'],
      async handler(context) {
        const identity = await addIdentity(ports, context.params, { identity: namedIn(context.body), by: context });
        return { status: 201, body: identityView(identity) };
      },
    }),
    adminRoute({
      ...base,
      method: 'get',
      path,
      operationId: 'listIdentities',
      summary: 'List the identities and invitations of a person, oldest first',
      params: ofPerson,
      query: listQuery(ADMIN_LIST_RANGE, {}),
      responses: { 200: { description: 'A page.', schema: listOf(IdentityRow) } },
      errors: [],
      async handler({ params, query }) {
        const { orgId, personId } = params;
        await findPerson(ports.people, orgId, personId);
        const page = readPage(query, ports.cursors, ['identities', personId]);
        const rows = await ports.identities.list(personId, { limit: page.limit + 1, after: String(page.after ?? '') });
        return { status: 200, body: page.answer(rows, { item: identityView, position: ({ id }) => id }) };
      },
    }),
    adminRoute({
      ...base,
      method: 'delete',
      path: `${path}/:identityId`,
      operationId: 'removeIdentity',
      summary: 'Remove an identity or an invitation; its tokens are refused from the next request on',
      params: Type.Object({ orgId: IdText, personId: IdText, identityId: IdText }),
      responses: { 204: { description: 'Removed, now or earlier.' } },
      errors: [],
      async handler(context) {
        const { identityId: id, ...person } = context.params;
        await removeIdentity(ports, person, { id, by: context });
        return { status: 204 };
      },
    }),
  ];
}

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
