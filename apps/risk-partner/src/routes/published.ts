import type { Jwks } from '@sealgate/envelope';
import { routeFor, type OpenApiDocument, type Route } from '@sealgate/http';
import type { RiskCaller } from '../domain/caller.ts';
import { renderCatalogue } from './render-catalogue.ts';

const route = routeFor<RiskCaller>();

export interface PublishedPorts {
  /** The keys of every envelope that was ever signed here. */
  readonly readKeys: () => Promise<Jwks>;
  /** The description of `/api/v1`; asked once. */
  readonly describe: () => OpenApiDocument;
}

const open = { method: 'get', permit: 'open', charge: 'none', idempotency: 'none', tags: ['open'] } as const;
const ONE_MINUTE = { 'Cache-Control': 'public, max-age=60' };

/** What anybody may read without a key. */
export function publishedRoutes({ readKeys, describe }: PublishedPorts): Route<RiskCaller>[] {
  let described: { json: string; page: string } | undefined;
  const documents = () => {
    described ??= { json: JSON.stringify(describe()), page: renderCatalogue(describe()) };
    return described;
  };
  return [
    route({
      ...open,
      path: '/.well-known/jwks.json',
      operationId: 'jwks',
      summary: 'The public keys of Evidence-Signature (RFC 7517); retired keys stay listed',
      responses: { 200: { description: 'The key set.', contentType: 'application/json' } },
      errors: ['UNAVAILABLE'],
      handler: async () => ({ status: 200, body: { ...(await readKeys()) }, headers: ONE_MINUTE }),
    }),
    route({
      ...open,
      path: '/api/v1/openapi.json',
      operationId: 'openapi',
      summary: 'The OpenAPI 3.1 description of /api/v1',
      responses: { 200: { description: 'The description.', contentType: 'application/json' } },
      errors: [],
      handler: () => ({ status: 200, body: documents().json, headers: ONE_MINUTE }),
    }),
    route({
      ...open,
      path: '/api/v1/docs',
      operationId: 'docs',
      summary: 'The same as a page for people',
      responses: { 200: { description: 'The page.', contentType: 'text/html' } },
      errors: [],
      handler: () => ({
        status: 200,
        body: documents().page,
        contentType: 'text/html; charset=utf-8',
        headers: ONE_MINUTE,
      }),
    }),
  ];
}
