import { SHORTEST_KEY_LENGTH } from './redact.ts';
import { safeText } from './safe-fields.ts';

/**
 * What is told of one request: a closed set, filled as the request goes and written once at its end.
 *
 * There is no place for a body, a header, a query string or a key. Whatever a sender can choose (`requestId`) is searched
 * for keys all the same.
 */
export interface RequestRecord {
  method: string;
  /** The template (`/{networkId}`), never the URL; `none` where no route matched. */
  route: string;
  status: number;
  durationMs: number;
  requestId: string;
  /** W3C trace id, 32 hex digits. */
  traceId?: string;
  /** The problem code of a refusal. */
  code?: string;
  keyId?: string;
  orgId?: string;
  networkId?: string;
  environment?: string;
  /** Where a request came from; for requests that nobody could be found for. */
  clientAddress?: string;
  bytesIn?: number;
  bytesOut?: number;
  /** How many records it would have written. */
  records?: number;
  strippedFields?: number;
  eventId?: string;
  /** True where a kept answer was sent again. */
  replayed?: boolean;
  /** What a decision came to (`allow`, `deny`, `committed`, `unknown`), from a closed set of the surface. */
  outcome?: string;
  /** The MCP tool that was called. */
  tool?: string;
}

/** Takes one record for each request, at its end. */
export interface RequestLog {
  /** Renders the record at once (it may be reused afterwards). Never throws and never waits. */
  write(record: RequestRecord): void;
}

/**
 * The line of a request: the members of `RequestRecord` and no others, in their order, without keys. One literal, since
 * `JSON.stringify` prints an object that was put together piece by piece at twice the cost.
 */
export function requestLine(time: string, service: string, record: RequestRecord): Readonly<Record<string, unknown>> {
  return {
    time,
    level: 'info',
    service,
    event: 'request',
    method: textOf(record.method),
    route: textOf(record.route),
    status: record.status,
    durationMs: record.durationMs >= 0 ? Math.round(record.durationMs * 1000) / 1000 : null,
    requestId: textOf(record.requestId),
    traceId: textOf(record.traceId),
    code: textOf(record.code),
    keyId: textOf(record.keyId),
    orgId: textOf(record.orgId),
    networkId: textOf(record.networkId),
    environment: textOf(record.environment),
    clientAddress: textOf(record.clientAddress),
    bytesIn: record.bytesIn,
    bytesOut: record.bytesOut,
    records: record.records,
    strippedFields: record.strippedFields,
    eventId: textOf(record.eventId),
    replayed: record.replayed,
    outcome: textOf(record.outcome),
    tool: textOf(record.tool),
  };
}

function textOf(text: string | undefined): string | undefined {
  return text === undefined || text.length < SHORTEST_KEY_LENGTH ? text : safeText(text);
}
