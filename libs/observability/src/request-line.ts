import { SHORTEST_KEY_LENGTH } from './redact.ts';
import { renderText } from './render-fields.ts';

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

/** Printable ASCII without the quote and the backslash: a text that is its own JSON. */
const PLAIN = /^[ !#-[\]-~]*$/;

/**
 * Renders the records of one service, each as one JSON object without a line end.
 *
 * Concatenation, because `JSON.stringify` of the same record costs several times as much and this runs once for every
 * request. Members come in the order of `RequestRecord`.
 */
export function requestLinePrinter(service: string): (timeText: string, record: RequestRecord) => string {
  const opening = `","level":"info","service":${renderText(service)},"event":"request","method":`;
  return (timeText, record) => {
    let line = `{"time":"${timeText}${opening}${quoted(record.method)},"route":${quoted(record.route)}`;
    line += `,"status":${wholeNumber(record.status)},"durationMs":${milliseconds(record.durationMs)}`;
    line += `,"requestId":${quoted(record.requestId)}`;
    return line + whoAndWhy(record) + howMuch(record) + whatCameOfIt(record) + '}';
  };
}

function whoAndWhy(record: RequestRecord): string {
  let text = '';
  if (record.traceId !== undefined) text += `,"traceId":${quoted(record.traceId)}`;
  if (record.code !== undefined) text += `,"code":${quoted(record.code)}`;
  if (record.keyId !== undefined) text += `,"keyId":${quoted(record.keyId)}`;
  if (record.orgId !== undefined) text += `,"orgId":${quoted(record.orgId)}`;
  if (record.networkId !== undefined) text += `,"networkId":${quoted(record.networkId)}`;
  if (record.environment !== undefined) text += `,"environment":${quoted(record.environment)}`;
  if (record.clientAddress !== undefined) text += `,"clientAddress":${quoted(record.clientAddress)}`;
  return text;
}

function howMuch(record: RequestRecord): string {
  let text = '';
  if (record.bytesIn !== undefined) text += `,"bytesIn":${wholeNumber(record.bytesIn)}`;
  if (record.bytesOut !== undefined) text += `,"bytesOut":${wholeNumber(record.bytesOut)}`;
  if (record.records !== undefined) text += `,"records":${wholeNumber(record.records)}`;
  if (record.strippedFields !== undefined) text += `,"strippedFields":${wholeNumber(record.strippedFields)}`;
  return text;
}

function whatCameOfIt(record: RequestRecord): string {
  let text = '';
  if (record.eventId !== undefined) text += `,"eventId":${quoted(record.eventId)}`;
  if (record.replayed !== undefined) text += record.replayed ? ',"replayed":true' : ',"replayed":false';
  if (record.outcome !== undefined) text += `,"outcome":${quoted(record.outcome)}`;
  if (record.tool !== undefined) text += `,"tool":${quoted(record.tool)}`;
  return text;
}

function quoted(text: string): string {
  return text.length < SHORTEST_KEY_LENGTH && PLAIN.test(text) ? `"${text}"` : renderText(text);
}

function wholeNumber(value: number): string {
  return Number.isSafeInteger(value) ? String(value) : 'null';
}

/** At most three fraction digits, put together from whole numbers: printing a double takes several times as long. */
function milliseconds(durationMs: number): string {
  const micros = Math.round(durationMs * 1000);
  if (!(micros >= 0 && micros <= Number.MAX_SAFE_INTEGER)) return 'null';
  const whole = Math.floor(micros / 1000);
  const rest = micros - whole * 1000;
  if (rest === 0) return String(whole);
  return `${whole}.${rest < 10 ? '00' : rest < 100 ? '0' : ''}${rest}`;
}
