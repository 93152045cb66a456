import { adminStateRoutes, openApi, type OpenApiDocument } from '@sealgate/http';
import { telling503 } from '@sealgate/storage';
import { publicRoutes, type PublicPorts } from './public-routes.ts';
import { adminFrameworkRoutes } from './routes/admin-frameworks.ts';
import { adminIdentityRoutes } from './routes/admin-identities.ts';
import { adminOrgRoutes } from './routes/admin-orgs.ts';
import { adminPeopleRoutes } from './routes/admin-people.ts';

const VERSION = '1.0.0';

/** A description needs the routes and none of what stands behind them: that is only reached for by a request. */
const noPorts = <Ports extends object>(): Ports => ({}) as Ports;

/** Its paths are there where an identity provider is configured. */
const MCP_SIGN_IN = { resource: 'https://risk.example.com/mcp', issuers: [] };

/** The OpenAPI description of the whole public listener. */
export function publicDescription(): OpenApiDocument {
  return openApi({
    title: 'Sealgate risk and partner read',
    version: VERSION,
    description:
      'Risks, controls and evidence behind RBAC. Paths below /api/v1 are a contract; the others serve the dashboard and may change. Answers of more than 1,024 bytes are compressed where Accept-Encoding asks for br or gzip; hashes and signatures are over the uncompressed bytes. The bearer is a key, or an access token of a configured OpenID Connect provider; who is in several organisations names one by the header X-Organization then.',
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
    version: VERSION,
    description: 'Organisations, people, their roles, scope and keys, and frameworks. Every change is an audit event.',
    routes: telling503([
      ...adminOrgRoutes(noPorts()),
      ...adminPeopleRoutes(noPorts()),
      ...adminIdentityRoutes(noPorts()),
      ...adminFrameworkRoutes(noPorts()),
      ...adminStateRoutes(noPorts()),
    ]),
    securityScheme: 'Bearer',
  });
}
