import {
  adminApp,
  adminStateRoutes,
  forReaders,
  type AdminStatePorts,
  type AdminCaller,
  type AdminSignIn,
} from '@sealgate/admin-api';
import { createApp, type App, type AppBase, type Route } from '@sealgate/http';
import type { AddressLimiter } from '@sealgate/rate-limits';
import { mapRouteOutages } from '@sealgate/storage';
import type { GateCaller } from './domain/key.ts';
import { gateAccess, type GateGuardPorts } from './gate-guard.ts';
import { adminActivityRoutes, type AdminActivityPorts } from './routes/admin-activity.ts';
import { adminCaseStepRoutes, type AdminCaseStepsPorts } from './routes/admin-case-steps.ts';
import { adminCaseRoutes, type AdminCasesPorts } from './routes/admin-cases.ts';
import { adminKeyRoutes, type AdminKeysPorts } from './routes/admin-keys.ts';
import { adminPolicyRoutes, type AdminPoliciesPorts } from './routes/admin-policies.ts';
import { adminRecordRoutes, type AdminRecordsPorts } from './routes/admin-records.ts';
import { adminRulingRoutes, type AdminRulingsPorts } from './routes/admin-rulings.ts';
import { adminSubjectRoutes, type AdminSubjectsPorts } from './routes/admin-subjects.ts';
import { adminVenueRoutes, type AdminVenuesPorts } from './routes/admin-venues.ts';
import { authzenRoutes } from './routes/authzen.ts';
import { caseRoutes, type CasesPorts } from './routes/cases.ts';
import { caseStepRoutes, type CaseStepsPorts } from './routes/case-steps.ts';
import { gateRoutes, type GatePorts } from './routes/gate.ts';
import { gateVenueRoutes, type GateVenuePorts } from './routes/gate-venue.ts';
import { recordRoutes, type RecordsPorts } from './routes/records.ts';
import { serviceRoutes, type ServicePorts } from './routes/service.ts';

/** Options of both listeners. */
export interface GateAppBase extends AppBase {
  /** Whether the database answers now. Bounded in time. */
  readonly isReachable: () => Promise<boolean>;
}

export type PublicPorts = CasesPorts & CaseStepsPorts & RecordsPorts & GateVenuePorts & GatePorts & ServicePorts;

/** Routes of the public listener whose handlers use the database. */
export function storedRoutes(ports: PublicPorts): Route<GateCaller>[] {
  return [...caseRoutes(ports), ...caseStepRoutes(ports), ...recordRoutes(ports), ...gateVenueRoutes(ports)];
}

/**
 * The other routes of the public listener. Their handlers do no I/O: the gate looks up with the key (`lookUpEntries`).
 */
export function gateAndServiceRoutes(ports: PublicPorts): Route<GateCaller>[] {
  return [...gateRoutes(ports), ...authzenRoutes(ports), ...serviceRoutes(ports)];
}

/**
 * The public listener. Order of checks: path, method, key (`gate-guard.ts`), limits, scope, media type, size, JSON and
 * shape (the library), then the handler of the route.
 */
export function publicApp(
  { isReachable, ...base }: GateAppBase,
  guardPorts: GateGuardPorts,
  ports: Omit<PublicPorts, 'lookUpEntries'>,
): App {
  const { guard, lookUpEntries } = gateAccess(guardPorts);
  const all = { ...ports, lookUpEntries };
  const stored = mapRouteOutages(storedRoutes(all), { isReachable, advice: 'send it again' });
  return createApp({ ...base, head: true, guard, routes: [...stored, ...gateAndServiceRoutes(all)] });
}

export type AdminAppPorts = AdminKeysPorts &
  AdminVenuesPorts &
  AdminPoliciesPorts &
  AdminSubjectsPorts &
  AdminCasesPorts &
  AdminCaseStepsPorts &
  AdminRulingsPorts &
  AdminRecordsPorts &
  AdminActivityPorts &
  AdminStatePorts;

/** A route that names no permission is for operators, and if it reads, for viewers. */
export function adminRoutes(ports: AdminAppPorts): Route<AdminCaller>[] {
  return forReaders([
    ...adminKeyRoutes(ports),
    ...adminVenueRoutes(ports),
    ...adminPolicyRoutes(ports),
    ...adminSubjectRoutes(ports),
    ...adminCaseRoutes(ports),
    ...adminCaseStepRoutes(ports),
    ...adminRulingRoutes(ports),
    ...adminRecordRoutes(ports),
    ...adminActivityRoutes(ports),
    ...adminStateRoutes(ports),
  ]);
}

export interface AdminAccess extends AdminSignIn {
  /** Counts failed authentications per client address, separately from the public listener. */
  readonly addresses: AddressLimiter;
}

export function administration(
  { isReachable, ...base }: GateAppBase,
  { addresses, ...signIn }: AdminAccess,
  ports: AdminAppPorts,
): App {
  return adminApp({
    ...base,
    ...signIn,
    failedAuthentication: ({ clientAddress }, exchange) => addresses.refuse(exchange, clientAddress, false),
    routes: mapRouteOutages(adminRoutes(ports), { isReachable }),
  });
}
