import { AppError } from '@sealgate/errors';
import { ADMIN_LIST_RANGE, adminRoute, resourceRoutes, rowAnswers, type AdminCaller } from '@sealgate/admin-api';
import { closedObject, listQuery, named, type Route } from '@sealgate/http';
import { Type, type Static } from '@sinclair/typebox';
import type { RecordingSql } from '../data/ledger-writer.ts';
import type { VenuesStore } from '../data/venues-store.ts';
import type { VenueRecord } from '../domain/versioned-record.ts';
import { Environment, Name, Text, Time, VenueId } from '../schemas.ts';
import { EnvironmentQuery, environmentOf, environmentQuery, type AdminPorts } from './admin-base.ts';

const VenueRow = named(
  'Venue',
  Type.Object({
    venue_id: Text,
    environment: Text,
    name: Text,
    active: Type.Boolean(),
    created_at: Time,
    updated_at: Time,
  }),
);

const NewVenueBody = closedObject({
  venue_id: VenueId,
  environment: Type.Optional(Environment),
  name: Name,
  active: Type.Optional(Type.Boolean()),
});
const ChangeBody = closedObject({ name: Type.Optional(Name), active: Type.Optional(Type.Boolean()) });

export interface AdminVenuesPorts extends AdminPorts {
  readonly venues: VenuesStore;
  /** False where the id is taken. */
  readonly insertVenue: (sql: RecordingSql, venue: Omit<VenueRecord, 'recordVersion'>) => Promise<boolean>;
  readonly lockVenue: (
    sql: RecordingSql,
    id: { environment: string; venueId: string },
  ) => Promise<VenueRecord | undefined>;
  readonly saveVenue: (sql: RecordingSql, venue: VenueRecord) => Promise<void>;
}

const { creating, listing, reading, changing } = resourceRoutes({
  name: 'Venue',
  said: 'The venue.',
  row: VenueRow,
  path: '/admin/v1/venues',
  id: 'venue_id',
  idSchema: VenueId,
});

export function adminVenueRoutes(ports: AdminVenuesPorts): Route<AdminCaller>[] {
  const { venues, insertVenue, lockVenue, saveVenue, inSql, auditChange, now, cursors } = ports;
  const { created, found, page } = rowAnswers<Venue>({ rowOf, positionOf: ({ venueId }) => venueId, cursors });
  return [
    adminRoute({
      ...creating,
      summary: 'Create a venue',
      query: EnvironmentQuery,
      body: NewVenueBody,
      errors: ['ALREADY_EXISTS'],
      async handler(context) {
        const { venue_id: venueId, name, active = true } = context.body;
        const environment = environmentOf(context.body, context.query);
        const at = new Date(now());
        const venue = { environment, venueId, name, active, createdAt: at, updatedAt: at };
        await inSql(async (sql) => {
          if (!(await insertVenue(sql, venue))) throw new AppError('ALREADY_EXISTS', 'The venue exists.');
          await auditChange(context, changeOf('venue.create', venue), sql);
        });
        return created(venue);
      },
    }),
    adminRoute({
      ...listing,
      summary: 'List the venues of an environment by id',
      query: listQuery(ADMIN_LIST_RANGE, environmentQuery),
      handler({ query }) {
        const environment = environmentOf({}, query);
        return page(query, ['venues', environment], (after) => venues.list(environment, after));
      },
    }),
    adminRoute({
      ...reading,
      summary: 'Read a venue',
      query: EnvironmentQuery,
      async handler({ params, query }) {
        const venue = await venues.find(environmentOf({}, query), params.venue_id);
        if (venue === undefined) throw noVenue();
        return found(venue);
      },
    }),
    adminRoute({
      ...changing,
      summary: 'Rename, open or close a venue, effective at the gate once this has answered',
      query: EnvironmentQuery,
      body: ChangeBody,
      async handler(context) {
        const id = { environment: environmentOf({}, context.query), venueId: context.params.venue_id };
        const venue = await inSql(async (sql) => {
          const known = await lockVenue(sql, id);
          if (known === undefined) throw noVenue();
          const { name = known.name, active = known.active } = context.body;
          if (name === known.name && active === known.active) return known;
          const recordVersion = known.recordVersion + 1;
          const next = { ...known, name, active, recordVersion, updatedAt: new Date(now()) };
          await saveVenue(sql, next);
          await auditChange(context, changeOf('venue.change', next), sql);
          return next;
        });
        return found(venue);
      },
    }),
  ];
}

type Venue = Omit<VenueRecord, 'recordVersion'>;

function changeOf(action: string, { venueId, environment, name, active }: Venue) {
  return { action, resource: 'venue', resourceId: venueId, detail: { environment, name, active: String(active) } };
}

function rowOf({ venueId, environment, name, active, createdAt, updatedAt }: Venue): Static<typeof VenueRow> {
  const times = { created_at: createdAt.toISOString(), updated_at: updatedAt.toISOString() };
  return { venue_id: venueId, environment, name, active, ...times };
}

function noVenue(): AppError {
  return new AppError('NOT_FOUND', 'There is no such venue.');
}
