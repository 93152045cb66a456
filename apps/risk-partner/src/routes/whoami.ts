import { AppError } from '@sealgate/errors';
import { named, routeFor, type Route } from '@sealgate/http';
import { Type } from '@sinclair/typebox';
import { isPartner, PersonScope, type OrganizationOfCaller, type RiskCaller } from '../domain/caller.ts';
import { permissionsOf, Role } from '../domain/permissions.ts';
import { OrNull, Text, Texts } from '../schemas.ts';

const route = routeFor<RiskCaller>();

const Whoami = named(
  'Whoami',
  Type.Object({
    orgId: Text,
    personId: Text,
    roles: Type.Array(Role),
    permissions: Texts,
    scope: PersonScope,
  }),
);

const NamedOrganization = named('NamedOrganization', Type.Object({ id: Text, name: Text }));

const { personId, roles, permissions, scope } = Whoami.properties;
const OrganizationView = named(
  'OrganizationOfCaller',
  Type.Object({
    ...NamedOrganization.properties,
    member: OrNull(named('OrganizationMember', Type.Object({ personId, roles, permissions, scope })), {
      description: 'Who the caller is there, and what they may do now; null: it invited them.',
    }),
  }),
);

/** Additionally for the dashboard: the kind of credential, and the caller's organisations. */
const DashboardWhoami = named(
  'DashboardWhoami',
  Type.Object({
    ...Whoami.properties,
    via: Type.String({ description: 'The kind of credential: `key` or `token`.' }),
    organizations: Type.Array(NamedOrganization, {
      description: 'The values allowed in X-Organization: all organisations of an identity, the one of a key.',
    }),
  }),
);

export interface WhoamiPorts {
  /** The organisations of the caller, by name, and then `besides`. */
  readonly organizationsOf: (caller: RiskCaller, besides?: readonly string[]) => Promise<OrganizationOfCaller[]>;
}

export const ORGANIZATIONS_PATH = '/api/organizations';

/** The caller and their permissions. Callers without a role may use it too. */
export function whoamiRoutes({ organizationsOf }: WhoamiPorts): {
  readonly whoami: Route<RiskCaller>;
  readonly dashboard: Route<RiskCaller>;
  readonly organizations: Route<RiskCaller>;
} {
  const base = { method: 'get', permit: 'authenticated', charge: 1, idempotency: 'none' } as const;
  return {
    whoami: route({
      ...base,
      path: '/api/v1/whoami',
      operationId: 'whoami',
      summary: 'The owner of this key, and what it may do now',
      responses: { 200: { description: 'The person.', schema: Whoami } },
      errors: [],
      handler: ({ caller }) => ({ status: 200, body: personOf(caller) }),
    }),
    dashboard: route({
      ...base,
      path: '/api/whoami',
      operationId: 'dashboard_whoami',
      summary: 'The caller, the kind of credential, and what they may do now',
      responses: { 200: { description: 'The person.', schema: DashboardWhoami } },
      errors: ['FORBIDDEN'],
      precheck: refusePartners,
      async handler({ caller }) {
        const organizations = (await organizationsOf(caller)).map(({ id, name }) => ({ id, name }));
        return { status: 200, body: { ...personOf(caller), via: caller.credential.kind, organizations } };
      },
    }),
    organizations: route({
      ...base,
      path: ORGANIZATIONS_PATH,
      operationId: 'dashboard_list_organizations',
      summary: 'The organisations of the caller, by name, with what they may do in each; needs no X-Organization',
      description:
        'Those that invited them come last: the first request with one in X-Organization accepts the invitation.',
      tags: ['dashboard'],
      responses: {
        200: {
          description: 'All organisations of an identity and those that invited it, or the one of a key.',
          schema: Type.Array(OrganizationView),
        },
      },
      errors: ['FORBIDDEN'],
      precheck: refusePartners,
      handler: async ({ caller }) => ({
        status: 200,
        body: (await organizationsOf(caller, caller.invitedTo)).map(({ member, ...organization }) => ({
          ...organization,
          member: member && rightsOf(member),
        })),
      }),
    }),
  };
}

const personOf = ({ orgId, ...caller }: RiskCaller) => ({ orgId, ...rightsOf(caller) });

const rightsOf = ({ personId, roles, scope }: Pick<RiskCaller, 'personId' | 'roles' | 'scope'>) => ({
  personId,
  roles: [...roles],
  permissions: permissionsOf(roles),
  scope: { ...scope, departments: [...scope.departments] },
});

/** Partner machines may use `/api/v1` only. */
function refusePartners({ caller }: { readonly caller: RiskCaller }): void {
  if (isPartner(caller.roles)) throw new AppError('FORBIDDEN', 'This key may not do that.');
}
