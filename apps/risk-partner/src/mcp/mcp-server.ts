import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  CallToolRequestSchema,
  ErrorCode,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  type CallToolResult,
  type Tool as ToolDescription,
} from '@modelcontextprotocol/sdk/types.js';
import { AppError, problemOf } from '@sealgate/errors';
import type { Reply, Tool, ToolCall } from '@sealgate/http';
import type { RiskCaller } from '../domain/caller.ts';
import { REVIEW_PROMPTS } from './prompts.ts';

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
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: allowed.map(describeTool) }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const tool = tools.find(({ name }) => name === params.name);
    if (tool === undefined) throw new McpError(ErrorCode.InvalidParams, `There is no tool ${params.name}.`);
    return callTool(tool, params.arguments ?? {}, { call, onBug });
  });
  server.setRequestHandler(ListResourcesRequestSchema, () => ({ resources: [] }));
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: RESOURCES.filter(({ tool }) => allowed.some(({ name }) => name === tool)).map(
      ({ scheme, name, description }) => ({
        uriTemplate: `${scheme}://{id}`,
        name,
        description,
        mimeType: 'application/json',
      }),
    ),
  }));
  server.setRequestHandler(ReadResourceRequestSchema, ({ params }) => readResource(params.uri, { tools, call, onBug }));
  server.setRequestHandler(ListPromptsRequestSchema, () => ({
    prompts: REVIEW_PROMPTS.map(({ name, description, arguments: args }) => ({
      name,
      description,
      arguments: [...args],
    })),
  }));
  server.setRequestHandler(GetPromptRequestSchema, ({ params }) => {
    const prompt = REVIEW_PROMPTS.find(({ name }) => name === params.name);
    const args = params.arguments ?? {};
    const missing = prompt?.arguments.find(({ name, required }) => required && args[name] === undefined);
    if (prompt === undefined) throw new McpError(ErrorCode.InvalidParams, `There is no prompt ${params.name}.`);
    if (missing !== undefined) throw new McpError(ErrorCode.InvalidParams, `The argument ${missing.name} is required.`);
    const content = { type: 'text' as const, text: prompt.text(args) };
    return { description: prompt.description, messages: [{ role: 'user' as const, content }] };
  });
  return server;
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

type Calling = Pick<McpServerOptions, 'call' | 'onBug'>;

async function callTool(
  tool: Tool<RiskCaller>,
  args: Readonly<Record<string, unknown>>,
  { call, onBug }: Calling,
): Promise<CallToolResult> {
  try {
    const text = textOf(await tool.call(args, call));
    return { content: [{ type: 'text', text }], structuredContent: JSON.parse(text) as Record<string, unknown> };
  } catch (error) {
    const problem = problemOf(refusalOf(error, onBug), call.requestId);
    const structuredContent: Record<string, unknown> = { ...problem };
    return { content: [{ type: 'text', text: JSON.stringify(problem) }], structuredContent, isError: true };
  }
}

async function readResource(uri: string, { tools, call, onBug }: Omit<McpServerOptions, never>) {
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
