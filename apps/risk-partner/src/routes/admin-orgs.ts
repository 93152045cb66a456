import { adminRoute, listRoute, resourceRoutes, rowAnswers, type AdminCaller } from '@sealgate/admin-api';
import type { Route } from '@sealgate/http';
import type { CursorCodec } from '@sealgate/paging';
import { adminEntry, findOrg, NewOrg, Org, type OrgPorts } from '../domain/manage-orgs.ts';
import { timeText } from '../domain/resource.ts';
import { IdText } from '../schemas.ts';

const { creating, listing, reading } = resourceRoutes({
  name: 'Org',
  said: 'The organisation.',
  row: Org,
  path: '/admin/v1/orgs',
  id: 'orgId',
  idSchema: IdText,
});

export interface AdminOrgsPorts extends OrgPorts {
  readonly cursors: CursorCodec;
}

export function adminOrgRoutes({ orgs, cursors, newId, now }: AdminOrgsPorts): Route<AdminCaller>[] {
  const { created, found } = rowAnswers((org: Org) => org);
  return [
    adminRoute({
      ...creating,
      summary: 'Create an organisation',
      description: 'The service generates its id. Then add an owner, who can add everybody else.',
      body: NewOrg,
      async handler({ body, caller, requestId }) {
        const id = newId('org_');
        const entry = adminEntry('org', 'create', id, { caller, requestId });
        return created(await orgs.insert({ id, name: body.name, createdAt: timeText(now()) }, entry));
      },
    }),
    listRoute({
      ...listing,
      summary: 'List organisations, oldest first',
      boundTo: [],
      rows: ({ limit, after = '' }) => orgs.list({ limit, after }),
      positionOf: ({ id }: Org) => id,
      cursors,
    }),
    adminRoute({
      ...reading,
      summary: 'Read an organisation',
      handler: async ({ params }) => found(await findOrg(orgs, params.orgId)),
    }),
  ];
}
