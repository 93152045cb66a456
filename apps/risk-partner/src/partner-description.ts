import { openApi, type OpenApiDocument } from '@sealgate/http';
import { partnerRoutes, type PartnerRoutePorts } from './routes/partner.ts';
import { whoamiRoutes, type WhoamiPorts } from './routes/whoami.ts';

const VERSION = '1.0.0';

/** The OpenAPI description of `/api/v1`, as the service itself hands it out. */
export function partnerDescription(publicUrl?: string): OpenApiDocument {
  // A description needs the routes and none of what stands behind them: that is only reached for by a request.
  const collections = [...partnerRoutes({} as PartnerRoutePorts).values()].flatMap(({ list, item }) => [list, item]);
  return openApi({
    title: 'Sealgate partner read',
    version: VERSION,
    description:
      'Metadata of risks, controls and evidence, read-only and signed. Every list is an envelope whose evidence_hash and Evidence-Signature can be checked offline. Answers of more than 1,024 bytes are compressed where Accept-Encoding asks for br or gzip; both are over the uncompressed bytes.',
    routes: [...collections, whoamiRoutes({} as WhoamiPorts).whoami],
    securityScheme: 'Bearer',
    publicUrl,
  });
}
