import type { Jwks } from '@sealgate/envelope';
import { JwkSet, openObject, publicDocument, routeFor, type OpenApiDocument, type Route } from '@sealgate/http';
import type { PeerCaller } from '../domain/caller.ts';

const route = routeFor<PeerCaller>();
const open = { method: 'get', permit: 'open', charge: 'none', idempotency: 'none', errors: [] } as const;

export interface DescriptionsPorts {
  /** Called at the first request: it describes every route, including its own. */
  describe(): OpenApiDocument;
  /** The public keys of checkpoints. */
  readonly jwks: Jwks;
}

/** Public documents: the OpenAPI description, and the keys of the log. */
export function descriptionRoutes({ describe, jwks }: DescriptionsPorts): Route<PeerCaller>[] {
  const jwksText = JSON.stringify(jwks);
  let document: Buffer | undefined;
  return [
    route({
      ...open,
      path: '/api/openapi.json',
      operationId: 'openApi',
      summary: 'This description',
      responses: { 200: { description: 'OpenAPI 3.1.', schema: openObject() } },
      handler: () => ({ status: 200, body: (document ??= Buffer.from(JSON.stringify(describe()))) }),
    }),
    route({
      ...open,
      path: '/.well-known/jwks.json',
      operationId: 'jwks',
      summary: 'The public keys that checkpoints are signed with (RFC 7517, RFC 8037)',
      responses: {
        200: { description: 'A JWK set.', schema: JwkSet },
        304: { description: 'Unchanged since the ETag in the request.' },
      },
      handler: (context) =>
        publicDocument(jwksText, { ifNoneMatch: context.header('if-none-match'), maxAgeSeconds: 60 }),
    }),
  ];
}
