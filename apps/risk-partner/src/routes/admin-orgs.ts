import {
  adminRoute,
  exportedList,
  resourceRoutes,
  rowAnswers,
  rowsOf,
  type AdminCaller,
  type AuditLedgerChange,
} from '@sealgate/admin-api';
import type { Route } from '@sealgate/http';
import type { CursorCodec } from '@sealgate/paging';
import { adminEntry, findOrg, NAMED_ORDERS, NewOrg, Org, type OrgPorts } from '../domain/manage-orgs.ts';
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

export interface AdminListPorts {
  readonly cursors: CursorCodec;
  /** Writes the audit event of an export. */
  readonly auditChange: AuditLedgerChange;
}

/** Of a list of what has a name. */
export const namedOrders = { search: true, sorts: { fields: NAMED_ORDERS, default: 'createdAt' } } as const;

export type AdminOrgsPorts = OrgPorts & AdminListPorts;

export function adminOrgRoutes({ orgs, cursors, auditChange, newId, now }: AdminOrgsPorts): Route<AdminCaller>[] {
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
    ...exportedList({
      ...listing,
      ...namedOrders,
      summary: 'List organisations, oldest first unless sorted',
      boundTo: [],
      ...rowsOf(() => orgs.list),
      exported: { resource: 'org', auditChange },
      cursors,
    }),
    adminRoute({
      ...reading,
      summary: 'Read an organisation',
      handler: async ({ params }) => found(await findOrg(orgs, params.orgId)),
    }),
  ];
}
