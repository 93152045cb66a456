import { AppError } from '@sealgate/errors';
import { ADMIN_BODY_MAX_BYTES, ADMIN_LIST_RANGE, adminRoute, readPage, type AdminCaller } from '@sealgate/admin-api';
import { closedObject, listOf, listQuery, named, type Route } from '@sealgate/http';
import { Type, type Static } from '@sinclair/typebox';
import type { RecordingSql } from '../data/ledger-writer.ts';
import type { VenuesStore } from '../data/venues-store.ts';
import type { VenueRecord } from '../domain/versioned-record.ts';
import { Environment, Name, Text, Time, VenueId } from '../schemas.ts';
import { adminBase, EnvironmentQuery, environmentOf, environmentQuery, type AdminPorts } from './admin-base.ts';

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

const ofVenue = Type.Object({ venue_id: VenueId });

export function adminVenueRoutes(ports: AdminVenuesPorts): Route<AdminCaller>[] {
  const list = adminRoute({
    ...adminBase,
    method: 'get',
    path: '/admin/v1/venues',
    operationId: 'listVenues',
    summary: 'List the venues of an environment by id',
    query: listQuery(ADMIN_LIST_RANGE, environmentQuery),
    responses: { 200: { description: 'A page.', schema: listOf(VenueRow) } },
    errors: [],
    async handler({ query }) {
      const environment = environmentOf({}, query);
      const page = readPage(query, ports.cursors, ['venues', environment]);
      const rows = await ports.venues.list(environment, { limit: page.limit + 1, after: String(page.after ?? '') });
      return { status: 200, body: page.answer(rows, { item: rowOf, position: ({ venueId }) => venueId }) };
    },
  });
  const get = adminRoute({
    ...adminBase,
    method: 'get',
    path: '/admin/v1/venues/:venue_id',
    operationId: 'getVenue',
    summary: 'Read a venue',
    params: ofVenue,
    query: EnvironmentQuery,
    responses: { 200: { description: 'The venue.', schema: VenueRow } },
    errors: ['NOT_FOUND'],
    async handler({ params, query }) {
      const venue = await ports.venues.find(environmentOf({}, query), params.venue_id);
      if (venue === undefined) throw noVenue();
      return { status: 200, body: rowOf(venue) };
    },
  });
  return [createRoute(ports), list, get, changeRoute(ports)];
}

function createRoute(ports: AdminVenuesPorts): Route<AdminCaller> {
  return adminRoute({
    ...adminBase,
    method: 'post',
    path: '/admin/v1/venues',
    operationId: 'createVenue',
    summary: 'Create a venue',
    query: EnvironmentQuery,
    body: NewVenueBody,
    bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
    responses: { 201: { description: 'The venue.', schema: VenueRow } },
    errors: ['ALREADY_EXISTS'],
    async handler(context) {
      const { venue_id: venueId, name, active = true } = context.body;
      const environment = environmentOf(context.body, context.query);
      const at = new Date(ports.now());
      const venue = { environment, venueId, name, active, createdAt: at, updatedAt: at };
      await ports.inSql(async (sql) => {
        if (!(await ports.insertVenue(sql, venue))) throw new AppError('ALREADY_EXISTS', 'The venue exists.');
        await ports.auditChange(context, changeOf('venue.create', venue), sql);
      });
      return { status: 201, body: rowOf(venue) };
    },
  });
}

function changeRoute(ports: AdminVenuesPorts): Route<AdminCaller> {
  return adminRoute({
    ...adminBase,
    method: 'patch',
    path: '/admin/v1/venues/:venue_id',
    operationId: 'changeVenue',
    summary: 'Rename, open or close a venue, effective at the gate once this has answered',
    params: ofVenue,
    query: EnvironmentQuery,
    body: ChangeBody,
    bodyMaxBytes: ADMIN_BODY_MAX_BYTES,
    responses: { 200: { description: 'The venue.', schema: VenueRow } },
    errors: ['NOT_FOUND'],
    async handler(context) {
      const id = { environment: environmentOf({}, context.query), venueId: context.params.venue_id };
      const venue = await ports.inSql(async (sql) => {
        const known = await ports.lockVenue(sql, id);
        if (known === undefined) throw noVenue();
        const { name = known.name, active = known.active } = context.body;
        if (name === known.name && active === known.active) return known;
        const recordVersion = known.recordVersion + 1;
        const next = { ...known, name, active, recordVersion, updatedAt: new Date(ports.now()) };
        await ports.saveVenue(sql, next);
        await ports.auditChange(context, changeOf('venue.change', next), sql);
        return next;
      });
      return { status: 200, body: rowOf(venue) };
    },
  });
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
