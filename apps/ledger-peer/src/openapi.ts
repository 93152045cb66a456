import { adminLedgerRoutes, adminStateRoutes } from '@sealgate/admin-api';
import { noPorts, openApi, type OpenApiDocument } from '@sealgate/http';
import { mapRouteOutages } from '@sealgate/storage';
import { publicRoutes, type PublicPorts } from './app.ts';
import { isOfLog } from './peer-guard.ts';
import { adminFabricRoutes } from './routes/admin-fabric.ts';
import { adminMappingRoutes } from './routes/admin-mapping.ts';
import { adminSubscriptionRoutes } from './routes/admin-subscriptions.ts';
import { adminTrustRoutes } from './routes/admin-trust.ts';

const VERSION = '1.0.0';

/** The OpenAPI description of the public listener. */
export function publicDescription(publicUrl?: string): OpenApiDocument {
  return openApi({
    title: 'Sealgate ledger peer',
    version: VERSION,
    description:
      'Writes domain assets to the chaincode mapped for their types, and serves the public log to verify them. Responses of more than 1,024 bytes are compressed where Accept-Encoding asks for br or gzip; hashes and proofs are over the uncompressed content.',
    routes: publicRoutes({
      assets: noPorts<PublicPorts['assets']>({ bodyMaxBytes: 8_388_608 }),
      transactions: noPorts(),
      jobs: noPorts(),
      events: noPorts(),
      publicLog: noPorts(),
      health: noPorts<PublicPorts['health']>({ metrics: METRICS_TEXT }),
      descriptions: noPorts<PublicPorts['descriptions']>({ describe: () => publicDescription(publicUrl) }),
    }),
    securityScheme: 'ApiKey',
    otherAccess: (path) => (isOfLog(path) ? ['Bearer', 'nobody'] : []),
    publicUrl,
  });
}

const METRICS_TEXT = {
  contentType: 'text/plain; version=0.0.4; charset=utf-8',
  text: () => Promise.resolve(''),
};

/** The OpenAPI description of the admin listener. */
export function adminDescription(): OpenApiDocument {
  return openApi({
    title: 'Sealgate ledger peer, administration',
    version: VERSION,
    description: 'The ledger: read, prove, audit, erase. Every change is an audit event.',
    routes: [
      ...adminLedgerRoutes(noPorts()),
      ...adminMappingRoutes(noPorts()),
      ...adminTrustRoutes(noPorts()),
      ...adminFabricRoutes(noPorts()),
      ...mapRouteOutages(adminSubscriptionRoutes(noPorts())),
      ...mapRouteOutages(adminStateRoutes(noPorts())),
    ],
    securityScheme: 'Bearer',
  });
}
