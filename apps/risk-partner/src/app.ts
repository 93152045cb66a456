import {
  adminApp,
  adminStateRoutes,
  createApp,
  type AdminStatePorts,
  type AdminSignIn,
  type App,
  type AppBase,
} from '@sealgate/http';
import type { AddressLimiter } from '@sealgate/rate-limits';
import { telling503 } from '@sealgate/storage';
import { publicRoutes, type PublicPorts } from './public-routes.ts';
import { riskGuard, type RiskGuardPorts } from './risk-guard.ts';
import { adminFrameworkRoutes, type AdminFrameworksPorts } from './routes/admin-frameworks.ts';
import { adminIdentityRoutes, type AdminIdentityPorts } from './routes/admin-identities.ts';
import { adminOrgRoutes, type AdminOrgsPorts } from './routes/admin-orgs.ts';
import { adminPeopleRoutes, type AdminPeoplePorts } from './routes/admin-people.ts';

/** What all listeners share. */
/**
 * The public listener. Each request, in this order: path, method, key (by `risk-guard.ts`), limits, permission (the table in
 * `domain/permissions.ts`), media type, size, JSON, shape (the library), the row (under `data/row-condition.ts`), what the
 * domain says of the content and of the state.
 */
export function publicApp(base: AppBase, guardPorts: RiskGuardPorts, ports: PublicPorts): App {
  const guard = riskGuard(guardPorts);
  return createApp({ ...base, head: true, compress: true, guard, routes: publicRoutes(ports, guard) });
}

/** The tool protocol by itself, for a port of its own. */
export function mcpApp(base: AppBase, guardPorts: RiskGuardPorts, ports: PublicPorts): App {
  const guard = riskGuard(guardPorts);
  const routes = publicRoutes(ports, guard).filter(({ tags }) => tags?.includes('tools') === true);
  return createApp({ ...base, head: true, compress: true, guard, routes });
}

export type AdminPorts = AdminOrgsPorts &
  AdminPeoplePorts &
  AdminIdentityPorts &
  AdminFrameworksPorts &
  AdminStatePorts;

export interface AdminAccess extends AdminSignIn {
  /** Counts failures per client address, apart from the public listener's. */
  readonly addresses: AddressLimiter;
  /** Whether the database answers now; bounded in time. */
  readonly isReachable: () => Promise<boolean>;
}

/** The admin listener. */
export function administration(
  base: AppBase,
  { addresses, isReachable, ...signIn }: AdminAccess,
  ports: AdminPorts,
): App {
  const routes = [
    ...adminOrgRoutes(ports),
    ...adminPeopleRoutes(ports),
    ...adminIdentityRoutes(ports),
    ...adminFrameworkRoutes(ports),
    ...adminStateRoutes(ports),
  ];
  return adminApp({
    ...base,
    ...signIn,
    failedAuthentication: ({ clientAddress }, exchange) => addresses.refuse(exchange, clientAddress, false),
    routes: telling503(routes, { isReachable }),
  });
}
