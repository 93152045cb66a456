import { AppError } from '@sealgate/errors';
import { ADMIN_BODY_MAX_BYTES, ADMIN_LIST_RANGE, adminRoute, readPage, type AdminCaller } from '@sealgate/admin-api';
import { closedObject, lineOfText, listOf, listQuery, named, type Route } from '@sealgate/http';
import type { CursorCodec } from '@sealgate/paging';
import { Type } from '@sinclair/typebox';
import { createFramework, type FrameworkPorts } from '../domain/manage-frameworks.ts';
import { findOrg } from '../domain/manage-orgs.ts';
import { IdText, Short, Text, Time, Title } from '../schemas.ts';

const Requirement = named(
  'NewRequirement',
  closedObject({ id: lineOfText({ min: 1, max: 64 }), title: lineOfText({ min: 1, max: 500 }) }),
);
const FrameworkBody = closedObject({
  name: Title,
  version: Short,
  requirements: Type.Array(Requirement, { minItems: 1, maxItems: 2000 }),
});
const members = { id: Text, name: Text, version: Text, createdAt: Time };
const ListedFramework = named('ListedFramework', Type.Object(members));
const FrameworkRow = named(
  'Framework',
  Type.Object({ ...members, requirements: Type.Array(named('Requirement', Type.Object({ id: Text, title: Text }))) }),
);

export interface AdminFrameworksPorts extends FrameworkPorts {
  readonly cursors: CursorCodec;
}

const base = { charge: 'none', idempotency: 'none', permit: 'authenticated' } as const;
const ofOrg = Type.Object({ orgId: IdText });

export function adminFrameworkRoutes(ports: AdminFrameworksPorts): Route<AdminCaller>[] {
  const path = '/admin/v1/orgs/:orgId/frameworks';
  const create = adminRoute({
    ...base,
    method: 'post',
    path,
    operationId: 'createFramework',
    summary: 'Create a framework with its requirements',
    params: ofOrg,
    body: FrameworkBody,
    bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
    responses: { 201: { description: 'The framework.', schema: FrameworkRow } },
    errors: ['ALREADY_EXISTS', 'PERSONAL_DATA_REFUSED'],
    async handler(context) {
      const made = await createFramework(ports, context.params.orgId, { body: context.body, by: context });
      return { status: 201, body: made };
    },
  });
  const list = adminRoute({
    ...base,
    method: 'get',
    path,
    operationId: 'listFrameworks',
    summary: 'List the frameworks of an organisation, oldest first',
    params: ofOrg,
    query: listQuery(ADMIN_LIST_RANGE, {}),
    responses: { 200: { description: 'A page.', schema: listOf(ListedFramework) } },
    errors: [],
    async handler({ params, query }) {
      await findOrg(ports.orgs, params.orgId);
      const page = readPage(query, ports.cursors, ['frameworks', params.orgId]);
      const after = String(page.after ?? '');
      const rows = await ports.frameworks.list(params.orgId, { limit: page.limit + 1, after });
      return { status: 200, body: page.answer(rows, { item: (row) => row, position: ({ id }) => id }) };
    },
  });
  const get = adminRoute({
    ...base,
    method: 'get',
    path: `${path}/:frameworkId`,
    operationId: 'getFramework',
    summary: 'Read a framework with its requirements',
    params: Type.Object({ orgId: IdText, frameworkId: IdText }),
    responses: { 200: { description: 'The framework.', schema: FrameworkRow } },
    errors: [],
    async handler({ params }) {
      const found = await ports.frameworks.find(params.orgId, params.frameworkId);
      if (found === undefined) throw new AppError('NOT_FOUND', 'There is no such framework.');
      return { status: 200, body: found };
    },
  });
  return [create, list, get];
}
