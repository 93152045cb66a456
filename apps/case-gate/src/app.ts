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
import { gateAccess, type GateGuardPorts } from './gate-guard.ts';
import { adminCaseStepRoutes, type AdminCaseStepsPorts } from './routes/admin-case-steps.ts';
import { adminCaseRoutes, type AdminCasesPorts } from './routes/admin-cases.ts';
import { adminKeyRoutes, type AdminKeysPorts } from './routes/admin-keys.ts';
import { adminPolicyRoutes, type AdminPoliciesPorts } from './routes/admin-policies.ts';
import { adminRecordRoutes, type AdminRecordsPorts } from './routes/admin-records.ts';
import { adminRulingRoutes, type AdminRulingsPorts } from './routes/admin-rulings.ts';
import { adminSubjectRoutes, type AdminSubjectsPorts } from './routes/admin-subjects.ts';
import { adminVenueRoutes, type AdminVenuesPorts } from './routes/admin-venues.ts';
import { authzenRoutes, type AuthzenPorts } from './routes/authzen.ts';
import { caseRoutes, type CasesPorts } from './routes/cases.ts';
import { caseStepRoutes, type CaseStepsPorts } from './routes/case-steps.ts';
import { gateRoutes } from './routes/gate.ts';
import { recordRoutes, type RecordsPorts } from './routes/records.ts';
import { serviceRoutes, type ServicePorts } from './routes/service.ts';

/** What both listeners share. */
export interface GateAppBase extends AppBase {
  /** Whether the database answers now; bounded in time. */
  readonly isReachable: () => Promise<boolean>;
}

export type PublicPorts = CasesPorts &
  CaseStepsPorts &
  RecordsPorts &
  Omit<AuthzenPorts, 'lookUpEntries'> &
  ServicePorts;

/**
 * The public listener. Order of checks: path, method, key (`gate-guard.ts`), limits, scope, media type, size, JSON and
 * shape (the library), then the handler of the route. Routes of the gate look up what they need together with the key
 * (`lookUpEntries`); their handlers do no I/O.
 */
export function publicApp({ isReachable, ...base }: GateAppBase, guard: GateGuardPorts, ports: PublicPorts): App {
  const stored = [...caseRoutes(ports), ...caseStepRoutes(ports), ...recordRoutes(ports)];
  const access = gateAccess(guard);
  const gatePorts = { ...ports, lookUpEntries: access.lookUpEntries };
  return createApp({
    ...base,
    head: true,
    guard: access.guard,
    routes: [
      ...telling503(stored, { isReachable, advice: 'send it again' }),
      ...gateRoutes(gatePorts),
      ...authzenRoutes(gatePorts),
      ...serviceRoutes(ports),
    ],
  });
}

export type AdminAppPorts = AdminKeysPorts &
  AdminVenuesPorts &
  AdminPoliciesPorts &
  AdminSubjectsPorts &
  AdminCasesPorts &
  AdminCaseStepsPorts &
  AdminRulingsPorts &
  AdminRecordsPorts &
  AdminStatePorts;

export interface AdminAccess extends AdminSignIn {
  /** Counts failures per client address, apart from the public listener's. */
  readonly addresses: AddressLimiter;
}

/** The admin listener. */
export function administration(
  { isReachable, ...base }: GateAppBase,
  { addresses, ...signIn }: AdminAccess,
  ports: AdminAppPorts,
): App {
  const routes = [
    ...adminKeyRoutes(ports),
    ...adminVenueRoutes(ports),
    ...adminPolicyRoutes(ports),
    ...adminSubjectRoutes(ports),
    ...adminCaseRoutes(ports),
    ...adminCaseStepRoutes(ports),
    ...adminRulingRoutes(ports),
    ...adminRecordRoutes(ports),
    ...adminStateRoutes(ports),
  ];
  return adminApp({
    ...base,
    ...signIn,
    failedAuthentication: ({ clientAddress }, exchange) => addresses.refuse(exchange, clientAddress, false),
    routes: telling503(routes, { isReachable }),
  });
}
