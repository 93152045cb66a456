import { AppError } from '@sealgate/errors';
import {
  ADMIN_LIST_RANGE,
  adminRoute,
  enumOf,
  instantText,
  listOf,
  listQuery,
  named,
  readPage,
  type AdminCaller,
  type Route,
} from '@sealgate/http';
import type { CursorCodec } from '@sealgate/paging';
import { Type, type Static } from '@sinclair/typebox';
import type { EventFilter, EventStore, IngestEvent } from '../domain/read-events.ts';
import { AssetType, IdText, Text, Time } from '../admin-schemas.ts';

const Status = enumOf('EventStatus', ['committed', 'rejected', 'unknown']);

const EventRow = named(
  'IngestEvent',
  Type.Object({
    eventId: Text,
    kind: enumOf('EventKind', ['write', 'ping']),
    networkId: Text,
    keyId: Text,
    status: Status,
    types: Type.Array(Text),
    records: Type.Array(named('EventRecord', Type.Object({ id: Text, channel: Text, transactionId: Text }))),
    transactionIds: Type.Array(Text),
    requestId: Text,
    strippedFields: Type.Integer(),
    at: Time,
  }),
);

const Query = listQuery(ADMIN_LIST_RANGE, {
  networkId: Type.Optional(IdText),
  type: Type.Optional(AssetType),
  status: Type.Optional(Status),
  from: Type.Optional(instantText()),
  to: Type.Optional(instantText()),
});

export interface AdminEventsPorts {
  readonly events: EventStore;
  readonly cursors: CursorCodec;
}

const base = { charge: 'none', idempotency: 'none', permit: 'authenticated' } as const;

export function adminEventRoutes({ events, cursors }: AdminEventsPorts): Route<AdminCaller>[] {
  const list = adminRoute({
    ...base,
    method: 'get',
    path: '/admin/v1/events',
    operationId: 'listEvents',
    summary: 'List events, newest first',
    query: Query,
    responses: { 200: { description: 'A page.', schema: listOf(EventRow) } },
    errors: ['INVALID_LIMIT', 'INVALID_CURSOR'],
    async handler({ query }) {
      const { networkId = '', type = '', status = '', from = '', to = '' } = query;
      const page = readPage(query, cursors, ['events', networkId, type, status, from, to]);
      const before = page.after === undefined ? {} : { before: String(page.after) };
      const rows = await events.list(filterOf(query), { limit: page.limit + 1, ...before });
      return { status: 200, body: page.answer(rows, { item: rowOf, position: ({ eventId }) => eventId }) };
    },
  });
  const get = adminRoute({
    ...base,
    method: 'get',
    path: '/admin/v1/events/:eventId',
    operationId: 'getEvent',
    summary: 'Read an event',
    params: Type.Object({ eventId: IdText }),
    responses: { 200: { description: 'The event.', schema: EventRow } },
    errors: ['NOT_FOUND'],
    async handler({ params }) {
      const event = await events.find(params.eventId);
      if (event === undefined) throw new AppError('NOT_FOUND', 'There is no such event.');
      return { status: 200, body: rowOf(event) };
    },
  });
  return [list, get];
}

function filterOf({ networkId, type, status, from, to }: Static<typeof Query>): EventFilter {
  return {
    ...(networkId === undefined ? {} : { networkId }),
    ...(type === undefined ? {} : { type }),
    ...(status === undefined ? {} : { status }),
    ...(from === undefined ? {} : { from: new Date(from) }),
    ...(to === undefined ? {} : { to: new Date(to) }),
  };
}

function rowOf(event: IngestEvent): Static<typeof EventRow> {
  return {
    ...event,
    types: [...event.types],
    records: [...event.records],
    transactionIds: [...event.transactionIds],
    at: event.at.toISOString(),
  };
}
