import { adminLedgerRoutes, adminStateRoutes } from '@sealgate/admin-api';
import { noPorts, openApi, type OpenApiDocument } from '@sealgate/http';
import { mapRouteOutages } from '@sealgate/storage';
import { MOST_BYTES } from './domain/body-budget.ts';
import { DEFAULT_LIMITS } from './domain/read-submission.ts';
import { adminDeliveryRoutes } from './routes/admin-deliveries.ts';
import { adminActivityRoutes } from './routes/admin-activity.ts';
import { adminEventRoutes } from './routes/admin-events.ts';
import { adminKeyRoutes } from './routes/admin-keys.ts';
import { adminNetworkRoutes } from './routes/admin-networks.ts';
import { adminRefusedRoutes } from './routes/admin-refused.ts';
import { adminSourceRoutes } from './routes/admin-sources.ts';
import { hookRoutes, type HooksPorts } from './routes/hooks.ts';
import { ingestRoutes, type IngestPorts } from './routes/ingest.ts';

const VERSION = '1.0.0';

/** The OpenAPI description of the public listener, with the default limits. */
export function publicDescription(): OpenApiDocument {
  return openApi({
    title: 'Sealgate ingest gateway',
    version: VERSION,
    description: 'Any JSON becomes a ledger record, exactly once.',
    routes: [
      ...ingestRoutes(noPorts<IngestPorts>({ bodyMaxBytes: 1_048_576, limits: DEFAULT_LIMITS })),
      ...hookRoutes(noPorts<HooksPorts>({ mostBytes: MOST_BYTES })),
    ],
    securityScheme: 'ApiKey',
  });
}

/** The OpenAPI description of the admin listener. */
export function adminDescription(): OpenApiDocument {
  return openApi({
    title: 'Sealgate ingest gateway, administration',
    version: VERSION,
    description: 'Networks, keys, sources, events and the ledger. Every change is an audit event.',
    routes: mapRouteOutages([
      ...adminNetworkRoutes(noPorts()),
      ...adminKeyRoutes(noPorts()),
      ...adminEventRoutes(noPorts()),
      ...adminActivityRoutes(noPorts()),
      ...adminSourceRoutes(noPorts()),
      ...adminRefusedRoutes(noPorts()),
      ...adminDeliveryRoutes(noPorts()),
      ...adminLedgerRoutes(noPorts()),
      ...adminStateRoutes(noPorts()),
    ]),
    securityScheme: 'Bearer',
  });
}
