import type { Jwks } from '@sealgate/envelope';
import { JwkSet, openObject, publicDocument, routeFor, type Route } from '@sealgate/http';
import { Type } from '@sinclair/typebox';
import type { GateCaller } from '../domain/key.ts';
import { Text, Time } from '../schemas.ts';

const route = routeFor<GateCaller>();

export const VERSION = '1.0.0';

export interface ServicePorts {
  /** The URL of the public listener, without a trailing slash. */
  readonly publicUrl: string;
  readonly healthRequiresKey: boolean;
  /** The authoritative OpenAPI description, as JSON text. */
  readonly openApiText: () => string;
  readonly jwks: Jwks;
  readonly now: () => number;
}

/** AuthZEN metadata may be cached; five minutes bound how long an old address is used. */
const FOR_FIVE_MINUTES = { 'Cache-Control': 'public, max-age=300' };

const base = { method: 'get', idempotency: 'none', errors: [] } as const;
const open = { permit: 'open', charge: 'none' } as const;

export function serviceRoutes(ports: ServicePorts): Route<GateCaller>[] {
  const jwksText = JSON.stringify(ports.jwks);
  const configuration = route({
    ...base,
    path: '/.well-known/authzen-configuration',
    operationId: 'authzenConfiguration',
    summary: 'The AuthZEN endpoints',
    ...open,
    responses: {
      200: {
        description: 'AuthZEN metadata.',
        schema: Type.Object({
          policy_decision_point: Text,
          access_evaluation_endpoint: Text,
          access_evaluations_endpoint: Text,
        }),
      },
    },
    async handler() {
      const { publicUrl } = ports;
      const endpoint = (name: string) => `${publicUrl}/access/v1/${name}`;
      const body = {
        policy_decision_point: publicUrl,
        access_evaluation_endpoint: endpoint('evaluation'),
        access_evaluations_endpoint: endpoint('evaluations'),
      };
      return { status: 200, body, headers: FOR_FIVE_MINUTES };
    },
  });
  const health = route({
    ...base,
    path: '/v1/health',
    operationId: 'health',
    summary: 'Liveness and maturity',
    description: 'Open unless the operator requires a key.',
    ...(ports.healthRequiresKey ? { permit: 'authenticated', charge: 1 } : open),
    responses: {
      200: {
        description: 'The process is running.',
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
    responses: { 200: { description: 'OpenAPI 3.1.', schema: openObject() } },
    async handler() {
      return { status: 200, body: ports.openApiText() };
    },
  });
  const jwks = route({
    ...base,
    path: '/.well-known/jwks.json',
    operationId: 'jwks',
    summary: 'Public keys of packs, including retired ones',
    ...open,
    responses: {
      200: {
        description: 'A JWK set (RFC 7517).',
        schema: JwkSet,
      },
      304: { description: 'Unchanged since the ETag that was sent.' },
    },
    async handler(context) {
      return publicDocument(jwksText, { ifNoneMatch: context.header('if-none-match'), maxAgeSeconds: 60 });
    },
  });
  return [configuration, health, openapi, jwks];
}
