import { AppError } from '@sealgate/errors';
import { named, routeFor, type Route } from '@sealgate/http';
import { Type } from '@sinclair/typebox';
import type { SignedRows } from '../data/signed-rows.ts';
import type { GateCaller } from '../domain/key.ts';
import { VenueAnswer, type Venue } from '../domain/venue.ts';
import { VenueId } from '../schemas.ts';

const route = routeFor<GateCaller>();

const GateVenue = named('GateVenue', Type.Pick(VenueAnswer, ['venue_id', 'name', 'active']));

export interface GateVenuePorts {
  readonly venues: Pick<SignedRows<Venue>, 'find'>;
}

/** `GET /v1/gate/venues/{venue_id}`: whether a door is set up right, before the first person comes. Decides nothing. */
export function gateVenueRoutes({ venues }: GateVenuePorts): Route<GateCaller>[] {
  const read = route({
    method: 'get',
    path: '/v1/gate/venues/:venue_id',
    operationId: 'readGateVenue',
    summary: 'The venue of a door',
    description: 'Tells whoever sets up a door that its key and its venue are right. It says nothing about a subject.',
    permit: 'gate:check',
    charge: 1,
    looks: true,
    idempotency: 'none',
    params: Type.Object({ venue_id: VenueId }),
    responses: { 200: { description: 'The venue.', schema: GateVenue } },
    errors: ['NOT_FOUND'],
    async handler({ caller, params }) {
      const venue = await venues.find([caller.environment, params.venue_id]);
      if (venue === undefined) throw new AppError('NOT_FOUND', 'There is no such venue.');
      const { venue_id, name, active } = venue;
      return { status: 200, body: { venue_id, name, active } };
    },
  });
  return [read];
}
