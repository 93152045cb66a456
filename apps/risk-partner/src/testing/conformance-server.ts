import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
  type CallToolResult,
  type ClientCapabilities,
  type GetPromptResult,
  type InputRequests,
  type InputRequiredResult,
  type ReadResourceResult,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server';
import type { McpEra } from '../mcp/mcp-endpoint.ts';

/** What the MCP conformance suite requests by name. The suite defines the expected responses. */

/** Minimal media: one pixel, and silence. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg==';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';

const text = (said: string) => ({ type: 'text', text: said }) as const;
const image = { type: 'image', data: PNG, mimeType: 'image/png' } as const;
const embedded = (uri: string) =>
  ({ type: 'resource', resource: { uri, mimeType: 'text/plain', text: 'Embedded.' } }) as const;

const state = createRequestStateCodec<{ readonly round: number }>({ key: Buffer.alloc(32, 7) });

/** An elicitation with one answer of this name. */
const ask = (member: string, type: 'string' | 'boolean' = 'string') =>
  inputRequired.elicit({
    message: `Which ${member}?`,
    requestedSchema: {
      type: 'object',
      properties: { [member]: type === 'string' ? { type: 'string' } : { type: 'boolean' } },
      required: [member],
    },
  });
const say = inputRequired.createMessage({ messages: [{ role: 'user', content: text('Greet.') }], maxTokens: 16 });

type ToolAnswer = CallToolResult | InputRequiredResult;
type Call = (context: ServerContext['mcpReq']) => ToolAnswer | Promise<ToolAnswer>;

const saying = (said: string): CallToolResult => ({ content: [text(said)] });

/** Repeats the elicitation until all answers are present. */
const asking =
  (inputRequests: InputRequests): Call =>
  ({ inputResponses = {} }) =>
    Object.keys(inputRequests).every((name) => isAnswered(inputResponses, name))
      ? saying('Thank you.')
      : inputRequired({ inputRequests });

/** A request counts as answered if it was accepted with content; the other kinds cannot be declined. */
const isAnswered = (responses: NonNullable<ServerContext['mcpReq']['inputResponses']>, name: string): boolean => {
  const response = responses[name] as { readonly action?: string; readonly content?: object } | undefined;
  if (response?.action === undefined) return response !== undefined;
  return Object.values(acceptedContent(responses, name) ?? {}).some((value) => typeof value === 'string');
};

/** Asks once per round; the client keeps the round number, under a MAC. */
const askingInRounds =
  (...rounds: readonly InputRequests[]): Call =>
  async ({ requestState, inputResponses }) => {
    const round = inputResponses === undefined ? 0 : (requestState<{ round: number }>()?.round ?? 0);
    const inputRequests = rounds[round];
    if (inputRequests === undefined) return saying('state-ok integrity-ok');
    return inputRequired({ inputRequests, requestState: await state.mint({ round: round + 1 }) });
  };

const TOOLS: Readonly<Record<string, Call>> = {
  test_simple_text: () => saying('This is a simple text response for testing.'),
  test_image_content: () => ({ content: [image] }),
  test_audio_content: () => ({ content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] }),
  test_embedded_resource: () => ({ content: [embedded('test://embedded-resource')] }),
  test_multiple_content_types: () => ({
    content: [text('Three kinds:'), image, embedded('test://mixed-content-resource')],
  }),
  test_error_handling: () => ({ ...saying('This tool intentionally returns an error for testing'), isError: true }),
  async test_tool_with_progress({ _meta, notify }) {
    const { progressToken } = _meta ?? {};
    for (const progress of progressToken === undefined ? [] : [0, 50, 100])
      await notify({
        method: 'notifications/progress',
        params: { progressToken: progressToken!, progress, total: 100 },
      });
    return saying('Done.');
  },
  json_schema_2020_12_tool: () => saying('Called.'),
  test_missing_capability: asking({ greeting: say }),
  test_streaming_elicitation: () => saying('No request of the server is on this stream.'),
  async test_logging_tool({ log }) {
    await log('info', 'Only where the request set a level.');
    return saying('Logged.');
  },
  test_input_required_result_elicitation: asking({ user_name: ask('name') }),
  test_input_required_result_sampling: asking({ capital_question: say }),
  test_input_required_result_list_roots: asking({ client_roots: inputRequired.listRoots() }),
  test_input_required_result_request_state: askingInRounds({ confirm: ask('ok', 'boolean') }),
  test_input_required_result_multiple_inputs: askingInRounds({
    user_name: ask('name'),
    greeting: say,
    client_roots: inputRequired.listRoots(),
  }),
  test_input_required_result_multi_round: askingInRounds({ step1: ask('name') }, { step2: ask('color') }),
  test_input_required_result_tampered_state: askingInRounds({ confirm: ask('ok', 'boolean') }),
  test_input_required_result_capabilities({ envelope, inputResponses }) {
    // The SDK's envelope type omits its own keys.
    const declared = Object(Object(envelope)[CLIENT_CAPABILITIES_META_KEY]) as ClientCapabilities;
    const inputRequests = {
      ...(declared.elicitation !== undefined && { user_name: ask('name') }),
      ...(declared.sampling !== undefined && { greeting: say }),
      ...(declared.roots !== undefined && { client_roots: inputRequired.listRoots() }),
    };
    if (inputResponses !== undefined || Object.keys(inputRequests).length === 0) return saying('Nothing to ask.');
    return inputRequired({ inputRequests });
  },
};

