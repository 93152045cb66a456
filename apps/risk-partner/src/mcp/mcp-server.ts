import {
  isSpecType,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
  type CacheHint,
  type CallToolResult,
  type GetPromptResult,
  type Result,
  type SpecTypes,
  type Tool as ToolDescription,
} from '@modelcontextprotocol/server';
import { AppError, problemOf } from '@sealgate/errors';
import type { Reply, Tool, ToolCall } from '@sealgate/http';
import type { RiskCaller } from '../domain/caller.ts';
import type { HeldResult, McpEra } from './mcp-endpoint.ts';
import { SIGNATURE_HEADER } from '../routes/partner.ts';
import { REVIEW_PROMPTS, type ReviewPrompt } from './prompts.ts';

export interface McpServerOptions {
  readonly tools: readonly Tool<RiskCaller>[];
  readonly call: ToolCall<RiskCaller>;
  readonly held: HeldResult;
  /** Reports an unexpected error, which the caller gets as INTERNAL. */
  readonly onBug: (error: unknown) => void;
}

const READ_ONLY = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

/** The resources and the tool that reads each. */
const RESOURCES = [
  {
    scheme: 'risk',
    tool: 'get_risk',
    name: 'risk',
    title: 'Risk',
    description: 'The metadata of one risk in its signed envelope, as get_risk returns it. Ids come from list_risks.',
  },
  {
    scheme: 'evidence',
    tool: 'get_evidence',
    name: 'evidence',
    title: 'Evidence',
    description:
      'The metadata of one item of evidence in its signed envelope, as get_evidence returns it. Ids come from list_evidence.',
  },
] as const;

const INSTRUCTIONS = [
  "Read-only access to one organisation's risk register: risks, assets, controls, policies, evidence, the coverage of framework requirements, and proofs that evidence is in a public ledger. Everything is metadata: no document, policy text or person's data is here, so say nothing about what documents contain.",
  'Call whoami first when you do not know what the key may see; a tool that is not listed is not allowed. Results contain only the rows this person may see, so an empty list does not mean that nothing exists.',
  'Lists are pages, oldest first; without limit a page has at most 50 items and 60,000 bytes. To continue, call the same tool with the same filters and cursor set to pagination.nextCursor, until that is null; never make up a cursor or an id: one that names nothing this person may see is NOT_FOUND, and an empty list means that the named row has no items. An argument that is null is absent. get_coverage and list_proofs name a snapshotId: pass it on to read several pages of one revision.',
  'An error is a result with isError whose JSON has code, status and detail, and errors with a pointer to each invalid argument: correct the arguments, wait on RATE_LIMITED, and do not repeat on FORBIDDEN or NOT_FOUND.',
  'Results are signed envelopes: quote ids and generatedAt, and do not change an envelope that somebody else will check. Its signature is evidenceSignature in _meta of the result; pass both on, and both to verify_envelope.',
].join('\n');

/** Lists that depend on roles are private and cached briefly; the others are the same for all callers. */
const OF_CALLER: CacheHint = { ttlMs: 60_000, cacheScope: 'private' };
const OF_ALL: CacheHint = { ttlMs: 3_600_000, cacheScope: 'public' };
/** Rows and permissions may change at any time. */
const NEVER: CacheHint = { ttlMs: 0, cacheScope: 'private' };

