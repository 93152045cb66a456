import { AppError } from '@sealgate/errors';
import {
  adminBase,
  adminRoute,
  exportedList,
  ledgerCall,
  period,
  type AdminCaller,
  type AuditLedgerChange,
} from '@sealgate/admin-api';
import { enumOf, eventStream, lineOfText, named, type Route } from '@sealgate/http';
import type { CursorCodec } from '@sealgate/paging';
import { Type, type Static } from '@sinclair/typebox';
import type { EventFilter, EventStore, IngestEvent } from '../domain/read-events.ts';
import type { EventTail } from '../domain/event-tail.ts';
import { refusedOfSourceRow } from './admin-deliveries.ts';
import { AssetType, IdText, Text, Time } from '../schemas.ts';

const Status = enumOf('EventStatus', ['committed', 'rejected', 'unknown']);

const Kind = enumOf('EventKind', ['write', 'ping']);

const EventRow = named(
  'IngestEvent',
  Type.Object({
    eventId: Text,
    kind: Kind,
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

const filters = {
  networkId: Type.Optional({ ...IdText, description: 'Only of this network.' }),
  type: Type.Optional({ ...AssetType, description: 'Only those with a record of this type.' }),
  status: Type.Optional(Status),
  kind: Type.Optional(Kind),
  channel: Type.Optional({ ...IdText, description: 'Only of this channel, by its full name, as `acme.main`.' }),
};

const listFilters = {
  ...filters,
  ...period,
  keyId: Type.Optional({ ...IdText, description: 'Only of this key, or of the source with this id.' }),
  requestId: Type.Optional({
    ...lineOfText({ min: 1, max: 128 }),
    description:
      'The X-Request-Id of an answer of the last 24 hours. For an id made by the gateway: the events of the two minutes after it.',
  }),
};

/** Filters by what people know of an event; each is looked up first. */
const searches = {
  eventId: Type.Optional({ ...IdText, description: 'Only this event.' }),
  recordId: Type.Optional({
    ...lineOfText({ min: 1, max: 256 }),
    description:
      'Only the events that wrote the record with this id. Without `networkId`, it is looked for in at most 10,000 channels. Not for archived records.',
  }),
  deliveryId: Type.Optional({
    ...lineOfText({ min: 1, max: 256 }),
    description: 'Only the deliveries to which their sender gave this id: the newest 500.',
  }),
};

const TailQuery = Type.Object(
  {
    ...filters,
    lastEventId: Type.Optional(
      Type.String({
        pattern: '^evt_[0-9a-f]{32}$',
        description: 'Replaces Last-Event-ID, for clients that cannot send it.',
      }),
    ),
    refused: Type.Optional(
      enumOf('TailRefused', ['true', 'false'], {
        description:
          'Whether refused deliveries of sources are messages, too: `refused`. They are of a network and of no type, status, kind or channel.',
      }),
    ),
  },
  { additionalProperties: false },
);

const REQUESTS_WITHIN_MS = 86_400_000;
const HEARTBEAT_MS = 10_000;
const MOST_WAITING_BYTES = 1_048_576;
/** A stream ends after this time, so that a client that comes back is authenticated again. */
const TAIL_FOR_MS = 600_000;

type Asked = Omit<EventFilter, 'eventIds'> & {
  readonly requestId?: string;
  readonly eventId?: string;
  readonly recordId?: string;
  readonly deliveryId?: string;
};

export interface AdminEventsPorts {
  readonly auditChange: AuditLedgerChange;
  readonly events: EventStore;
  readonly tail: EventTail;
  readonly cursors: CursorCodec;
  readonly now: () => number;
  readonly startTimer: (done: () => void, ms: number) => () => void;
}

export function adminEventRoutes(ports: AdminEventsPorts): Route<AdminCaller>[] {
  const { events, cursors, now } = ports;
  /** The events that have all that is named, if anything is. */
  const filterOf = async ({ requestId, eventId, recordId, deliveryId, ...filter }: Asked): Promise<EventFilter> => {
    const since = new Date(now() - REQUESTS_WITHIN_MS);
    const found = await Promise.all([
      ...(requestId === undefined ? [] : [events.ofRequest(requestId, since)]),
      ...(recordId === undefined ? [] : [ledgerCall(events.ofRecord(recordId, filter))]),
      ...(deliveryId === undefined ? [] : [events.ofDelivery(deliveryId)]),
    ]);
    const [first, ...others] = eventId === undefined ? found : [[eventId], ...found];
    if (first === undefined) return filter;
    return { ...filter, eventIds: first.filter((id) => others.every((ids) => ids.includes(id))) };
  };
  const list = exportedList({
    path: '/admin/v1/events',
    operationId: 'listEvents',
    summary: 'List events, newest first',
    filters: { ...listFilters, ...searches },
    sorts: { fields: ['at'], default: '-at' },
    name: 'events',
    boundTo: [
      ...(['networkId', 'type', 'status', 'from', 'to', 'kind', 'channel', 'requestId', 'keyId'] as const),
      ...(['eventId', 'recordId', 'deliveryId'] as const),
    ],
    errors: ['FORBIDDEN', 'LEDGER_UNAVAILABLE'],
    count: async ({ search: _, sorting: __, ...asked }) => events.count(await filterOf(asked)),
    async rows({ search: _, sorting, limit, after, counted, ...asked }) {
      const page = { limit, after, counted, oldestFirst: !sorting.descending };
      return events.list(await filterOf(asked), page);
    },
    positionOf: ({ eventId }: IngestEvent) => eventId,
    row: EventRow,
    rowOf,
    exported: { resource: 'event', of: 'networkId', auditChange: ports.auditChange },
    cursors,
  });
  const get = adminRoute({
    ...adminBase,
    method: 'get',
    path: '/admin/v1/events/:eventId',
    operationId: 'getEvent',
    summary: 'Read an event: its records, transactions and outcome',
    params: Type.Object({ eventId: IdText }),
    responses: { 200: { description: 'The event.', schema: EventRow } },
    errors: ['NOT_FOUND'],
    async handler({ params }) {
      const event = await events.find(params.eventId);
      if (event === undefined) throw new AppError('NOT_FOUND', 'There is no such event.');
      return { status: 200, body: rowOf(event) };
    },
  });
  return [...list, tailRoute(ports), get];
}

function tailRoute({ tail, startTimer }: AdminEventsPorts): Route<AdminCaller> {
  return adminRoute({
    ...adminBase,
    method: 'get',
    path: '/admin/v1/events/tail',
    operationId: 'tailEvents',
    summary: 'Events as they are written, as server-sent events',
    description:
      'Messages: `event` (an event; again when its status changes), `refused` (where asked for), `gap` (some were skipped: read the list) and `end`, ' +
      'with the reason, after ten minutes or when the process stops: reconnect then. A comment every ten seconds.',
    query: TailQuery,
    requestHeaders: { 'Last-Event-ID': 'The id of the last message received: later events are sent first.' },
    raw: true,
    responses: {
      200: { description: 'Until either side ends it.', contentType: 'text/event-stream', schema: Type.String() },
    },
    errors: ['OVERLOADED'],
    handler(context) {
      const { lastEventId, refused, ...filter } = context.query;
      const after = context.header('last-event-id') ?? lastEventId;
      let isBehind = false;
      const tell = (event: string, data: object, id?: string) => {
        // A client that was too slow receives a gap as soon as it reads again.
        if (isBehind) isBehind = !stream.send({ event: 'gap', data: { reason: 'the client was too slow' } });
        if (!isBehind) isBehind = !stream.send({ event, data, ...(id === undefined ? {} : { id }) });
      };
      const leave = tail.listen(
        {
          person: context.caller.actor,
          filter,
          onEvent: (event) => tell('event', rowOf(event), event.eventId),
          onRefused: refused === 'true' ? (row) => tell('refused', refusedOfSourceRow(row)) : undefined,
          onGap: (reason) => tell('gap', { reason }),
          onEnd: (reason) => stream.end({ event: 'end', data: { reason } }),
        },
        after,
      );
      const stopTimer = startTimer(
        () => stream.end({ event: 'end', data: { reason: 'ten minutes are over' } }),
        TAIL_FOR_MS,
      );
      const stream = eventStream(context.response, {
        startTimer,
        heartbeatMs: HEARTBEAT_MS,
        mostWaitingBytes: MOST_WAITING_BYTES,
        onEnd() {
          stopTimer();
          leave();
        },
      });
    },
  });
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
