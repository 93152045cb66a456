import { adminApp, adminStateRoutes, type AdminStatePorts, type AdminSignIn } from '@sealgate/admin-api';
import { createApp, type App, type AppBase } from '@sealgate/http';
import type { AddressLimiter } from '@sealgate/rate-limits';
import { mapRouteOutages } from '@sealgate/storage';
import { publicRoutes, type PublicPorts } from './public-routes.ts';
import { riskGuard, type RiskGuardPorts } from './risk-guard.ts';
import { adminFrameworkRoutes, type AdminFrameworksPorts } from './routes/admin-frameworks.ts';
import { adminIdentityRoutes, type AdminIdentityPorts } from './routes/admin-identities.ts';
import { adminOrgRoutes, type AdminOrgsPorts } from './routes/admin-orgs.ts';
import { adminPeopleRoutes, type AdminPeoplePorts } from './routes/admin-people.ts';

/**
 * The public listener. Checks of each request, in order: path, method, key (`risk-guard.ts`), limits, permission
 * (`domain/permissions.ts`), media type, size, JSON, schema (libs/http), row filter (`data/row-condition.ts`), domain
 * rules.
 */
export function publicApp(base: AppBase, guardPorts: RiskGuardPorts, ports: PublicPorts): App {
  const guard = riskGuard({ ...guardPorts, mcpSignIn: ports.mcpSignIn });
  return createApp({ ...base, head: true, compress: true, guard, routes: publicRoutes(ports, guard) });
}

/** The MCP route alone, for a listener of its own. */
export function mcpApp(base: AppBase, guardPorts: RiskGuardPorts, ports: PublicPorts): App {
  const guard = riskGuard({ ...guardPorts, mcpSignIn: ports.mcpSignIn });
  const routes = publicRoutes(ports, guard).filter(({ tags }) => tags?.includes('tools') === true);
  return createApp({ ...base, head: true, compress: true, guard, routes });
}

type AdminPorts = AdminOrgsPorts & AdminPeoplePorts & AdminIdentityPorts & AdminFrameworksPorts & AdminStatePorts;

interface AdminAccess extends AdminSignIn {
  /** Counts failed authentication per client address, separately from the public listener. */
  readonly addresses: AddressLimiter;
  /** Whether the database answers now; bounded by a deadline. */
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
    routes: mapRouteOutages(routes, { isReachable }),
  });
}
