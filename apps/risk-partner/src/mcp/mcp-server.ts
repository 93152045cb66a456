import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  ErrorCode,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  type CallToolResult,
  type GetPromptResult,
  type ServerResult,
  type Tool as ToolDescription,
} from '@modelcontextprotocol/sdk/types.js';
import { AppError, problemOf } from '@sealgate/errors';
import type { Reply, Tool, ToolCall } from '@sealgate/http';
import type { RiskCaller } from '../domain/caller.ts';
import { REVIEW_PROMPTS, type ReviewPrompt } from './prompts.ts';

export interface McpServerOptions {
  readonly tools: readonly Tool<RiskCaller>[];
  readonly call: ToolCall<RiskCaller>;
  /** Told of what no caller can mend; it is answered as INTERNAL. */
  readonly onBug: (error: unknown) => void;
}

const READ_ONLY = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
/** MCP, "Resources": what cannot be found. */
const RESOURCE_NOT_FOUND = -32002;

/** Resources and the tool that reads each. */
const RESOURCES = [
  { scheme: 'risk', tool: 'get_risk', name: 'Risk', description: 'The metadata of one risk, in its envelope' },
  { scheme: 'evidence', tool: 'get_evidence', name: 'Evidence', description: 'The metadata of one item of evidence' },
] as const;

/** The SDK's server for one request of one caller: nothing outlives the request. */
export function mcpServer({ tools, call, onBug }: McpServerOptions): Server {
  const info = { name: 'sealgate-risk-partner', version: '1.0.0' };
  const server = new Server(info, { capabilities: { tools: {}, resources: {}, prompts: {} } });
  const allowed = tools.filter((tool) => tool.mayCall(call.caller));
  const methods = new Map<string, (request: unknown) => ServerResult | Promise<ServerResult>>([
    ['tools/list', taking(ListToolsRequestSchema, () => ({ tools: allowed.map(describeTool) }))],
    ['tools/call', (request) => callNamed(request, { tools, call, onBug })],
    ['resources/list', taking(ListResourcesRequestSchema, () => ({ resources: [] }))],
    ['resources/templates/list', taking(ListResourceTemplatesRequestSchema, () => templatesOf(allowed))],
    [
      'resources/read',
      taking(ReadResourceRequestSchema, ({ params }) => readResource(params.uri, { tools, call, onBug })),
    ],
    ['prompts/list', taking(ListPromptsRequestSchema, () => ({ prompts: REVIEW_PROMPTS.map(describePrompt) }))],
    ['prompts/get', taking(GetPromptRequestSchema, ({ params }) => promptFor(params.name, params.arguments ?? {}))],
  ]);
  // Not by setRequestHandler: the SDK answers parameters that it cannot parse as if something were broken here.
  server.fallbackRequestHandler = async (request) => {
    const method = methods.get(request.method);
    if (method === undefined) throw new McpError(ErrorCode.MethodNotFound, 'There is no such method.');
    return method(request);
  };
  return server;
}

interface Parsing<Request> {
  safeParse(request: unknown): { success: true; data: Request } | { success: false };
}

/** A method that is only asked with parameters as MCP has them. @throws McpError InvalidParams for others. */
function taking<Request, Answer>(schema: Parsing<Request>, answer: (request: Request) => Answer) {
  return (request: unknown): Answer => {
    const parsed = schema.safeParse(request);
    if (!parsed.success) throw new McpError(ErrorCode.InvalidParams, 'The parameters are not as MCP has them.');
    return answer(parsed.data);
  };
}

function templatesOf(allowed: readonly Tool<RiskCaller>[]) {
  const shown = RESOURCES.filter(({ tool }) => allowed.some(({ name }) => name === tool));
  return {
    resourceTemplates: shown.map(({ scheme, name, description }) => ({
      uriTemplate: `${scheme}://{id}`,
      name,
      description,
      mimeType: 'application/json',
    })),
  };
}

const describePrompt = ({ name, description, arguments: args }: ReviewPrompt) => ({
  name,
  description,
  arguments: [...args],
});

