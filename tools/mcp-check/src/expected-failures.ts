/**
 * The revisions that `mcp:conformance` runs, each with the scenarios that are expected to fail and why. The suite was
 * made for SDKs: most of its scenarios need fixtures of its own, which risk-partner does not have, so a failure is the
 * rejection that the specification requires. A test of risk-partner runs the fixtures on the same transport and guard,
 * where these scenarios pass. An entry `<scenario>:<check>` covers that check alone.
 */
export const EXPECTED_FAILURES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '2025-11-25': {
    ...suiteFixtures(),
    ...reasonFor('The capability logging is optional and not declared: -32601.', [
      'logging-set-level',
      'tools-call-with-logging',
    ]),
    ...reasonFor('The capability resources.subscribe is optional and not declared: -32601.', [
      'resources-subscribe',
      'resources-unsubscribe',
    ]),
    ...reasonFor('Calls a tool of the suite, and needs a server request to the client.', [
      'tools-call-sampling',
      'tools-call-elicitation',
      'elicitation-sep1034-defaults',
      'elicitation-sep1330-enums',
    ]),
    'server-sse-multiple-streams': 'Transports: sessions and streams are a MAY; each POST gets one JSON response.',
  },
  '2026-07-28': {
    ...suiteFixtures(),
    ...reasonFor('Calls a tool or prompt of the suite that asks back (Multi Round-Trip Requests); none here does.', [
      'input-required-result-basic-elicitation',
      'input-required-result-basic-sampling',
      'input-required-result-basic-list-roots',
      'input-required-result-request-state',
      'input-required-result-multiple-input-requests',
      'input-required-result-multi-round',
      'input-required-result-missing-input-response',
      'input-required-result-non-tool-request',
      'input-required-result-result-type',
      'input-required-result-tampered-state',
      'input-required-result-capability-check',
      'input-required-result-ignore-extra-params',
    ]),
    ...reasonFor('Calls a tool of the suite; the other checks of the scenario pass.', [
      'server-stateless:sep-2575-server-rejects-undeclared-capability',
      'server-stateless:sep-2575-missing-capability-http-400',
      'server-stateless:sep-2575-http-server-no-independent-requests-on-stream',
      'server-stateless:sep-2575-server-no-log-without-loglevel',
    ]),
  },
};

function reasonFor(reason: string, scenarios: readonly string[]): Record<string, string> {
  return Object.fromEntries(scenarios.map((scenario) => [scenario, reason]));
}

function suiteFixtures(): Record<string, string> {
  return {
    ...reasonFor('Calls a tool of the suite. Tools, Error Handling: an unknown tool is a protocol error, -32602.', [
      'tools-call-simple-text',
      'tools-call-image',
      'tools-call-audio',
      'tools-call-embedded-resource',
      'tools-call-mixed-content',
      'tools-call-error',
      'tools-call-with-progress',
    ]),
    ...reasonFor('Reads a resource of the suite. Resources, Error Handling: resource not found is -32602.', [
      'resources-read-text',
      'resources-read-binary',
      'resources-templates-read',
    ]),
    ...reasonFor('Gets a prompt of the suite. Prompts, Error Handling: an invalid prompt name is -32602.', [
      'prompts-get-simple',
      'prompts-get-with-args',
      'prompts-get-embedded-resource',
      'prompts-get-with-image',
    ]),
    'completion-complete': 'The capability completions is optional and not declared: -32601.',
    'dns-rebinding-protection:localhost-host-valid-accepted':
      'Sends the Origin of a local web page: here none is valid unless MCP_ALLOWED_ORIGINS lists it.',
  };
}
