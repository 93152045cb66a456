import { AppError, refusedMember } from '@sealgate/errors';
import { adminRoute, exportedList, resourceRoutes, rowAnswers, rowsOf, type AdminCaller } from '@sealgate/admin-api';
import type { Route } from '@sealgate/http';
import type { SignedRows } from '../data/signed-rows.ts';
import { changedRecord } from '../domain/model.ts';
import { NewVenue, VenueAnswer, VenueChange, VENUES, type Venue } from '../domain/venue.ts';
import { answerOf, VenueId } from '../schemas.ts';
import { EnvironmentQuery, environmentOf, ofEnvironment, signedOrders, type AdminPorts } from './admin-base.ts';

export interface AdminVenuesPorts extends AdminPorts {
  readonly venues: SignedRows<Venue>;
}

const { creating, listing, reading, changing } = resourceRoutes({
  name: 'Venue',
  said: 'The venue.',
  row: VenueAnswer,
  path: '/admin/v1/venues',
  id: 'venue_id',
  idSchema: VenueId,
});

const rowOf = (venue: Venue) => answerOf(VenueAnswer, venue);

export function adminVenueRoutes(ports: AdminVenuesPorts): Route<AdminCaller>[] {
  const { venues, inSql, auditChange, now, cursors } = ports;
  const { created, found } = rowAnswers(rowOf);
  return [
    adminRoute({
      ...creating,
      summary: 'Create a venue',
      query: EnvironmentQuery,
      body: NewVenue,
      errors: ['ALREADY_EXISTS'],
      async handler(context) {
        const at = new Date(now()).toISOString();
        const environment = environmentOf(context.body, context.query);
        const first = { active: true, ...context.body, environment, created_at: at, updated_at: at };
        const venue = await inSql(async (sql) => {
          const made = await venues.insert(sql, first);
          if (made === undefined) throw refusedMember('ALREADY_EXISTS', '/venue_id', 'There is a venue of this id.');
          await auditChange(context, changeOf('venue.create', made), sql);
          return made;
        });
        return created(venue);
      },
    }),
    ...exportedList({
      ...listing,
      summary: 'List the venues of an environment by id',
      ...ofEnvironment,
      ...signedOrders,
      boundTo: ['environment'],
      ...rowsOf(() => venues.list, rowOf),
      exported: { resource: 'venue', of: 'environment', auditChange },
      cursors,
    }),
    adminRoute({
      ...reading,
      summary: 'Read a venue',
      query: EnvironmentQuery,
      async handler({ params, query }) {
        const venue = await venues.find([environmentOf({}, query), params.venue_id]);
        if (venue === undefined) throw noVenue();
        return found(venue);
      },
    }),
    adminRoute({
      ...changing,
      summary: 'Rename, open or close a venue, effective at the gate once this has answered',
      query: EnvironmentQuery,
      body: VenueChange,
      async handler(context) {
        const place = [environmentOf({}, context.query), context.params.venue_id];
        const venue = await inSql(async (sql) => {
          const known = await venues.lock(sql, place);
          if (known === undefined) throw noVenue();
          const changed = changedRecord(VENUES.model, known, context.body);
          if (changed === known) return known;
          const next = await venues.save(sql, { ...changed, updated_at: new Date(now()).toISOString() });
          await auditChange(context, changeOf('venue.change', next), sql);
          return next;
        });
        return found(venue);
      },
    }),
  ];
}

function changeOf(action: string, { venue_id: resourceId, environment, name, active }: Venue) {
  return { action, resource: 'venue', resourceId, detail: { environment, name, active: String(active) } };
}

function noVenue(): AppError {
  return new AppError('NOT_FOUND', 'There is no such venue.');
}
