import { describe, expect, it } from '@jest/globals';
import { madeUpFacts } from '../made-up-facts.fixture.ts';
import type { InspectorAnswer, InspectorCase } from './inspector-case.ts';
import { inspectorCases } from './inspector-cases.ts';
import { answerOf, differenceOf } from './try-inspector.ts';

const cases = inspectorCases(madeUpFacts());
const named = (name: string): InspectorCase => cases.find((one) => one.name === name)!;
const answer = (result: unknown, exitCode = 0): InspectorAnswer => ({ exitCode, result, error: undefined });
const ofTool = (envelope: object, more: object = {}): InspectorAnswer =>
  answer({ content: [{ type: 'text', text: JSON.stringify(envelope) }], structuredContent: envelope, ...more });

describe('what the inspector printed', () => {
  it('is a result on stdout, and an error in a line of stderr', () => {
    const error = { code: 'tool_is_error', message: 'x' };
    const err = `a warning\n${JSON.stringify({ error })}\n`;
    expect(answerOf({ exitCode: 5, out: '{"result":{"isError":true}}', err })).toEqual({
      exitCode: 5,
      result: { isError: true },
      error,
    });
    expect(answerOf({ exitCode: 1, out: '', err: 'npm error' })).toEqual(answer(undefined, 1));
  });
});

describe('each call', () => {
  it('has a name of its own', () => {
    expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length);
  });

  it.each(cases.map((one) => [one.name, one] as const))('%s differs by its exit code', (_, one) => {
    expect(differenceOf(answer({}, one.exitCode === 1 ? 0 : 1), one)).toContain(`exit code ${one.exitCode}`);
  });

  it('of a list is held against REST, and its text against its structure', () => {
    const one = named('tools/call list_assets');
    const page = { limit: 2, count: 1, nextCursor: null };
    const envelope = { orgId: 'org_1', items: [{ id: 'assets_1' }], pagination: page };
    expect(differenceOf(ofTool(envelope), one)).toBeUndefined();
    expect(differenceOf(ofTool({ ...envelope, items: [{ id: 'assets_2' }] }), one)).toContain('assets_2');
    expect(differenceOf(ofTool({ ...envelope, orgId: 'org_2' }), one)).toContain('org_2');
    expect(differenceOf(ofTool({ ...envelope, pagination: { ...page, nextCursor: 'x' } }), one)).toContain('isLast');
    const text = { content: [{ type: 'text', text: '{}' }] };
    expect(differenceOf(ofTool(envelope, text), one)).toContain('Expected');
  });

  it('of an item, a verification or a refusal is held against what it should be', () => {
    const wrong: readonly (readonly [string, InspectorAnswer])[] = [
      ['tools/call get_risk', ofTool({ orgId: 'org_1', item: { id: 'risks_2' } })],
      ['tools/call verify_envelope, changed', ofTool({ valid: true })],
      ['tools/call whoami', ofTool({ orgId: 'org_1', roles: [] })],
      [
        'tools/call get_risk, no such row',
        { ...ofTool({ status: 403, code: 'FORBIDDEN' }, { isError: true }), exitCode: 5 },
      ],
      ['tools/call get_risk, no such row', { ...ofTool({ status: 404, code: 'NOT_FOUND' }), exitCode: 5 }],
      ['tools/call, no such tool', answer(undefined, 5)],
      ['initialize', answer({ protocolVersion: '2024-11-05', capabilities: {} })],
      ['initialize', answer({ protocolVersion: '2025-11-25', capabilities: { logging: {} } })],
      ['tools/list', answer({ tools: [] })],
      ['resources/list', answer({ resources: [{}] })],
      ['resources/templates/list', answer({ resourceTemplates: [] })],
      ['resources/read risk://{id}', answer({ contents: [{ text: '{"item":{"id":"risks_2"}}' }] })],
      ['prompts/get review_evidence', answer({ messages: [{ content: { text: 'of nothing' } }] })],
    ];
    for (const [name, found] of wrong)
      expect([name, differenceOf(found, named(name))]).toEqual([name, expect.any(String)]);
    expect(differenceOf(ofTool({ valid: false }), named('tools/call verify_envelope, changed'))).toBeUndefined();
    const refusal = ofTool({ status: 404, code: 'NOT_FOUND' }, { isError: true });
    expect(differenceOf({ ...refusal, exitCode: 5 }, named('tools/call get_risk, no such row'))).toBeUndefined();
  });

  it('of tools/list needs every tool with its hints and schema', () => {
    const annotations = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
    const [, , , list] = cases;
    const tools = named('tools/list')
      .fault(answer({ tools: [] }))!
      .match(/(?:list|get|verify)_\w+|whoami/g)!
      .map((name) => ({ name, annotations, outputSchema: {} }));
    expect(tools).toHaveLength(13);
    expect(differenceOf(answer({ tools }), list!)).toBeUndefined();
    const careless = tools.map((tool, at) => (at === 4 ? { ...tool, annotations: {} } : tool));
    expect(differenceOf(answer({ tools: careless }), list!)).toContain('list_policies');
  });
});
