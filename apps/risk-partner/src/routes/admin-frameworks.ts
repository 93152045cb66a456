import { adminRoute, resourceRoutes, rowAnswers, type AdminCaller } from '@sealgate/admin-api';
import { AppError } from '@sealgate/errors';
import { closedObject, lineOfText, listOf, named, type Route } from '@sealgate/http';
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

const { creating, listing, reading } = resourceRoutes({
  name: 'Framework',
  said: 'The framework.',
  row: FrameworkRow,
  path: '/admin/v1/orgs/:orgId/frameworks',
  params: { orgId: IdText },
  id: 'frameworkId',
  idSchema: IdText,
});

export interface AdminFrameworksPorts extends FrameworkPorts {
  readonly cursors: CursorCodec;
}

export function adminFrameworkRoutes(ports: AdminFrameworksPorts): Route<AdminCaller>[] {
  const { orgs, frameworks, cursors } = ports;
  const { created, found, page } = rowAnswers({
    rowOf: (row: { readonly id: string }) => row,
    positionOf: ({ id }) => id,
    cursors,
  });
  return [
    adminRoute({
      ...creating,
      summary: 'Create a framework with its requirements',
      body: FrameworkBody,
      errors: ['ALREADY_EXISTS', 'PERSONAL_DATA_REFUSED'],
      async handler(context) {
        return created(await createFramework(ports, context.params.orgId, { body: context.body, by: context }));
      },
    }),
    adminRoute({
      ...listing,
      summary: 'List the frameworks of an organisation, oldest first',
      responses: { 200: { description: 'A page.', schema: listOf(ListedFramework) } },
      async handler({ params: { orgId }, query }) {
        await findOrg(orgs, orgId);
        return page(query, ['frameworks', orgId], (after) => frameworks.list(orgId, after));
      },
    }),
    adminRoute({
      ...reading,
      summary: 'Read a framework with its requirements',
      async handler({ params }) {
        const framework = await frameworks.find(params.orgId, params.frameworkId);
        if (framework === undefined) throw new AppError('NOT_FOUND', 'There is no such framework.');
        return found(framework);
      },
    }),
  ];
}
