import { adminRoute, exportedList, resourceRoutes, rowAnswers, rowsOf, type AdminCaller } from '@sealgate/admin-api';
import { AppError } from '@sealgate/errors';
import type { Route } from '@sealgate/http';
import {
  createFramework,
  Framework,
  ListedFramework,
  NewFramework,
  type FrameworkPorts,
} from '../domain/manage-frameworks.ts';
import { findOrg } from '../domain/manage-orgs.ts';
import { IdText } from '../schemas.ts';
import { namedOrders, type AdminListPorts } from './admin-orgs.ts';

const { creating, listing, reading } = resourceRoutes({
  name: 'Framework',
  said: 'The framework.',
  row: Framework,
  path: '/admin/v1/orgs/:orgId/frameworks',
  params: { orgId: IdText },
  id: 'frameworkId',
  idSchema: IdText,
});

export type AdminFrameworksPorts = FrameworkPorts & AdminListPorts;

export function adminFrameworkRoutes(ports: AdminFrameworksPorts): Route<AdminCaller>[] {
  const { orgs, frameworks, cursors, auditChange } = ports;
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
    ...exportedList({
      ...listing,
      ...namedOrders,
      summary: 'List the frameworks of an organisation, oldest first unless sorted',
      boundTo: ['orgId'],
      holder: ({ orgId }) => findOrg(orgs, orgId),
      ...rowsOf(() => frameworks.list),
      row: ListedFramework,
      exported: { resource: 'framework', of: 'orgId', auditChange },
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
