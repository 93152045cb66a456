import type { Jwks } from '@sealgate/envelope';
import { publicDocument, routeFor, type OpenApiDocument, type Route } from '@sealgate/http';
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
const maxAgeSeconds = 60;
const notModified = { 304: { description: 'Unchanged since the ETag that was sent.' } };

/** What anybody may read without a key. */
export function publishedRoutes({ readKeys, describe }: PublishedPorts): Route<RiskCaller>[] {
  let described: { json: Buffer; page: Buffer } | undefined;
  const documents = () => {
    described ??= { json: Buffer.from(JSON.stringify(describe())), page: Buffer.from(renderCatalogue(describe())) };
    return described;
  };
  return [
    route({
      ...open,
      path: '/.well-known/jwks.json',
      operationId: 'jwks',
      summary: 'The public keys of Evidence-Signature (RFC 7517); retired keys stay listed',
      responses: { 200: { description: 'The key set.', contentType: 'application/json' }, ...notModified },
      errors: ['UNAVAILABLE'],
      handler: async (context) =>
        publicDocument(JSON.stringify(await readKeys()), {
          ifNoneMatch: context.header('if-none-match'),
          maxAgeSeconds,
        }),
    }),
    route({
      ...open,
      path: '/api/v1/openapi.json',
      operationId: 'openapi',
      summary: 'The OpenAPI 3.1 description of /api/v1',
      responses: { 200: { description: 'The description.', contentType: 'application/json' }, ...notModified },
      errors: [],
      handler: (context) =>
        publicDocument(documents().json, { ifNoneMatch: context.header('if-none-match'), maxAgeSeconds }),
    }),
    route({
      ...open,
      path: '/api/v1/docs',
      operationId: 'docs',
      summary: 'The same as a page for people',
      responses: { 200: { description: 'The page.', contentType: 'text/html' }, ...notModified },
      errors: [],
      handler: (context) =>
        publicDocument(documents().page, {
          ifNoneMatch: context.header('if-none-match'),
          maxAgeSeconds,
          contentType: 'text/html; charset=utf-8',
        }),
    }),
  ];
}