function promptFor(name: string, args: Readonly<Record<string, string>>): GetPromptResult {
  const prompt = REVIEW_PROMPTS.find((one) => one.name === name);
  if (prompt === undefined) throw new McpError(ErrorCode.InvalidParams, `There is no prompt ${name}.`);
  const missing = prompt.arguments.find((argument) => argument.required && args[argument.name] === undefined);
  if (missing !== undefined) throw new McpError(ErrorCode.InvalidParams, `The argument ${missing.name} is required.`);
  return {
    description: prompt.description,
    messages: [{ role: 'user', content: { type: 'text', text: prompt.text(args) } }],
  };
}

/** An answer is the envelope or a problem: clients hold structured content against the schema in both cases. */
function describeTool({ name, description, inputSchema, outputSchema }: Tool<RiskCaller>): ToolDescription {
  return {
    name,
    description,
    // The library makes object schemas of both.
    inputSchema: inputSchema as ToolDescription['inputSchema'],
    ...(outputSchema === undefined ? {} : { outputSchema: { type: 'object', anyOf: [outputSchema, PROBLEM] } }),
    annotations: READ_ONLY,
  };
}

const PROBLEM = {
  type: 'object',
  description: 'A refusal (RFC 9457); the result then has isError true.',
  properties: { code: { type: 'string' }, status: { type: 'integer' }, detail: { type: 'string' } },
  required: ['code', 'status', 'detail'],
};

/** Arguments that are no object are refused like any others that a tool does not take. */
function callNamed(request: unknown, options: McpServerOptions): Promise<CallToolResult> {
  const { name, arguments: args = {} } = (request as { params?: { name?: unknown; arguments?: unknown } }).params ?? {};
  const tool = options.tools.find((one) => one.name === name);
  if (tool === undefined) throw new McpError(ErrorCode.InvalidParams, `There is no tool ${JSON.stringify(name)}.`);
  return callTool(tool, args, options);
}

function checkedArguments(args: unknown): Readonly<Record<string, unknown>> {
  if (typeof args === 'object' && args !== null && !Array.isArray(args)) return args as Record<string, unknown>;
  throw new AppError('INVALID_REQUEST', 'The arguments of a tool are an object.');
}

async function callTool(
  tool: Tool<RiskCaller>,
  args: unknown,
  { call, onBug }: McpServerOptions,
): Promise<CallToolResult> {
  try {
    const text = textOf(await tool.call(checkedArguments(args), call));
    return { content: [{ type: 'text', text }], structuredContent: JSON.parse(text) as Record<string, unknown> };
  } catch (error) {
    const problem = problemOf(refusalOf(error, onBug), call.requestId);
    const structuredContent: Record<string, unknown> = { ...problem };
    return { content: [{ type: 'text', text: JSON.stringify(problem) }], structuredContent, isError: true };
  }
}

async function readResource(uri: string, { tools, call, onBug }: McpServerOptions) {
  const found = RESOURCES.find(({ scheme }) => uri.startsWith(`${scheme}://`));
  const tool = tools.find(({ name }) => name === found?.tool);
  const noResource = () => new McpError(RESOURCE_NOT_FOUND, 'There is no such resource.', { uri });
  if (found === undefined || tool === undefined) throw noResource();
  try {
    const text = textOf(await tool.call({ id: uri.slice(`${found.scheme}://`.length) }, call));
    return { contents: [{ uri, mimeType: 'application/json', text }] };
  } catch (error) {
    const { code, status, message } = refusalOf(error, onBug);
    if (code === 'NOT_FOUND') throw noResource();
    throw new McpError(ErrorCode.InvalidRequest, message, { code, status });
  }
}

function textOf({ body }: Reply): string {
  if (body instanceof Buffer) return body.toString('utf8');
  return typeof body === 'string' ? body : JSON.stringify(body);
}

function refusalOf(error: unknown, onBug: (error: unknown) => void): AppError {
  if (error instanceof AppError) return error;
  onBug(error);
  return new AppError('INTERNAL', 'Something went wrong here. It has been logged under the id of this request.');
}
