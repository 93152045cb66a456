import { AppError } from '@sealgate/errors';
import { named, routeFor, type Route } from '@sealgate/http';
import { Type } from '@sinclair/typebox';
import { isPartner, type RiskCaller } from '../domain/caller.ts';
import { permissionsOf } from '../domain/permissions.ts';
import { Flag, Role, Text, Texts } from '../schemas.ts';

const route = routeFor<RiskCaller>();

const Whoami = named(
  'Whoami',
  Type.Object({
    orgId: Text,
    personId: Text,
    roles: Type.Array(Role),
    permissions: Texts,
    scope: named('PersonScope', Type.Object({ unrestricted: Flag, departments: Texts, canReadSensitive: Flag })),
  }),
);

/** Who the key belongs to and what that person may do: the one answer for whoever has no role yet. */
export function whoamiRoutes(): { readonly whoami: Route<RiskCaller>; readonly dashboard: Route<RiskCaller> } {
  const routeAt = (path: '/api/v1/whoami' | '/api/whoami', operationId: string, precheck = allowAll) =>
    route({
      precheck,
      method: 'get',
      path,
      permit: 'authenticated',
      charge: 1,
      idempotency: 'none',
      operationId,
      summary: 'Who this key belongs to, and what it may do now',
      responses: { 200: { description: 'The person.', schema: Whoami } },
      errors: precheck === allowAll ? [] : ['FORBIDDEN'],
      handler({ caller: { orgId, personId, roles, scope } }) {
        return { status: 200, body: { orgId, personId, roles, permissions: permissionsOf(roles), scope } };
      },
    });
  return {
    whoami: routeAt('/api/v1/whoami', 'whoami'),
    dashboard: routeAt('/api/whoami', 'dashboard_whoami', refusePartners),
  };
}

type Precheck = (request: { readonly caller: RiskCaller }) => void;

const allowAll: Precheck = () => undefined;

/** What reads for a partner has no business outside `/api/v1`. */
const refusePartners: Precheck = ({ caller }) => {
  if (isPartner(caller.roles)) throw new AppError('FORBIDDEN', 'This key may not do that.');
};
