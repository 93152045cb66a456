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

/** How the revision of a message carries its version: in each request since 2026-07-28, by `initialize` before. */
export type McpEra = 'legacy' | 'modern';

/**
 * Makes the server that answers one message. Nothing outlives it, so there is nothing to share between callers. What its
 * tool answers goes through `held`.
 */
export type ServerForMessage = (era: McpEra, method: string, held: HeldResult) => Server | McpServer;

export interface McpMessage {
  /** Has passed the strict parser; whether it is JSON-RPC is found out here. */
  readonly message: JsonValue;
  /** The value of a header of the request, by its name in lower case. */
  readonly header: (name: string) => string | undefined;
  readonly server: ServerForMessage;
}

const MIRRORED_HEADERS = ['mcp-protocol-version', 'mcp-method', 'mcp-name'] as const;

/**
 * Answers one JSON-RPC message of any revision by one body, by the SDK's rules: which revision it is of, whether its headers
 * say what its body says, and with which status. The SDK sees neither the key nor any header but those it compares. A client
 * that goes away is not waited for by anything: what a server does here is bounded and ends by itself.
 */
export async function answerMessage({ message, header, server }: McpMessage): Promise<Reply> {
  if (!isNarrow(message)) return TOO_WIDE;
  const held = new HeldResult();
  const request = new Request('http://localhost/mcp', { method: 'POST', headers: headersFor(header) });
  const method = methodOf(message);
  const isLegacy = await isLegacyRequest(request, message);
  const response = isLegacy
    ? await answerLegacy(request, message, server('legacy', method, held))
    : await answerModern(request, message, () => server('modern', method, held));
  const body = response.body === null ? {} : { body: held.fillIn(await response.text()) };
  return { status: response.status, contentType: response.headers.get('content-type') ?? 'application/json', ...body };
}

/** Nobody outside of this process knows them, so nothing that a caller sends is taken for them. */
const [TEXT_MARK, VALUE_MARK] = [`text ${randomUUID()}`, `value ${randomUUID()}`];
const TEXT_PLACE = JSON.stringify(TEXT_MARK);
const VALUE_PLACE = JSON.stringify({ [VALUE_MARK]: true });

/**
 * The answer of a tool, kept back from the SDK: that would read and write each value of a page several times. The SDK is
 * given marks, and what stands for them is put into the message that it has written.
 */
export class HeldResult {
  #json: Buffer | undefined;

  /** A result whose text is this JSON object, without space between its tokens, and whose structured content is its value. */
  hold(json: Buffer): CallToolResult {
    this.#json = json;
    return { content: [{ type: 'text', text: TEXT_MARK }], structuredContent: { [VALUE_MARK]: true } };
  }

  /** The message as it is sent. One that holds none of the marks is handed back: the SDK may have refused the result. */
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

/** A JSON text as it stands within a JSON string: it has no control characters, so two bytes alone have to be escaped. */
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

/** Clients send a few dozen. A tool's arguments are not counted: the SDK leaves them alone. */
const MAX_VALUES = 500;
const TOO_WIDE: Reply = {
  status: 400,
  body: {
    jsonrpc: '2.0',
    id: null,
    error: {
      code: ProtocolErrorCode.InvalidRequest,
      message: `More than ${MAX_VALUES} values beside a tool's arguments.`,
    },
  },
};

/** The SDK holds a message against its schemas several times, at microseconds a member: 200 KB of _meta took 140 ms. */
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
  // Both were checked before, by the letter of HTTP; the SDK compares letters.
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
  // Nothing here changes by notification, and a stream that stays open has no place in a service that charges by request.
  const handler = createMcpHandler(server, { legacy: 'reject', maxSubscriptions: 0 });
  const response = await handler.fetch(request, { parsedBody: message });
  if (methodOf(message) !== 'subscriptions/listen' || response.status !== 200) return response;
  return errorResponse(404, message, { code: ProtocolErrorCode.MethodNotFound, message: 'Method not found' });
}

async function answerLegacy(request: Request, message: JsonValue, server: Server | McpServer): Promise<Response> {
  if (methodOf(message) === 'initialize' && !isSpecType.InitializeRequest(message)) {
    const error = { code: ProtocolErrorCode.InvalidParams, message: 'The parameters are not as MCP has them.' };
    return errorResponse(200, message, error);
  }
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  // Not closed: that would make an error for requests still open, and the answer here is the last of them.
  return transport.handleRequest(request, { parsedBody: message });
}

function errorResponse(status: number, message: JsonValue, error: { code: number; message: string }): Response {
  const { id = null } = Object(message) as { id?: JsonValue };
  return Response.json({ jsonrpc: '2.0', id, error }, { status });
}