/** Keywords of JSON Schema 2020-12 that a server must preserve. */
const SCHEMA_2020_12 = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object' as const,
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
};

function describeTool(name: string): Tool {
  const inputSchema: Tool['inputSchema'] = name === 'json_schema_2020_12_tool' ? SCHEMA_2020_12 : { type: 'object' };
  return { name, description: `${name} of the suite`, inputSchema };
}

type Content = { readonly mimeType: string } & ({ readonly text: string } | { readonly blob: string });

const RESOURCES: Readonly<Record<string, Content>> = {
  'test://static-text': { mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
  'test://static-binary': { mimeType: 'image/png', blob: PNG },
  'test://watched-resource': { mimeType: 'text/plain', text: 'Watched.' },
};

function readResource(uri: string): ReadResourceResult {
  const [, id] = /^test:\/\/template\/([^/]+)\/data$/.exec(uri) ?? [];
  if (id !== undefined) return { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify({ id }) }] };
  if (!Object.hasOwn(RESOURCES, uri)) throw new ResourceNotFoundError(uri);
  return { contents: [{ uri, ...RESOURCES[uri]! }] };
}

type Render = (
  args: Readonly<Record<string, string>>,
  context: ServerContext['mcpReq'],
) => GetPromptResult | InputRequiredResult;
const prompting = (...content: GetPromptResult['messages'][number]['content'][]): GetPromptResult => ({
  messages: content.map((one) => ({ role: 'user', content: one })),
});

const PROMPTS: Readonly<Record<string, { readonly args?: readonly string[]; readonly render: Render }>> = {
  test_simple_prompt: { render: () => prompting(text('This is a simple prompt for testing.')) },
  test_prompt_with_arguments: {
    args: ['arg1', 'arg2'],
    render: ({ arg1, arg2 }) => prompting(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  },
  test_prompt_with_embedded_resource: {
    args: ['resourceUri'],
    render: ({ resourceUri = '' }) => prompting(embedded(resourceUri), text('Look at it.')),
  },
  test_prompt_with_image: { render: () => prompting(image, text('Look at it.')) },
  test_input_required_result_prompt: {
    render: (_args, { inputResponses = {} }) =>
      isAnswered(inputResponses, 'user_context')
        ? prompting(text('In that context.'))
        : inputRequired({ inputRequests: { user_context: ask('context') } }),
  },
};

function found<Value>(table: Readonly<Record<string, Value>>, name: string): Value {
  if (Object.hasOwn(table, name)) return table[name]!;
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no ${name}.`);
}

/** A server of everything in the suite that fits into one response to one message. */
export function conformanceServer(era: McpEra): Server {
  const capabilities = {
    tools: {},
    // Since 2026-07-28 this opens a stream, which is not supported.
    resources: era === 'legacy' ? { subscribe: true } : {},
    prompts: {},
    completions: {},
    logging: {},
  };
  const server = new Server(
    { name: 'conformance', version: '1.0.0' },
    { capabilities, requestState: { verify: state.verify } },
  );
  server.setRequestHandler('tools/list', () => ({ tools: Object.keys(TOOLS).map(describeTool) }));
  server.setRequestHandler('tools/call', ({ params }, { mcpReq }) => found(TOOLS, params.name)(mcpReq));
  server.setRequestHandler('resources/list', () => ({
    resources: Object.keys(RESOURCES).map((uri) => ({ uri, name: uri.slice('test://'.length) })),
  }));
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [{ uriTemplate: 'test://template/{id}/data', name: 'template' }],
  }));
  server.setRequestHandler('resources/read', ({ params }) => readResource(params.uri));
  // Without sessions there are no later notifications: accepting the subscription is all that can be done.
  server.setRequestHandler('resources/subscribe', () => ({}));
  server.setRequestHandler('resources/unsubscribe', () => ({}));
  server.setRequestHandler('prompts/list', () => ({
    prompts: Object.entries(PROMPTS).map(([name, { args = [] }]) => ({
      name,
      description: `${name} of the suite`,
      arguments: args.map((one) => ({ name: one, required: true })),
    })),
  }));
  server.setRequestHandler('prompts/get', ({ params }, { mcpReq }) =>
    found(PROMPTS, params.name).render(params.arguments ?? {}, mcpReq),
  );
  server.setRequestHandler('completion/complete', () => ({ completion: { values: [], total: 0, hasMore: false } }));
  return server;
}
