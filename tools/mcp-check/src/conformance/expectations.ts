/** Of the suite's sets of requirements, those that are run, each by the wire format of its revision. */
export const REVISIONS = ['2025-11-25', '2026-07-28'] as const;
export type Revision = (typeof REVISIONS)[number];

/** What one scenario of the suite is expected to come to. */
export interface Expectation {
  readonly revision: Revision;
  readonly scenario: string;
  /** Why it does not apply, by the specification. Absent: every check passes. */
  readonly because?: string;
  /** Where it does not apply: each check that does not pass says one of these. Absent: nothing of it is offered here. */
  readonly says?: readonly string[];
}

/**
 * The suite was made for servers of an SDK: it asks for fixtures by name. Of a server of its own that name is unknown, and
 * the specification says how that is answered; so that answer is what is expected. The fixtures themselves stand on our
 * transport in a test of risk-partner, where these scenarios pass.
 */
const tool = {
  because: 'asks for a tool of the suite; Tools, Error Handling: an unknown tool is a protocol error, -32602',
  says: ['There is no tool "test_'],
};
const prompt = {
  because: 'asks for a prompt of the suite; Prompts, Error Handling: an invalid prompt name is -32602',
  says: ['There is no prompt test_'],
};
const resource = {
  because: 'asks for a resource of the suite; Resources, Error Handling: a resource not found is -32602',
  says: ['There is no such resource.'],
};
const schemaTool = {
  because: 'looks for a tool of the suite in tools/list',
  says: ["Tool 'json_schema_2020_12_tool' not found"],
};
/** Both sides only use what was declared; a method that was not offered does not exist. */
const notOffered = (capability: string) => ({
  because: `the capability ${capability} is optional and is not declared: nothing here has any`,
  says: ['Method not found'],
});
const rebinding = {
  because:
    'its second check comes as a web page of this machine: the server decides which Origin is valid, and here none is unless MCP_ALLOWED_ORIGINS lists it (in the test of risk-partner it does, and this passes)',
  says: ['got 403'],
};
const sessions = {
  because: 'Transports: sessions and streams are a MAY; each POST is answered by one JSON object',
  says: [''],
};
const asksBack = {
  because: 'asks for a tool of the suite that asks back (Multi Round-Trip Requests); nothing here does',
  says: [
    'There is no tool "test_input_required_',
    'There is no prompt test_input_required_',
    'Expected InputRequiredResult',
    'Prerequisite failed',
    'JSON-RPC error instead of re-requesting',
  ],
};
const tasks = { because: 'the extension io.modelcontextprotocol/tasks is optional and is not offered' };

const everyRevision: readonly (readonly [string, Omit<Expectation, 'revision' | 'scenario'>?])[] = [
  ['tools-list'],
  ['resources-list'],
  ['prompts-list'],
  ['dns-rebinding-protection', rebinding],
  ['completion-complete', notOffered('completions')],
  ['json-schema-2020-12', schemaTool],
  ['tools-call-simple-text', tool],
  ['tools-call-image', tool],
  ['tools-call-audio', tool],
  ['tools-call-embedded-resource', tool],
  ['tools-call-mixed-content', tool],
  ['tools-call-error', tool],
  ['tools-call-with-progress', tool],
  ['resources-read-text', resource],
  ['resources-read-binary', resource],
  ['resources-templates-read', resource],
  ['prompts-get-simple', prompt],
  ['prompts-get-with-args', prompt],
  ['prompts-get-embedded-resource', prompt],
  ['prompts-get-with-image', prompt],
];

const byRevision: Readonly<Record<Revision, typeof everyRevision>> = {
  '2025-11-25': [
    ['server-initialize'],
    ['ping'],
    ['logging-set-level', notOffered('logging')],
    ['tools-call-with-logging', notOffered('logging')],
    ['resources-subscribe', notOffered('resources.subscribe')],
    ['resources-unsubscribe', notOffered('resources.subscribe')],
    ['tools-call-sampling', tool],
    ['tools-call-elicitation', tool],
    ['elicitation-sep1034-defaults', tool],
    ['elicitation-sep1330-enums', tool],
    ['server-sse-polling', sessions],
    ['server-sse-multiple-streams', sessions],
  ],
  '2026-07-28': [
    ['caching'],
    ['http-header-validation'],
    ['sep-2164-resource-not-found'],
    ['server-sse-multiple-streams'],
    ['input-required-result-unsupported-methods'],
    ['input-required-result-validate-input'],
    [
      'server-stateless',
      { because: 'four of its checks ask for a tool of the suite; the others pass', says: ['Not testable'] },
    ],
    [
      'http-custom-header-server-validation',
      { because: 'no tool here has arguments that are repeated in headers (a MAY)', says: ['Not testable'] },
    ],
    ['input-required-result-basic-elicitation', asksBack],
    ['input-required-result-basic-sampling', asksBack],
    ['input-required-result-basic-list-roots', asksBack],
    ['input-required-result-request-state', asksBack],
    ['input-required-result-multiple-input-requests', asksBack],
    ['input-required-result-multi-round', asksBack],
    ['input-required-result-missing-input-response', asksBack],
    ['input-required-result-non-tool-request', asksBack],
    ['input-required-result-result-type', asksBack],
    ['input-required-result-tampered-state', asksBack],
    ['input-required-result-capability-check', asksBack],
    ['input-required-result-ignore-extra-params', asksBack],
    ['tasks-capability-negotiation', tasks],
    ['tasks-dispatch-and-envelope', tasks],
    ['tasks-lifecycle', tasks],
    ['tasks-mrtr-composition', tasks],
    ['tasks-mrtr-input', tasks],
    ['tasks-request-headers', tasks],
    ['tasks-request-state-removal', tasks],
    ['tasks-required-task-error', tasks],
    ['tasks-wire-fields', tasks],
  ],
};

export const EXPECTATIONS: readonly Expectation[] = REVISIONS.flatMap((revision) =>
  [...everyRevision, ...byRevision[revision]].map(([scenario, more]) => ({ revision, scenario, ...more })),
);
