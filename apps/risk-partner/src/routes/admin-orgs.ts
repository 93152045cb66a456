import { ADMIN_BODY_MAX_BYTES, ADMIN_LIST_RANGE, adminRoute, readPage, type AdminCaller } from '@sealgate/admin-api';
import { closedObject, listOf, listQuery, named, type Route } from '@sealgate/http';
import type { CursorCodec } from '@sealgate/paging';
import { Type, type Static } from '@sinclair/typebox';
import { adminEntry, findOrg, type Org, type OrgPorts } from '../domain/manage-orgs.ts';
import { IdText, Text, Time, Title } from '../schemas.ts';

const OrgRow = named('Org', Type.Object({ id: Text, name: Text, createdAt: Time }));

const base = { charge: 'none', idempotency: 'none', permit: 'authenticated' } as const;

export interface AdminOrgsPorts extends OrgPorts {
  readonly cursors: CursorCodec;
}

export function adminOrgRoutes(ports: AdminOrgsPorts): Route<AdminCaller>[] {
  const create = adminRoute({
    ...base,
    method: 'post',
    path: '/admin/v1/orgs',
    operationId: 'createOrg',
    summary: 'Create an organisation',
    body: closedObject({ name: Title }),
    bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
    responses: { 201: { description: 'The organisation.', schema: OrgRow } },
    errors: [],
    async handler({ body, caller, requestId }) {
      const id = ports.newId('org_');
      const org = await ports.orgs.insert(
        { id, name: body.name, createdAt: new Date(ports.now()) },
        adminEntry('org', 'create', id, { caller, requestId }),
      );
      return { status: 201, body: rowOf(org) };
    },
  });
  const list = adminRoute({
    ...base,
    method: 'get',
    path: '/admin/v1/orgs',
    operationId: 'listOrgs',
    summary: 'List organisations, oldest first',
    query: listQuery(ADMIN_LIST_RANGE, {}),
    responses: { 200: { description: 'A page.', schema: listOf(OrgRow) } },
    errors: [],
    async handler({ query }) {
      const page = readPage(query, ports.cursors, ['orgs']);
      const rows = await ports.orgs.list({ limit: page.limit + 1, after: String(page.after ?? '') });
      return { status: 200, body: page.answer(rows, { item: rowOf, position: ({ id }) => id }) };
    },
  });
  const get = adminRoute({
    ...base,
    method: 'get',
    path: '/admin/v1/orgs/:orgId',
    operationId: 'getOrg',
    summary: 'Read an organisation',
    params: Type.Object({ orgId: IdText }),
    responses: { 200: { description: 'The organisation.', schema: OrgRow } },
    errors: [],
    async handler({ params }) {
      return { status: 200, body: rowOf(await findOrg(ports.orgs, params.orgId)) };
    },
  });
  return [create, list, get];
}

function rowOf({ id, name, createdAt }: Org): Static<typeof OrgRow> {
  return { id, name, createdAt: createdAt.toISOString() };
}
