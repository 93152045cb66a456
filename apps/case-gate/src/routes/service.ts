import type { Jwks } from '@sealgate/envelope';
import { named, publicDocument, routeFor, type Route } from '@sealgate/http';
import { Type } from '@sinclair/typebox';
import type { GateCaller } from '../domain/gate-caller.ts';
import { Text, Time } from '../schemas.ts';

const route = routeFor<GateCaller>();

export const VERSION = '1.0.0';

export interface ServicePorts {
  readonly healthRequiresKey: boolean;
  /** The description that governs, as JSON text. */
  readonly openApiText: () => string;
  readonly jwks: Jwks;
  readonly now: () => number;
}

const base = { method: 'get', idempotency: 'none', errors: [] } as const;
const open = { permit: 'open', charge: 'none' } as const;

/** What the service says of itself. */
export function serviceRoutes(ports: ServicePorts): Route<GateCaller>[] {
  const jwksText = JSON.stringify(ports.jwks);
  const health = route({
    ...base,
    path: '/v1/health',
    operationId: 'health',
    summary: 'Liveness and maturity',
    description: 'Open, unless the operator asks for a key.',
    ...(ports.healthRequiresKey ? { permit: 'authenticated', charge: 1 } : open),
    responses: {
      200: {
        description: 'The process answers.',
        schema: Type.Object({
          status: Type.Literal('ok'),
          maturity: Type.Literal('preview'),
          version: Text,
          time: Time,
        }),
      },
    },
    async handler() {
      const time = new Date(ports.now()).toISOString();
      return { status: 200, body: { status: 'ok', maturity: 'preview', version: VERSION, time } };
    },
  });
  const openapi = route({
    ...base,
    path: '/v1/openapi.json',
    operationId: 'openapi',
    summary: 'This description',
    ...open,
    responses: { 200: { description: 'OpenAPI 3.1.', schema: Type.Object({}, { additionalProperties: true }) } },
    async handler() {
      return { status: 200, body: ports.openApiText() };
    },
  });
  const jwks = route({
    ...base,
    path: '/.well-known/jwks.json',
    operationId: 'jwks',
    summary: 'The public keys of packs; retired ones stay listed',
    ...open,
    responses: {
      200: {
        description: 'A JWK set (RFC 7517).',
        schema: named('JwkSet', Type.Object({ keys: Type.Array(Type.Object({}, { additionalProperties: true })) })),
      },
      304: { description: 'Unchanged since the ETag that was sent.' },
    },
    async handler(context) {
      return publicDocument(jwksText, { ifNoneMatch: context.header('if-none-match'), maxAgeSeconds: 60 });
    },
  });
  return [health, openapi, jwks];
}
