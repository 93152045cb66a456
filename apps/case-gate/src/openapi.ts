import { adminStateRoutes, openApi, type AdminStatePorts, type OpenApiDocument } from '@sealgate/http';
import { telling503 } from '@sealgate/storage';
import { adminCaseStepRoutes } from './routes/admin-case-steps.ts';
import { adminCaseRoutes } from './routes/admin-cases.ts';
import { adminKeyRoutes } from './routes/admin-keys.ts';
import { adminPolicyRoutes } from './routes/admin-policies.ts';
import { adminRecordRoutes } from './routes/admin-records.ts';
import { adminRulingRoutes } from './routes/admin-rulings.ts';
import { adminSubjectRoutes } from './routes/admin-subjects.ts';
import { adminVenueRoutes } from './routes/admin-venues.ts';
import { authzenRoutes } from './routes/authzen.ts';
import { caseRoutes } from './routes/cases.ts';
import { caseStepRoutes } from './routes/case-steps.ts';
import { gateRoutes } from './routes/gate.ts';
import { recordRoutes } from './routes/records.ts';
import { serviceRoutes, VERSION, type ServicePorts } from './routes/service.ts';

/** A description needs the routes and none of what stands behind them: that is only reached for by a request. */
const noPorts = <Ports extends object>(known: Partial<Ports> = {}): Ports => known as Ports;

interface DescriptionOptions {
  readonly healthRequiresKey?: boolean;
  readonly publicUrl?: string | undefined;
}

/** The OpenAPI description of the public listener, as it is served at `/v1/openapi.json`. */
export function publicDescription({ healthRequiresKey = false, publicUrl }: DescriptionOptions = {}): OpenApiDocument {
  return openApi({
    title: 'Sealgate case gate',
    version: VERSION,
    description: 'Onboarding cases, sealed once; eligibility; and a gate that can only fail shut. A contract preview.',
    routes: [
      ...caseRoutes(noPorts()),
      ...caseStepRoutes(noPorts()),
      ...recordRoutes(noPorts()),
      ...gateRoutes(noPorts()),
      ...authzenRoutes(noPorts()),
      ...serviceRoutes(noPorts<ServicePorts>({ healthRequiresKey })),
    ],
    securityScheme: 'Bearer',
    publicUrl,
  });
}

/** The OpenAPI description of the admin listener. */
export function adminDescription(): OpenApiDocument {
  return openApi({
    title: 'Sealgate case gate, administration',
    version: VERSION,
    description: 'Keys, venues, policies, cases, subjects, and what the gate answered. Every change is an audit event.',
    routes: telling503([
      ...adminKeyRoutes(noPorts()),
      ...adminVenueRoutes(noPorts()),
      ...adminPolicyRoutes(noPorts()),
      ...adminSubjectRoutes(noPorts()),
      ...adminCaseRoutes(noPorts()),
      ...adminCaseStepRoutes(noPorts()),
      ...adminRulingRoutes(noPorts()),
      ...adminRecordRoutes(noPorts()),
      ...adminStateRoutes(noPorts<AdminStatePorts>({ spelling: 'snake_case' })),
    ]),
    securityScheme: 'Bearer',
  });
}
