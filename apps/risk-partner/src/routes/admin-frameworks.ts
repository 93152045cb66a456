import { adminRoute, listRoute, resourceRoutes, rowAnswers, type AdminCaller } from '@sealgate/admin-api';
import { AppError } from '@sealgate/errors';
import type { Route } from '@sealgate/http';
import type { CursorCodec } from '@sealgate/paging';
import {
  createFramework,
  Framework,
  ListedFramework,
  NewFramework,
  type FrameworkPorts,
} from '../domain/manage-frameworks.ts';
import { findOrg } from '../domain/manage-orgs.ts';
import { IdText } from '../schemas.ts';

const { creating, listing, reading } = resourceRoutes({
  name: 'Framework',
  said: 'The framework.',
  row: Framework,
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
  const { created, found } = rowAnswers((framework: Framework) => framework);
  return [
    adminRoute({
      ...creating,
      summary: 'Create a framework with its requirements',
      description: 'A framework is immutable: create another one for a new edition.',
      body: NewFramework,
      errors: ['ALREADY_EXISTS', 'PERSONAL_DATA_REFUSED'],
      async handler(context) {
        return created(await createFramework(ports, context.params.orgId, { body: context.body, by: context }));
      },
    }),
    listRoute({
      ...listing,
      summary: 'List the frameworks of an organisation, oldest first',
      boundTo: ['orgId'],
      holder: ({ orgId }) => findOrg(orgs, orgId),
      rows: ({ orgId, limit, after = '' }) => frameworks.list(orgId, { limit, after }),
      positionOf: ({ id }: { readonly id: string }) => id,
      row: ListedFramework,
      cursors,
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
