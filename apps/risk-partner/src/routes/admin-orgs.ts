import { adminRoute, resourceRoutes, rowAnswers, type AdminCaller } from '@sealgate/admin-api';
import { closedObject, named, type Route } from '@sealgate/http';
import type { CursorCodec } from '@sealgate/paging';
import { Type, type Static } from '@sinclair/typebox';
import { adminEntry, findOrg, type Org, type OrgPorts } from '../domain/manage-orgs.ts';
import { IdText, Text, Time, Title } from '../schemas.ts';

const OrgRow = named('Org', Type.Object({ id: Text, name: Text, createdAt: Time }));

const { creating, listing, reading } = resourceRoutes({
  name: 'Org',
  said: 'The organisation.',
  row: OrgRow,
  path: '/admin/v1/orgs',
  id: 'orgId',
  idSchema: IdText,
});

export interface AdminOrgsPorts extends OrgPorts {
  readonly cursors: CursorCodec;
}

export function adminOrgRoutes({ orgs, cursors, newId, now }: AdminOrgsPorts): Route<AdminCaller>[] {
  const { created, found, page } = rowAnswers({ rowOf, positionOf: ({ id }) => id, cursors });
  return [
    adminRoute({
      ...creating,
      summary: 'Create an organisation',
      body: closedObject({ name: Title }),
      async handler({ body, caller, requestId }) {
        const id = newId('org_');
        const entry = adminEntry('org', 'create', id, { caller, requestId });
        return created(await orgs.insert({ id, name: body.name, createdAt: new Date(now()) }, entry));
      },
    }),
    adminRoute({
      ...listing,
      summary: 'List organisations, oldest first',
      handler: ({ query }) => page(query, ['orgs'], (after) => orgs.list(after)),
    }),
    adminRoute({
      ...reading,
      summary: 'Read an organisation',
      handler: async ({ params }) => found(await findOrg(orgs, params.orgId)),
    }),
  ];
}

function rowOf({ id, name, createdAt }: Org): Static<typeof OrgRow> {
  return { id, name, createdAt: createdAt.toISOString() };
}
