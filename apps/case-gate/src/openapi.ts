import { noPorts, openApi, type OpenApiDocument } from '@sealgate/http';
import { mapRouteOutages } from '@sealgate/storage';
import { adminRoutes, gateAndServiceRoutes, storedRoutes, type AdminAppPorts, type PublicPorts } from './app.ts';
import { VERSION } from './routes/service.ts';

/** The OpenAPI description of the public listener, served at `/v1/openapi.json`. */
export function publicDescription({
  healthRequiresKey = false,
  publicUrl,
}: {
  readonly healthRequiresKey?: boolean;
  readonly publicUrl?: string | undefined;
} = {}): OpenApiDocument {
  const ports = noPorts<PublicPorts>({ healthRequiresKey });
  return openApi({
    title: 'Sealgate case gate',
    version: VERSION,
    description: 'Onboarding cases, sealed once; eligibility; and a gate that fails closed. A contract preview.',
    routes: [...storedRoutes(ports), ...gateAndServiceRoutes(ports)],
    securityScheme: 'Bearer',
    publicUrl,
  });
}

/** The OpenAPI description of the admin listener. */
export function adminDescription(): OpenApiDocument {
  return openApi({
    title: 'Sealgate case gate, administration',
    version: VERSION,
    description: 'Keys, venues, policies, cases, subjects and gate decisions. Every change is an audit event.',
    routes: mapRouteOutages(adminRoutes(noPorts<AdminAppPorts>({ spelling: 'snake_case' }))),
    securityScheme: 'Bearer',
  });
}
