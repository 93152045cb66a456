/** What one check of the suite is expected to come to. */
export interface Expectation {
  readonly scenario: string;
  readonly check: string;
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING';
  /** Part of what the check says where it does not pass: it has to fail for this reason and for no other. */
  readonly says?: string;
  /** Why it does not apply, by the specification of 2025-11-25. */
  readonly because?: string;
}

const passes = (scenario: string, check = scenario): Expectation => ({ scenario, check, status: 'SUCCESS' });

/**
 * The suite was made for servers of an SDK: it asks for fixtures by name. Of a server of its own that name is unknown, and
 * the specification says how that is answered; so that answer is what is expected.
 */
const asksForTool = (scenario: string, tool: string, check = scenario): Expectation => ({
  scenario,
  check,
  status: 'FAILURE',
  says: `-32602: There is no tool "${tool}"`,
  because: `asks for a tool of the suite; Tools, Error Handling: an unknown tool is a protocol error, -32602`,
});

const asksForPrompt = (scenario: string, prompt: string): Expectation => ({
  scenario,
  check: scenario,
  status: 'FAILURE',
  says: `-32602: There is no prompt ${prompt}.`,
  because: 'asks for a prompt of the suite; Prompts, Error Handling: an invalid prompt name is -32602',
});

const asksForResource = (scenario: string): Expectation => ({
  scenario,
  check: scenario,
  status: 'FAILURE',
  says: '-32002: There is no such resource.',
  because: 'asks for a resource of the suite; Resources, Error Handling: a resource not found is -32002',
});

/** Lifecycle, Operation: both sides only use what was negotiated; a method that was not offered does not exist. */
const notOffered = (scenario: string, capability: string): Expectation => ({
  scenario,
  check: scenario,
  status: 'FAILURE',
  says: '-32601: There is no such method.',
  because: `the capability ${capability} is optional and is not declared: nothing here has any`,
});

const withoutSessions = (scenario: string): Expectation => ({
  scenario,
  check: `${scenario}-session`,
  status: 'WARNING',
  because: 'Transports: sessions and streams are a MAY; each POST is answered by one JSON object',
});

export const EXPECTATIONS: readonly Expectation[] = [
  passes('server-initialize'),
  passes('ping'),
  passes('tools-list'),
  passes('resources-list'),
  passes('prompts-list'),
  passes('dns-rebinding-protection', 'localhost-host-rebinding-rejected'),
  {
    scenario: 'dns-rebinding-protection',
    check: 'localhost-host-valid-accepted',
    status: 'FAILURE',
    says: 'got 403',
    because:
      'it comes as a web page of this machine, and is for servers without authentication; Transports, Security Warning: the server decides which Origin is valid, and here none is unless MCP_ALLOWED_ORIGINS lists it',
  },
  notOffered('logging-set-level', 'logging'),
  {
    ...notOffered('tools-call-with-logging', 'logging'),
    because: 'sets the level of a log first: the capability logging is optional and is not declared',
  },
  notOffered('completion-complete', 'completions'),
  notOffered('resources-subscribe', 'resources.subscribe'),
  notOffered('resources-unsubscribe', 'resources.subscribe'),
  asksForTool('tools-call-simple-text', 'test_simple_text'),
  asksForTool('tools-call-image', 'test_image_content'),
  asksForTool('tools-call-audio', 'test_audio_content'),
  asksForTool('tools-call-embedded-resource', 'test_embedded_resource'),
  asksForTool('tools-call-mixed-content', 'test_multiple_content_types'),
  asksForTool('tools-call-error', 'test_error_handling'),
  asksForTool('tools-call-with-progress', 'test_tool_with_progress'),
  asksForTool('tools-call-sampling', 'test_sampling'),
  asksForTool('tools-call-elicitation', 'test_elicitation'),
  asksForTool('elicitation-sep1034-defaults', 'test_elicitation_sep1034_defaults', 'elicitation-sep1034-general'),
  asksForTool('elicitation-sep1330-enums', 'test_elicitation_sep1330_enums', 'elicitation-sep1330-general'),
  {
    scenario: 'json-schema-2020-12',
    check: 'json-schema-2020-12-tool-found',
    status: 'FAILURE',
    says: "Tool 'json_schema_2020_12_tool' not found",
    because: 'looks for a tool of the suite in tools/list',
  },
  asksForResource('resources-read-text'),
  asksForResource('resources-read-binary'),
  asksForResource('resources-templates-read'),
  asksForPrompt('prompts-get-simple', 'test_simple_prompt'),
  asksForPrompt('prompts-get-with-args', 'test_prompt_with_arguments'),
  asksForPrompt('prompts-get-embedded-resource', 'test_prompt_with_embedded_resource'),
  asksForPrompt('prompts-get-with-image', 'test_prompt_with_image'),
  withoutSessions('server-sse-polling'),
  withoutSessions('server-sse-multiple-streams'),
];
