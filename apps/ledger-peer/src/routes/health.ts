import { AppError } from '@sealgate/errors';
import { named, opsRoutes, orNull, routeFor, type AuthRequest, type OpsOptions, type Route } from '@sealgate/http';
import { Type, type Static } from '@sinclair/typebox';
import type { PeerCaller } from '../domain/caller.ts';

const route = routeFor<PeerCaller>();

/** State of the ledger's credentials, as far as it is known without calling the ledger. */
const Credentials = named(
  'Credentials',
  Type.Object({
    ok: Type.Boolean(),
    // Sentences for operators, without secrets.
    problems: Type.Array(Type.String()),
    // RFC 3339; absent if nothing expires.
    certificateExpiresAt: Type.Optional(orNull(Type.String())),
    // Each of several identities.
    identities: Type.Optional(
      Type.Array(Type.Object({ name: Type.String(), ok: Type.Boolean(), certificateExpiresAt: orNull(Type.String()) })),
    ),
  }),
);
export type Credentials = Readonly<Static<typeof Credentials>>;

export interface HealthPorts extends OpsOptions {
  /** Ends within its own deadline. */
  credentials(): Promise<Credentials>;
  /** Whether this request may read /metrics. */
  isScraper(request: AuthRequest): boolean;
}

/** The health routes and /metrics on the public listener. */
export function healthRoutes(ports: HealthPorts): Route<PeerCaller>[] {
  const coarse = route({
    method: 'get',
    path: '/health',
    operationId: 'health',
    summary: 'Whether the credentials are in order',
    permit: 'open',
    charge: 'none',
    idempotency: 'none',
    query: 'ignored',
    responses: {
      200: {
        description: 'Always.',
        schema: Type.Object({ status: Type.String(), credentials: Credentials }),
      },
    },
    errors: [],
    async handler() {
      const credentials = await ports.credentials();
      return { status: 200, body: { status: credentials.ok ? 'healthy' : 'unhealthy', credentials } };
    },
  });
  return [
    coarse,
    ...opsRoutes<PeerCaller>(ports).map((one) => (one.path === '/metrics' ? forScrapers(one, ports) : one)),
  ];
}

/** For others the path does not exist, whatever the method. */
function forScrapers(metrics: Route<PeerCaller>, { isScraper }: HealthPorts): Route<PeerCaller> {
  return {
    ...metrics,
    errors: ['NOT_FOUND'],
    admit(request) {
      if (!isScraper(request)) throw new AppError('NOT_FOUND', 'There is nothing at this path.');
    },
  };
}