/** The SDK server for one message of one caller. */
export function mcpServer(options: McpServerOptions, era: McpEra, method: string): Server {
  const { tools, call, onBug } = options;
  const server = new Server(
    { name: 'sealgate-risk-partner', title: 'Sealgate risk register', version: '1.0.0' },
    {
      capabilities: { tools: {}, resources: {}, prompts: {} },
      instructions: INSTRUCTIONS,
      cacheHints: { 'server/discover': OF_ALL },
    },
  );
  // Earlier revisions have no cache hints.
  const cached = (hint: CacheHint) => (era === 'modern' ? hint : {});
  const allowed = () => tools.filter((tool) => tool.mayCall(call.caller));
  const methods = new Map<string, (request: unknown) => Result | Promise<Result>>([
    ['tools/list', listing('ListToolsRequest', () => ({ tools: allowed().map(describeTool), ...cached(OF_CALLER) }))],
    ['tools/call', (request) => callNamed(request, options)],
    ['resources/list', listing('ListResourcesRequest', () => ({ resources: [], ...cached(OF_ALL) }))],
    [
      'resources/templates/list',
      listing('ListResourceTemplatesRequest', () => ({ ...templatesOf(allowed()), ...cached(OF_CALLER) })),
    ],
    [
      'resources/read',
      taking('ReadResourceRequest', async ({ params }) => ({
        ...(await readResource(params.uri, options)),
        ...cached(NEVER),
      })),
    ],
    [
      'prompts/list',
      listing('ListPromptsRequest', () => ({ prompts: REVIEW_PROMPTS.map(describePrompt), ...cached(OF_ALL) })),
    ],
    [
      'prompts/get',
      withoutNulls(taking('GetPromptRequest', ({ params }) => promptFor(params.name, params.arguments ?? {}))),
    ],
  ]);
  const answer = methods.get(method);
  // Not by setRequestHandler: the SDK reports invalid parameters as an internal error there. Other methods are left to
  // the SDK, which answers its own and sets the status of unknown ones.
  if (answer !== undefined) server.fallbackRequestHandler = (request) => guarded(() => answer(request), onBug);
  return server;
}

/** The SDK sends the message of any error to the client, so unexpected errors are replaced and logged. */
async function guarded(answer: () => Result | Promise<Result>, onBug: (error: unknown) => void): Promise<Result> {
  try {
    return await answer();
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    throw new ProtocolError(ProtocolErrorCode.InternalError, refusalOf(error, onBug).message);
  }
}

/** Validates the parameters of a method. @throws ProtocolError InvalidParams. */
function taking<Name extends keyof SpecTypes, Answer>(name: Name, answer: (request: SpecTypes[Name]) => Answer) {
  const isFit = isSpecType[name];
  return (request: unknown): Answer => {
    if (isFit(request)) return answer(request);
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The parameters do not match MCP.');
  };
}

/**
 * The same for a list, which is one page, so no cursor is ours. Null and the empty string mean absent, as for tools.
 * @throws ProtocolError InvalidParams.
 */
function listing<Name extends keyof SpecTypes, Answer>(name: Name, answer: (request: SpecTypes[Name]) => Answer) {
  const answered = withoutNulls(taking(name, answer));
  return (request: unknown): Answer => {
    const { cursor } = Object(paramsOf(request)) as { cursor?: unknown };
    if (cursor === undefined || cursor === null || cursor === '') return answered(request);
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The cursor is not one of this list.');
  };
}

const paramsOf = (request: unknown): unknown => (request as { params?: unknown }).params;

/** Drops members of the parameters, and of `arguments` in them, that are null. */
function withoutNulls<Answer>(answer: (request: unknown) => Answer): (request: unknown) => Answer {
  const kept = (value: object) => Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null));
  return (request) => {
    const params = paramsOf(request);
    if (typeof params !== 'object' || params === null) return answer(request);
    const { arguments: args, ...others } = kept(params) as { arguments?: unknown };
    const isOpen = typeof args === 'object' && args !== null && !Array.isArray(args);
    const given = args === undefined ? {} : { arguments: isOpen ? kept(args) : args };
    return answer({ ...(request as object), params: { ...others, ...given } });
  };
}

function templatesOf(allowed: readonly Tool<RiskCaller>[]) {
  const shown = RESOURCES.filter(({ tool }) => allowed.some(({ name }) => name === tool));
  return {
    resourceTemplates: shown.map(({ scheme, name, title, description }) => ({
      uriTemplate: `${scheme}://{id}`,
      name,
      title,
      description,
      mimeType: 'application/json',
    })),
  };
}

const describePrompt = ({ name, title, description, arguments: args }: ReviewPrompt) => ({
  name,
  title,
  description,
  arguments: [...args],
});

