import { Type } from '@sinclair/typebox';
import {
  answered,
  changeOf,
  closedObject,
  Environment,
  Name,
  named,
  OptionalEnvironment,
  Time,
  VenueId,
} from '../schemas.ts';
import type { RecordOf } from './model.ts';
import type { ListedKind } from './signed-row.ts';

/** A place to enter. */
const Venue = Type.Object({
  environment: Environment,
  venue_id: VenueId,
  name: { ...Name, description: 'A display name.' },
  active: Type.Boolean({ description: 'An inactive venue denies everybody.' }),
  record_version: Type.Integer({ minimum: 1 }),
  created_at: Time,
  updated_at: Time,
});
export type Venue = RecordOf<typeof Venue>;

export const VENUES: ListedKind<Venue> = {
  kind: 'venue',
  what: 'venue',
  table: 'venues',
  model: Venue,
  id: ['environment', 'venue_id'],
  recorded: ['active', 'updated_at'],
  searched: ['venue_id', 'name'],
  mayReturn: true,
};

const { environment, venue_id, ...shown } = answered(Type.Omit(Venue, ['record_version'])).properties;
export const VenueAnswer = named('Venue', Type.Object({ venue_id, environment, ...shown }));

const given = Type.Omit(Venue, ['environment', 'venue_id', 'record_version', 'created_at', 'updated_at']);
export const VenueChange = changeOf(given);
export const NewVenue = closedObject({
  venue_id: VenueId,
  environment: OptionalEnvironment,
  ...Type.Partial(given).properties,
  name: Venue.properties.name,
});
