import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import {
  createMcpHandler,
  isLegacyRequest,
  isSpecType,
  ProtocolErrorCode,
  WebStandardStreamableHTTPServerTransport,
  type CallToolResult,
  type McpServer,
  type Server,
} from '@modelcontextprotocol/server';
import type { Reply } from '@sealgate/http';
import type { JsonValue } from '@sealgate/json';

/**
 * How a message states its protocol version: in each request since 2026-07-28 (modern), by `initialize` before
 * (legacy).
 */
export type McpEra = 'legacy' | 'modern';

/**
 * Makes the server for one message. There is no session, so callers share nothing. Tool results pass through `held`.
 */
export type ServerForMessage = (era: McpEra, method: string, held: HeldResult) => Server | McpServer;

interface McpMessage {
  /** Parsed as strict JSON; not yet checked to be JSON-RPC. */
  readonly message: JsonValue;
  /** A request header by its lower-case name. */
  readonly header: (name: string) => string | undefined;
  readonly server: ServerForMessage;
  /** Whether the client accepts a response only as an event stream: it gets one event. */
  readonly asEvent: boolean;
}

const MIRRORED_HEADERS = ['mcp-protocol-version', 'mcp-method', 'mcp-name'] as const;

/**
 * Answers one JSON-RPC message of any protocol revision with one body. The SDK decides the revision, compares headers
 * with the body, and sets the status; it sees only the headers it compares, never the key. A client that disconnects is
 * ignored: the work is bounded.
 */
export async function answerMessage({ message, header, server, asEvent }: McpMessage): Promise<Reply> {
  if (!isNarrow(message)) return TOO_WIDE;
  const held = new HeldResult();
  const request = new Request('http://localhost/mcp', { method: 'POST', headers: headersFor(header) });
  const method = methodOf(message);
  const isLegacy = await isLegacyRequest(request, message);
  const response = isLegacy
    ? await answerLegacy(request, message, server('legacy', method, held))
    : await answerModern(request, message, () => server('modern', method, held));
  const { status } = response;
  const body = response.body === null ? undefined : held.fillIn(await response.text());
  if (body !== undefined && asEvent && status === 200)
    return { status, contentType: 'text/event-stream', body: eventOf(body) };
  const contentType = response.headers.get('content-type') ?? 'application/json';
  return { status, contentType, ...(body !== undefined && { body }) };
}

/** JSON without white space is one line. */
const eventOf = (message: string | Buffer): Buffer =>
  Buffer.concat([Buffer.from('event: message\ndata: '), Buffer.from(message), Buffer.from('\n\n')]);

/** Random per process, so that no caller can send them. */
const [TEXT_MARK, VALUE_MARK] = [`text ${randomUUID()}`, `value ${randomUUID()}`];
const TEXT_PLACE = JSON.stringify(TEXT_MARK);
const VALUE_PLACE = JSON.stringify({ [VALUE_MARK]: true });

/**
 * Keeps the result of a tool from the SDK, which would parse and serialise each page several times: the SDK gets
 * placeholders, and the JSON is inserted into the message that it writes.
 */
export class HeldResult {
  #json: Buffer | undefined;

  /** A placeholder result for a JSON object (serialised without white space), as text and as structured content. */
  hold(json: Buffer, meta?: NonNullable<CallToolResult['_meta']>): CallToolResult {
    this.#json = json;
    const value = { content: [{ type: 'text' as const, text: TEXT_MARK }], structuredContent: { [VALUE_MARK]: true } };
    return meta === undefined ? value : { ...value, _meta: meta };
  }

  /** The message to send. A message without placeholders is returned unchanged: the SDK may have refused the result. */
  fillIn(message: string): string | Buffer {
    const textAt = message.indexOf(TEXT_PLACE);
    if (this.#json === undefined || textAt < 0) return message;
    const valueAt = message.indexOf(VALUE_PLACE);
    assert(valueAt > textAt, 'The structured content of a result follows its text.');
    const [head, middle, tail] = [
      message.slice(0, textAt),
      message.slice(textAt + TEXT_PLACE.length, valueAt),
      message.slice(valueAt + VALUE_PLACE.length),
    ];
    return Buffer.concat([
      Buffer.from(`${head}"`),
      escapedJson(this.#json),
      Buffer.from(`"${middle}`),
      this.#json,
      Buffer.from(tail),
    ]);
  }
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];

/**
 * Escapes a JSON text for a JSON string: it has no control characters, so only quotes and backslashes need escaping.
 */
function escapedJson(json: Buffer): Buffer {
  const escaped = Buffer.allocUnsafe(json.length * 2);
  let length = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at]!;
    if (byte === QUOTE || byte === BACKSLASH) escaped[length++] = BACKSLASH;
    escaped[length++] = byte;
  }
  return escaped.subarray(0, length);
}

/** Clients send a few dozen. Tool arguments are not counted: the SDK does not validate them. */
const MAX_VALUES = 500;
const TOO_WIDE: Reply = {
  status: 400,
  body: {
    jsonrpc: '2.0',
    id: null,
    error: {
      code: ProtocolErrorCode.InvalidRequest,
      message: `More than ${MAX_VALUES} values besides a tool's arguments.`,
    },
  },
};

/**
 * The SDK validates a message against its schemas several times, at microseconds per member: 200 KB of _meta took 140
 * ms.
 */
function isNarrow(message: JsonValue): boolean {
  const isToolCall = methodOf(message) === 'tools/call';
  const open: unknown[] = [message];
  let found = 0;
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    const names = Object.keys(value);
    found += names.length;
    if (found > MAX_VALUES) return false;
    for (const name of names)
      if (!isToolCall || name !== 'arguments') open.push((value as Readonly<Record<string, unknown>>)[name]);
  }
  return true;
}

function headersFor(header: McpMessage['header']): Headers {
  // The route has checked both as HTTP demands; the SDK compares them literally.
  const headers = new Headers({ 'content-type': 'application/json', accept: 'application/json, text/event-stream' });
  for (const name of MIRRORED_HEADERS) {
    const value = header(name);
    if (value !== undefined) headers.set(name, value);
  }
  return headers;
}

function methodOf(message: JsonValue): string {
  const { method } = Object(message) as { method?: unknown };
  return typeof method === 'string' ? method : '';
}

async function answerModern(request: Request, message: JsonValue, server: () => Server | McpServer): Promise<Response> {
  // No notifications are sent here, and an open stream does not fit a service that charges per request.
  const handler = createMcpHandler(server, { legacy: 'reject', maxSubscriptions: 0 });
  const response = await handler.fetch(request, { parsedBody: message });
  if (methodOf(message) !== 'subscriptions/listen' || response.status !== 200) return response;
  return errorResponse(404, message, { code: ProtocolErrorCode.MethodNotFound, message: 'Method not found' });
}

async function answerLegacy(request: Request, message: JsonValue, server: Server | McpServer): Promise<Response> {
  if (methodOf(message) === 'initialize' && !isSpecType.InitializeRequest(message)) {
    const error = { code: ProtocolErrorCode.InvalidParams, message: 'The parameters do not match MCP.' };
    return errorResponse(200, message, error);
  }
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  // Not closed: closing would fail open requests, and this response is the last.
  return transport.handleRequest(request, { parsedBody: message });
}

function errorResponse(status: number, message: JsonValue, error: { code: number; message: string }): Response {
  const { id = null } = Object(message) as { id?: JsonValue };
  return Response.json({ jsonrpc: '2.0', id, error }, { status });
}
