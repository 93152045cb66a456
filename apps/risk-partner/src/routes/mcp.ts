import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { AppError } from '@sealgate/errors';
import { routeFor, type AuthRequest, type Route, type Tool } from '@sealgate/http';
import type { RiskCaller } from '../domain/caller.ts';
import { mcpServer } from '../mcp/mcp-server.ts';
import { BODY_MAX_BYTES } from './dashboard.ts';

const route = routeFor<RiskCaller>();

export interface McpPorts {
  readonly tools: readonly Tool<RiskCaller>[];
  /** Host names without port, and origins, both in lower case. */
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  /** Told of what no caller can mend. */
  readonly onBug: (error: unknown, requestId: string) => void;
}

/** The tool protocol: streamable HTTP without sessions. Each POST is authenticated, charged and answered by itself. */
export function mcpRoutes({ tools, allowedHosts, allowedOrigins, onBug }: McpPorts): Route<RiskCaller>[] {
  const mcp = route({
    method: 'post',
    path: '/mcp',
    operationId: 'mcp',
    summary: 'The tool protocol (MCP, streamable HTTP)',
    tags: ['tools'],
    permit: 'authenticated',
    charge: 1,
    idempotency: 'none',
    query: 'ignored',
    body: 'strict-json',
    bodyMaxBytes: BODY_MAX_BYTES,
    responses: {
      200: { description: 'A JSON-RPC response.', contentType: 'application/json' },
      202: { description: 'A notification was taken.' },
    },
    errors: ['ORIGIN_NOT_ALLOWED', 'NOT_ACCEPTABLE', 'INVALID_REQUEST'],
    raw: true,
    admit: (request) => requireKnownOrigin(request, { allowedHosts, allowedOrigins }),
    async handler(context) {
      const { body, caller, requestId, traceparent, signal, request, response } = context;
      requireAccept(context.header('accept'));
      // The SDK looks for the types letter by letter.
      request.headers.accept = MCP_TYPES.join(', ');
      if (Array.isArray(body)) throw new AppError('INVALID_REQUEST', 'One message at a time: batches are not taken.');
      const call = { caller, requestId, traceparent, signal };
      const server = mcpServer({ tools, call, onBug: (error) => onBug(error, requestId) });
      const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
      // A client that goes away must not leave a promise behind that nobody settles.
      response.once('close', () => void server.close());
      await server.connect(transport);
      await transport.handleRequest(request, response, body);
    },
  });
  return [mcp];
}

/**
 * A web page that has been tricked into calling this address comes with its own Origin, or with a Host that is not ours.
 * @throws AppError ORIGIN_NOT_ALLOWED.
 */
function requireKnownOrigin(
  request: AuthRequest,
  { allowedHosts, allowedOrigins }: Pick<McpPorts, 'allowedHosts' | 'allowedOrigins'>,
): void {
  const [host = ''] = request.header('host');
  const origins = request.header('origin');
  const isKnownHost = allowedHosts.includes(host.toLowerCase().replace(/:\d+$/, ''));
  const areKnown = origins.every((origin) => allowedOrigins.includes(origin.toLowerCase()));
  if (!isKnownHost || !areKnown) throw new AppError('ORIGIN_NOT_ALLOWED', 'This Host or Origin may not use the tools.');
}

const MCP_TYPES = ['application/json', 'text/event-stream'];

/** @throws AppError NOT_ACCEPTABLE unless both types are named, in any case and with any parameters. */
function requireAccept(accept = ''): void {
  const named = accept.split(',').map((range) => range.split(';')[0]!.trim().toLowerCase());
  if (MCP_TYPES.every((type) => named.includes(type))) return;
  throw new AppError('NOT_ACCEPTABLE', 'Accept must name application/json and text/event-stream.');
}
