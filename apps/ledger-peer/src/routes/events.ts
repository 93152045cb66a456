import { eventStream, lineOfText, routeFor, type Route } from '@sealgate/http';
import { Type } from '@sinclair/typebox';
import { CALLS_LEDGER, type PeerCaller } from '../domain/caller.ts';
import { LedgerEvent } from '../domain/ledger-event.ts';
import type { EventStart, EventStreams } from '../domain/event-streams.ts';

const route = routeFor<PeerCaller>();

const HEARTBEAT_MS = 10_000;
const MOST_WAITING_BYTES = 1_048_576;
/** A stream ends after this time, so that a client that comes back is authenticated again. */
const STREAM_FOR_MS = 600_000;

const EventsQuery = Type.Object(
  {
    channel: { ...lineOfText({ min: 1, max: 200 }), description: 'A channel of a mapping, as `acme.main`.' },
    type: Type.Optional({
      ...lineOfText({ min: 1, max: 128 }),
      description: 'Only events with assets of this type; of a third-party contract also what its chaincode did else.',
    }),
    from: Type.Optional(
      Type.String({
        description: '`0`: from the first event that can be read; a cursor: after that event. Default: from now on.',
      }),
    ),
  },
  { additionalProperties: false },
);

export interface EventsPorts {
  readonly streams: EventStreams;
  readonly startTimer: (done: () => void, ms: number) => () => void;
  /** Whether a caller's key is still configured. */
  readonly isLive: (caller: PeerCaller) => boolean;
}

/** The events of a channel. */
export function eventRoutes({ streams, startTimer, isLive }: EventsPorts): Route<PeerCaller>[] {
  return [
    route({
      method: 'get',
      path: '/api/events',
      operationId: 'streamEvents',
      summary: 'Events of a channel, as server-sent events',
      description:
        'Messages `commit` and `contract`, whose data is a `LedgerEvent` and whose id is its cursor: in order, at least ' +
        'once, without a gap. Reconnect with Last-Event-ID, as every EventSource does; that counts more than `from`. A ' +
        'comment every ten seconds, with an id where it has moved on. The stream ends after ten minutes, when the key ' +
        'is no longer configured, or when the process stops: reconnect then. At most two streams a key, and twenty a process.',
      permit: CALLS_LEDGER,
      charge: 1,
      idempotency: 'none',
      looks: true,
      query: EventsQuery,
      requestHeaders: { 'Last-Event-ID': 'The id of the last message received.' },
      raw: true,
      responses: {
        200: {
          description: 'Until either side ends it. Each message has such an event as its data, in one line.',
          contentType: 'text/event-stream',
          schema: LedgerEvent,
        },
      },
      errors: ['INVALID_CURSOR', 'UNKNOWN_CHANNEL', 'UNKNOWN_CHAINCODE', 'RATE_LIMITED', 'LEDGER_UNAVAILABLE'],
      async handler(context) {
        const { query, caller, response } = context;
        const { channel, type, from } = query;
        const filter = { channel, types: type === undefined ? undefined : [type] };
        const start = startOf(context.header('last-event-id'), from);
        const opened = await streams.open(caller.bucket, filter, start);
        if (context.method === 'HEAD') {
          opened.end();
          response.writeHead(200, { 'Content-Type': 'text/event-stream' }).end();
          return;
        }
        const stopTimer = startTimer(() => opened.end(), STREAM_FOR_MS);
        const stream = eventStream(response, {
          startTimer,
          heartbeatMs: HEARTBEAT_MS,
          mostWaitingBytes: MOST_WAITING_BYTES,
          lastId() {
            if (isLive(caller)) return opened.cursor;
            opened.end();
            return undefined;
          },
          onEnd() {
            stopTimer();
            opened.end();
          },
        });
        void opened.run(stream);
      },
    }),
  ];
}

/** A reconnecting EventSource sends the query as at first, and the header. */
function startOf(lastEventId: string | undefined, from: string | undefined): EventStart {
  if (lastEventId !== undefined && lastEventId !== '')
    return { from: lastEventId, place: { in: 'header', pointer: '/Last-Event-ID' } };
  return { from, place: { in: 'query', pointer: '/from' } };
}
