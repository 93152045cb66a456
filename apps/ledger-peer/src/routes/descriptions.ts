import type { Jwks } from '@sealgate/envelope';
import { named, publicDocument, routeFor, type OpenApiDocument, type Route } from '@sealgate/http';
import { Type } from '@sinclair/typebox';
import type { PeerCaller } from '../domain/caller.ts';

const route = routeFor<PeerCaller>();
const open = { method: 'get', permit: 'open', charge: 'none', idempotency: 'none', errors: [] } as const;

export interface DescriptionsPorts {
  /** Made at the first request: it describes every route, itself included. */
  describe(): OpenApiDocument;
  /** The keys that checkpoints are checked with. */
  readonly jwks: Jwks;
}

/** What anybody may know: how to speak to the peer, and which keys its log is checked with. */
export function descriptionRoutes({ describe, jwks }: DescriptionsPorts): Route<PeerCaller>[] {
  const jwksText = JSON.stringify(jwks);
  let document: Buffer | undefined;
  return [
    route({
      ...open,
      path: '/api/openapi.json',
      operationId: 'openApi',
      summary: 'This description',
      responses: { 200: { description: 'OpenAPI 3.1.', contentType: 'application/json' } },
      handler: () => ({ status: 200, body: (document ??= Buffer.from(JSON.stringify(describe()))) }),
    }),
    route({
      ...open,
      path: '/.well-known/jwks.json',
      operationId: 'jwks',
      summary: 'The public keys that checkpoints are signed with (RFC 7517, RFC 8037)',
      responses: {
        200: { description: 'A JWK set.', schema: named('JwkSet', Type.Object({ keys: Type.Array(Type.Object({})) })) },
        304: { description: 'Unchanged since the ETag that was sent.' },
      },
      handler: (context) =>
        publicDocument(jwksText, { ifNoneMatch: context.header('if-none-match'), maxAgeSeconds: 60 }),
    }),
  ];
}
