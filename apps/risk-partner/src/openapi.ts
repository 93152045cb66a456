import { adminStateRoutes } from '@sealgate/admin-api';
import { noPorts, openApi, type OpenApiDocument } from '@sealgate/http';
import { mapRouteOutages } from '@sealgate/storage';
import { API_VERSION, publicRoutes, type PublicPorts } from './public-routes.ts';
import { adminFrameworkRoutes } from './routes/admin-frameworks.ts';
import { adminIdentityRoutes } from './routes/admin-identities.ts';
import { adminOrgRoutes } from './routes/admin-orgs.ts';
import { adminPeopleRoutes } from './routes/admin-people.ts';

/** The sign-in metadata routes exist only with an identity provider. */
const MCP_SIGN_IN = { resource: 'https://risk.example.com/mcp', issuers: [], scopes: [] };

/** The OpenAPI description of the whole public listener. */
export function publicDescription(): OpenApiDocument {
  return openApi({
    title: 'Sealgate risk and partner read',
    version: API_VERSION,
    description:
      'Risks, controls and evidence behind RBAC. Paths below /api/v1 are a contract; the others serve the dashboard and may change. Responses over 1,024 bytes are compressed if Accept-Encoding allows br or gzip; hashes and signatures are over the uncompressed bytes. The bearer token is an API key, or an access token of a configured OpenID Connect provider; a person in several organisations then selects one with the X-Organization header.',
    routes: publicRoutes(
      { ...noPorts<PublicPorts>(), allowedOrigins: [], mcpSignIn: MCP_SIGN_IN },
      { permits: () => true },
    ),
    securityScheme: 'Bearer',
  });
}

/** The OpenAPI description of the admin listener. */
export function adminDescription(): OpenApiDocument {
  return openApi({
    title: 'Sealgate risk and partner read, administration',
    version: API_VERSION,
    description: 'Organisations, people, their roles, scope and keys, and frameworks. Every change is an audit event.',
    routes: mapRouteOutages([
      ...adminOrgRoutes(noPorts()),
      ...adminPeopleRoutes(noPorts()),
      ...adminIdentityRoutes(noPorts()),
      ...adminFrameworkRoutes(noPorts()),
      ...adminStateRoutes(noPorts()),
    ]),
    securityScheme: 'Bearer',
  });
}