function promptFor(name: string, args: Readonly<Record<string, string>>): GetPromptResult {
  const prompt = REVIEW_PROMPTS.find((one) => one.name === name);
  if (prompt === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no prompt ${name}.`);
  const missing = prompt.arguments.find((argument) => argument.required && args[argument.name] === undefined);
  if (missing !== undefined)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `The argument ${missing.name} is required.`);
  return {
    description: prompt.description,
    messages: [{ role: 'user', content: { type: 'text', text: prompt.text(args) } }],
  };
}

/** A result is an envelope or a problem: clients validate structured content against the schema in both cases. */
function describeTool({ name, title, description, inputSchema, outputSchema }: Tool<RiskCaller>): ToolDescription {
  return {
    name,
    title,
    description,
    // `toolFrom` makes object schemas of both.
    inputSchema: inputSchema as ToolDescription['inputSchema'],
    ...(outputSchema === undefined ? {} : { outputSchema: { type: 'object', anyOf: [outputSchema, PROBLEM] } }),
    annotations: READ_ONLY,
  };
}

const PROBLEM = {
  type: 'object',
  description: 'An error (RFC 9457); the result then has isError true.',
  properties: {
    code: { type: 'string', description: 'Stable error code.' },
    status: { type: 'integer', description: 'The HTTP status of the same error by REST.' },
    detail: { type: 'string' },
    errors: {
      type: 'array',
      description: 'The invalid arguments.',
      items: {
        type: 'object',
        properties: {
          in: { type: 'string', enum: ['arguments'] },
          pointer: { type: 'string', description: 'A JSON pointer (RFC 6901) into the arguments.' },
          detail: { type: 'string' },
        },
        required: ['in', 'pointer', 'detail'],
      },
    },
  },
  required: ['code', 'status', 'detail'],
};

/** Arguments that are not an object are refused like other invalid arguments; null means absent. */
function callNamed(request: unknown, options: McpServerOptions): Promise<CallToolResult> {
  const { name, arguments: sent } = Object(paramsOf(request)) as { name?: unknown; arguments?: unknown };
  const args = sent ?? {};
  const tool = options.tools.find((one) => one.name === name);
  if (tool === undefined)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool ${JSON.stringify(name)}.`);
  return callTool(tool, args, options);
}

function checkedArguments(args: unknown): Readonly<Record<string, unknown>> {
  if (typeof args === 'object' && args !== null && !Array.isArray(args)) return args as Record<string, unknown>;
  throw new AppError('INVALID_REQUEST', 'The arguments of a tool must be an object.', {
    faults: [{ in: 'arguments', pointer: '', detail: 'must be an object' }],
  });
}

async function callTool(
  tool: Tool<RiskCaller>,
  args: unknown,
  { call, onBug, held }: McpServerOptions,
): Promise<CallToolResult> {
  try {
    const reply = await tool.call(checkedArguments(args), call);
    return held.hold(jsonOf(reply), metaOf(reply));
  } catch (error) {
    const problem = problemOf(refusalOf(error, onBug), call.requestId);
    const structuredContent: Record<string, unknown> = { ...problem };
    return { content: [{ type: 'text', text: JSON.stringify(problem) }], structuredContent, isError: true };
  }
}

async function readResource(uri: string, { tools, call, onBug }: McpServerOptions) {
  const found = RESOURCES.find(({ scheme }) => uri.startsWith(`${scheme}://`));
  const tool = tools.find(({ name }) => name === found?.tool);
  const noResource = () => new ResourceNotFoundError(uri, 'There is no such resource.');
  if (found === undefined || tool === undefined) throw noResource();
  try {
    const reply = await tool.call({ id: uri.slice(`${found.scheme}://`.length) }, call);
    const meta = metaOf(reply);
    const contents = [{ uri, mimeType: 'application/json', text: jsonOf(reply).toString() }];
    return { contents, ...(meta !== undefined && { _meta: meta }) };
  } catch (error) {
    const { code, status, message } = refusalOf(error, onBug);
    if (code === 'NOT_FOUND') throw noResource();
    throw new ProtocolError(ProtocolErrorCode.InvalidRequest, message, { code, status });
  }
}

/** The signature of an envelope, for `verify_envelope`. */
function metaOf({ headers }: Reply): { evidenceSignature: string } | undefined {
  const evidenceSignature = headers?.[SIGNATURE_HEADER];
  return evidenceSignature === undefined ? undefined : { evidenceSignature };
}

function jsonOf({ body }: Reply): Buffer {
  if (body instanceof Buffer) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

function refusalOf(error: unknown, onBug: (error: unknown) => void): AppError {
  if (error instanceof AppError) return error;
  onBug(error);
  return new AppError('INTERNAL', 'An internal error occurred. It is logged under the id of this request.');
}
