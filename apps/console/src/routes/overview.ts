import { closedObject, named, routeFor, type Route } from '@sealgate/http';
import { Type } from '@sinclair/typebox';
import { requireOwnOrigin } from '../domain/own-origin.ts';
import type { SurfaceId } from '../domain/surfaces.ts';
import type { ConsoleCaller } from '../session-guard.ts';
import { SurfaceName } from './session.ts';

const route = routeFor<ConsoleCaller>();

const SurfaceStateView = named(
  'SurfaceState',
  closedObject({
    id: SurfaceName,
    ready: Type.Union([Type.Boolean(), Type.Null()], { description: 'null: it could not be asked.' }),
    checks: Type.Record(Type.String(), Type.Unknown(), { description: 'What its readiness says besides.' }),
    requestsPerSecond: Type.Optional(Type.Number()),
    errorsPerSecond: Type.Optional(Type.Number({ description: 'Answers of class 5xx.' })),
    gauges: Type.Record(Type.String(), Type.Number(), { description: 'What waits and what is halted, by metric.' }),
  }),
);

const Overview = named('Overview', closedObject({ surfaces: Type.Array(SurfaceStateView) }));

export interface OverviewPorts {
  readonly publicUrl: string;
  /** Of the surfaces whose ops listener is configured. Never rejects, and ends within its own deadline. */
  states(): Promise<readonly { readonly id: SurfaceId; readonly ready: boolean | undefined }[]>;
}

/** How the surfaces are, for whoever is signed in. */
export function overviewRoutes({ publicUrl, states }: OverviewPorts): Route<ConsoleCaller>[] {
  return [
    route({
      method: 'get',
      path: '/overview',
      operationId: 'readOverview',
      summary: 'How each surface is, as its ops listener tells it',
      description: 'Rates are of the time since the overview was last asked for, and absent until it was asked twice.',
      permit: 'authenticated',
      charge: 'none',
      idempotency: 'none',
      responses: { 200: { description: 'Surfaces without an ops URL are not in it.', schema: Overview } },
      errors: ['ORIGIN_NOT_ALLOWED'],
      async handler(context) {
        requireOwnOrigin(context, publicUrl);
        const surfaces = (await states()).map(({ ready = null, ...state }) => ({ ...state, ready }));
        return { status: 200, body: { surfaces } };
      },
    }),
  ];
}
