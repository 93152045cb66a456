import { AppError } from '@sealgate/errors';
import { named, openObject, routeFor, type AuthRequest, type Route, type ToolCall } from '@sealgate/http';
import { Type } from '@sinclair/typebox';
import type { RiskCaller } from '../domain/caller.ts';
import type { ServerForMessage } from '../mcp/mcp-endpoint.ts';
import { BODY_MAX_BYTES } from './dashboard.ts';

const route = routeFor<RiskCaller>();

export const MCP_PATH = '/mcp';

/** Protected resource metadata of the tools (RFC 9728). */
export interface McpSignIn {
  /** The audience to ask for (RFC 8707): the public URL of `/mcp`. */
  readonly resource: string;
  readonly issuers: readonly string[];
  /** The scopes to ask for, if the operator names any. */
  readonly scopes: readonly string[];
}

export interface McpPorts {
  /** Absent: only API keys are accepted, and there is no metadata. */
  readonly mcpSignIn?: McpSignIn | undefined;
  /** The server for one call. */
  readonly serverFor: (call: ToolCall<RiskCaller>) => ServerForMessage | Promise<ServerForMessage>;
  /** Host names without port, and origins, both in lower case. */
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
}

/** The tool protocol: streamable HTTP without sessions. Each POST is authenticated, charged and answered on its own. */
export function mcpRoutes({ serverFor, allowedHosts, allowedOrigins, mcpSignIn }: McpPorts): Route<RiskCaller>[] {
  const admit = (request: AuthRequest) => requireKnownOrigin(request, { allowedHosts, allowedOrigins });
  // Loaded by the first message: the SDK and its schemas are a large part of the service's code.
  const load = () => import('../mcp/mcp-endpoint.ts');
  let endpoint: ReturnType<typeof load> | undefined;
  const mcp = route({
    method: 'post',
    path: MCP_PATH,
    operationId: 'mcp',
    summary: 'The tool protocol (MCP, streamable HTTP)',
    description:
      'One JSON-RPC message, answered by one JSON object; a client that accepts text/event-stream alone gets it as one event. Revision 2026-07-28 of MCP: the headers Mcp-Protocol-Version, Mcp-Method and Mcp-Name must match the body; a mismatch is a JSON-RPC error with status 400, and an unknown method one with status 404. Revisions 2024-11-05 to 2025-11-25 start with `initialize`. JSON-RPC errors are application/json; errors before JSON-RPC are problems.',
    tags: ['tools'],
    looks: true,
    permit: 'authenticated',
    charge: 1,
    idempotency: 'none',
    query: 'ignored',
    body: 'strict-json',
    describedAs: [{ body: JsonRpc }],
    bodyMaxBytes: BODY_MAX_BYTES,
    responses: {
      200: { description: 'A JSON-RPC response.', schema: JsonRpc },
      202: { description: 'The notification was accepted.' },
      400: { description: 'A JSON-RPC error of the message or its headers.', schema: JsonRpc },
      404: { description: 'A JSON-RPC error: no such method.', schema: JsonRpc },
    },
    errors: ['ORIGIN_NOT_ALLOWED', 'NOT_ACCEPTABLE', 'INVALID_REQUEST'],
    admit,
    async handler(context) {
      const { body, caller, requestId, traceparent, signal } = context;
      const asEvent = answeredType(context.header('accept')) === 'text/event-stream';
      if (Array.isArray(body))
        throw new AppError('INVALID_REQUEST', 'Send one message at a time: batches are not supported.');
      const { answerMessage } = await (endpoint ??= load());
      const server = await serverFor({ caller, requestId, traceparent, signal });
      return answerMessage({ message: body, header: (name) => context.header(name), server, asEvent });
    },
  });
  return [
    mcp,
    ...(allowedOrigins.length === 0 ? [] : [preflight(admit)]),
    ...(mcpSignIn === undefined ? [] : metadataRoutes(mcpSignIn)),
  ];
}

const METADATA_PATH = '/.well-known/oauth-protected-resource';

/** The path is appended to the well-known path (RFC 9728, section 3.1). */
export function metadataUrl({ resource }: McpSignIn): string {
  const { origin, pathname } = new URL(resource);
  return `${origin}${METADATA_PATH}${pathname}`;
}

const JsonRpc = named('JsonRpcMessage', openObject({ description: 'JSON-RPC 2.0, as MCP describes it.' }));

const Metadata = named(
  'ProtectedResourceMetadata',
  Type.Object({
    resource: Type.String(),
    authorization_servers: Type.Array(Type.String()),
    scopes_supported: Type.Array(Type.String()),
    bearer_methods_supported: Type.Array(Type.String()),
    resource_name: Type.String(),
  }),
);

/** Public, also for pages of other origins: tells clients where to sign in. */
function metadataRoutes({ resource, issuers, scopes }: McpSignIn): Route<RiskCaller>[] {
  const body = {
    resource,
    authorization_servers: [...issuers],
    // Permissions come from roles, not scopes; the default scopes make e-mail invitations work.
    scopes_supported: scopes.length > 0 ? [...scopes] : ['openid', 'email'],
    bearer_methods_supported: ['header'],
    resource_name: 'Sealgate risk tools',
  };
  const paths = [
    [METADATA_PATH, 'mcp_sign_in'],
    [`${METADATA_PATH}${MCP_PATH}`, 'mcp_sign_in_of_path'],
  ] as const;
  return paths.map(([path, operationId]) =>
    route({
      method: 'get',
      path,
      operationId,
      summary: 'The issuers of access tokens for the tools (RFC 9728)',
      tags: ['tools'],
      permit: 'open',
      charge: 'none',
      idempotency: 'none',
      query: 'ignored',
      responses: { 200: { description: 'The metadata.', schema: Metadata } },
      errors: [],
      handler: () => ({
        status: 200,
        headers: { 'Access-Control-Allow-Origin': '*', 'Cache-Control': 'public, max-age=300' },
        body,
      }),
    }),
  );
}

/** The CORS preflight. No other path answers it. */
function preflight(admit: NonNullable<Route<RiskCaller>['admit']>): Route<RiskCaller> {
  return route({
    method: 'options',
    path: MCP_PATH,
    operationId: 'mcp_preflight',
    summary: 'CORS preflight of the tool protocol',
    tags: ['tools'],
    permit: 'open',
    charge: 'none',
    idempotency: 'none',
    query: 'ignored',
    responses: { 204: { description: 'The origin is allowed.' } },
    errors: ['ORIGIN_NOT_ALLOWED'],
    admit,
    handler: (context) => ({ status: 204, headers: context.header('origin') === undefined ? ALLOW : PREFLIGHT }),
  });
}

const ALLOW = { Allow: 'POST, OPTIONS' };
const PREFLIGHT = {
  ...ALLOW,
  'Access-Control-Allow-Methods': 'POST',
  'Access-Control-Allow-Headers':
    'authorization, content-type, accept, mcp-protocol-version, mcp-method, mcp-name, mcp-session-id, last-event-id, x-request-id, traceparent, tracestate, baggage',
  'Access-Control-Max-Age': '7200',
};

const EXPOSED =
  'WWW-Authenticate, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id, Mcp-Session-Id, Mcp-Protocol-Version, Allow';

/**
 * Protects against DNS rebinding and calls by unknown web pages: these come with a foreign Host or their own Origin. An
 * allowed page may read every response, errors included. Browser credentials authenticate nothing here, so there is no
 * Access-Control-Allow-Credentials.
 * @throws AppError ORIGIN_NOT_ALLOWED.
 */
function requireKnownOrigin(
  request: AuthRequest,
  { allowedHosts, allowedOrigins }: Pick<McpPorts, 'allowedHosts' | 'allowedOrigins'>,
): Readonly<Record<string, string>> {
  const [host = ''] = request.header('host');
  const origins = request.header('origin');
  const [origin] = origins;
  const isKnownHost = allowedHosts.includes(host.toLowerCase().replace(/:\d+$/, ''));
  const isKnownOrigin = origin !== undefined && origins.length === 1 && allowedOrigins.includes(origin.toLowerCase());
  const vary = { Vary: 'Origin' };
  const headers = isKnownOrigin
    ? { ...vary, 'Access-Control-Allow-Origin': origin, 'Access-Control-Expose-Headers': EXPOSED }
    : vary;
  if (isKnownHost && (isKnownOrigin || origin === undefined)) return headers;
  throw new AppError('ORIGIN_NOT_ALLOWED', 'This Host or Origin may not use the tools.', { headers });
}

type Answered = 'application/json' | 'text/event-stream';

/**
 * The media type of the answer: JSON wherever Accept admits it (also without the header), else an event stream.
 * The most specific range decides on a type, and `q=0` excludes it (RFC 9110, section 12.5.1).
 * @throws AppError NOT_ACCEPTABLE if neither is admitted.
 */
function answeredType(accept: string | undefined): Answered {
  const ranges = (accept?.trim() || '*/*').split(',').map((range) => {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    return { name, isExcluded: parameters.some((one) => /^q=0(\.0{0,3})?$/.test(one)) };
  });
  const admits = (type: Answered): boolean => {
    const names = [type, type.replace(/\/.*/, '/*'), '*/*'];
    const deciding = names
      .map((name) => ranges.filter((range) => range.name === name))
      .find(({ length }) => length > 0);
    return deciding?.some(({ isExcluded }) => !isExcluded) === true;
  };
  if (admits('application/json')) return 'application/json';
  if (admits('text/event-stream')) return 'text/event-stream';
  throw new AppError('NOT_ACCEPTABLE', 'Accept must admit application/json or text/event-stream.');
}
