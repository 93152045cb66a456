import { memberOf, unlike, unsaid, type InspectorCase } from './inspector-case.ts';
import { cursorOf, LISTED, PAGE_LIMIT, WITH_ITEM, type RestAnswer, type RestFacts } from './rest-facts.ts';

const TOOLS = [
  'list_risks',
  'list_assets',
  'list_evidence',
  'list_controls',
  'list_policies',
  'get_coverage',
  'list_proofs',
  'list_frameworks',
  'get_risk',
  'get_asset',
  'get_evidence',
  'verify_envelope',
  'whoami',
];
const READ_ONLY = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
const NEWEST = '2025-11-25';
const MODERN = '2026-07-28';

const method = (name: string, ...more: string[]): string[] => ['--method', name, ...more];
const call = (tool: string, args: object): string[] =>
  method('tools/call', '--tool-name', tool, '--tool-args-json', JSON.stringify(args));

/** Every call that is made, in order. The facts are what REST says to the same key. */
export function inspectorCases(facts: RestFacts): InspectorCase[] {
  return [...handshake, ...listCases(facts), ...itemCases(facts), ...refusals, ...otherCases(facts), ...keyCases];
}

const handshake: readonly InspectorCase[] = [
  {
    name: 'initialize',
    shows: `agrees on ${NEWEST}; tools, resources and prompts, and no more than can be kept`,
    parameters: method('initialize'),
    exitCode: 0,
    fault: ({ result }) =>
      unlike(memberOf(result, 'protocolVersion'), NEWEST) ??
      unlike(memberOf(result, 'capabilities'), { tools: {}, resources: {}, prompts: {} }),
  },
  {
    name: 'initialize, by whichever version both know',
    shows: `a client that can speak both ends up with ${MODERN}`,
    parameters: [...method('initialize'), '--protocol-era', 'auto'],
    exitCode: 0,
    fault: ({ result }) => unlike(memberOf(result, 'protocolVersion'), MODERN),
  },
  {
    name: 'initialize, by the newer version alone',
    shows: `a client that refuses ${NEWEST} speaks ${MODERN}`,
    parameters: [...method('initialize'), '--protocol-era', 'modern'],
    exitCode: 0,
    fault: ({ result }) => unlike(memberOf(result, 'protocolVersion'), MODERN),
  },
  {
    name: 'tools/list',
    shows: 'all thirteen, read-only, with schemas that a strict client can carry everywhere (--strict)',
    parameters: method('tools/list', '--strict'),
    exitCode: 0,
    fault: ({ result }) => {
      const tools = memberOf(result, 'tools') as { name: string; annotations?: object; outputSchema?: object }[];
      const careless = tools.find((tool) => tool.outputSchema === undefined || unlike(tool.annotations, READ_ONLY));
      return (
        unlike(
          tools.map(({ name }) => name),
          TOOLS,
        ) ?? (careless === undefined ? undefined : `${careless.name} lacks its schema or its hints.`)
      );
    },
  },
];

/** What a tool and REST have in common: all but the time, and what is hashed from it. */
function sameAsRest(found: unknown, { body }: RestAnswer): string | undefined {
  const shown = (envelope: unknown) => {
    const { limit, count, nextCursor } = (memberOf(envelope, 'pagination') ?? {}) as Record<string, unknown>;
    const page = { limit, count, isLast: nextCursor === null };
    return { orgId: memberOf(envelope, 'orgId'), items: memberOf(envelope, 'items', 'length'), page };
  };
  return (
    unlike(shown(found), shown(body)) ??
    unlike(memberOf(found, 'items'), body['items']) ??
    unlike(memberOf(found, 'item'), body['item'])
  );
}

const contentOf = (result: unknown): unknown => memberOf(result, 'structuredContent');
const textOf = (result: unknown): string => String(memberOf(result, 'content', '0', 'text'));
const likeRest = (answer: RestAnswer): InspectorCase['fault'] => {
  return ({ result }) => sameAsRest(contentOf(result), answer) ?? unlike(JSON.parse(textOf(result)), contentOf(result));
};

function listCases({ pages, secondRisks }: RestFacts): InspectorCase[] {
  const lists = LISTED.map((collection): InspectorCase => {
    const tool = collection === 'coverage' ? 'get_coverage' : `list_${collection}`;
    return {
      name: `tools/call ${tool}`,
      shows: `the same page as GET /api/v1/${collection}, its text the same as its structure`,
      parameters: method('tools/call', '--tool-name', tool, '--tool-arg', `limit=${PAGE_LIMIT}`),
      exitCode: 0,
      fault: likeRest(pages.get(collection)!),
    };
  });
  const second: InspectorCase = {
    name: 'tools/call list_risks, next page',
    shows: 'a cursor of REST is good for the tool',
    parameters: call('list_risks', { limit: PAGE_LIMIT, cursor: cursorOf(pages.get('risks')!.body) }),
    exitCode: 0,
    fault: likeRest(secondRisks),
  };
  return [...lists, second];
}

const idOf = ({ body }: RestAnswer): string => String(memberOf(body, 'item', 'id'));

function itemCases({ items, pages, whoami }: RestFacts): InspectorCase[] {
  const ofItem = WITH_ITEM.map((collection): InspectorCase => {
    const answer = items.get(collection)!;
    const tool = `get_${collection.replace(/s$/, '')}`;
    return {
      name: `tools/call ${tool}`,
      shows: `the same item as GET /api/v1/${collection}/{id}`,
      parameters: call(tool, { id: idOf(answer) }),
      exitCode: 0,
      fault: likeRest(answer),
    };
  });
  const { body: envelope, signature } = pages.get('risks')!;
  const verified = (name: string, sent: object, valid: boolean): InspectorCase => ({
    name: `tools/call verify_envelope, ${name}`,
    shows: `valid: ${valid}`,
    parameters: call('verify_envelope', { envelope: sent, signature }),
    exitCode: 0,
    fault: ({ result }) => unlike(contentOf(result), { valid }),
  });
  return [
    ...ofItem,
    verified('as it came', envelope, true),
    verified('changed', { ...envelope, generatedAt: '2000-01-01T00:00:00.000Z' }, false),
    {
      name: 'tools/call whoami',
      shows: 'the same as GET /api/v1/whoami',
      parameters: call('whoami', {}),
      exitCode: 0,
      fault: ({ result }) => unlike(contentOf(result), whoami),
    },
  ];
}

const refused = (name: string, parameters: string[], [status, code]: readonly [number, string]): InspectorCase => ({
  name: `tools/call ${name}`,
  shows: `a result with isError, and the problem ${status} ${code}`,
  parameters,
  exitCode: 5,
  fault: ({ result }) =>
    unlike([memberOf(contentOf(result), 'status'), memberOf(contentOf(result), 'code')], [status, code]) ??
    unlike(memberOf(result, 'isError'), true),
});

const refusals: readonly InspectorCase[] = [
  refused('get_risk, no such row', call('get_risk', { id: 'rsk_none' }), [404, 'NOT_FOUND']),
  refused('list_risks, limit of 201', call('list_risks', { limit: 201 }), [400, 'INVALID_LIMIT']),
  refused('list_risks, no cursor of ours', call('list_risks', { cursor: 'abc' }), [400, 'INVALID_CURSOR']),
  refused('list_risks, no such level', call('list_risks', { level: 'awful' }), [400, 'INVALID_REQUEST']),
  refused('list_risks, unknown argument', call('list_risks', { colour: 'red' }), [400, 'UNKNOWN_PARAMETER']),
  {
    name: 'tools/call, no such tool',
    shows: 'the client finds none of that name in tools/list, and does not ask',
    parameters: call('delete_risk', {}),
    exitCode: 5,
    fault: (answer) => unsaid(answer, 'tool_not_found', 'delete_risk'),
  },
];

function otherCases({ items }: RestFacts): InspectorCase[] {
  const schemes = [
    ['risk', 'risks'],
    ['evidence', 'evidence'],
  ] as const;
  const readable = schemes.map(([scheme, collection]): InspectorCase => {
    const answer = items.get(collection)!;
    return {
      name: `resources/read ${scheme}://{id}`,
      shows: `the same item as GET /api/v1/${collection}/{id}`,
      parameters: method('resources/read', '--uri', `${scheme}://${idOf(answer)}`),
      exitCode: 0,
      fault: ({ result }) => sameAsRest(JSON.parse(String(memberOf(result, 'contents', '0', 'text'))), answer),
    };
  });
  return [resourcesList, templatesList, ...readable, ...missingThings, ...prompts];
}

const resourcesList: InspectorCase = {
  name: 'resources/list',
  shows: 'empty: rows are many, so they are listed by tools and read by template',
  parameters: method('resources/list'),
  exitCode: 0,
  fault: ({ result }) => unlike(memberOf(result, 'resources'), []),
};

const templatesList: InspectorCase = {
  name: 'resources/templates/list',
  shows: 'risk://{id} and evidence://{id}',
  parameters: method('resources/templates/list'),
  exitCode: 0,
  fault: ({ result }) => {
    const templates = memberOf(result, 'resourceTemplates') as { uriTemplate: string }[];
    return unlike(
      templates.map(({ uriTemplate }) => uriTemplate),
      ['risk://{id}', 'evidence://{id}'],
    );
  },
};

const missingThings: readonly InspectorCase[] = [
  {
    name: 'resources/read, no such row',
    shows: 'an error, as for a row that is hidden',
    parameters: method('resources/read', '--uri', 'risk://rsk_none'),
    exitCode: 1,
    fault: (answer) => unsaid(answer, 'error', 'There is no such resource.'),
  },
  {
    name: 'logging/setLevel',
    shows: 'not offered, so the client does not ask',
    parameters: method('logging/setLevel', '--log-level', 'debug'),
    exitCode: 1,
    fault: (answer) => unsaid(answer, 'error', 'does not support logging'),
  },
];

const prompts: readonly InspectorCase[] = [
  {
    name: 'prompts/list',
    shows: 'summarise_coverage_gaps and review_evidence',
    parameters: method('prompts/list'),
    exitCode: 0,
    fault: ({ result }) =>
      unlike(
        (memberOf(result, 'prompts') as { name: string }[]).map(({ name }) => name),
        ['summarise_coverage_gaps', 'review_evidence'],
      ),
  },
  {
    name: 'prompts/get review_evidence',
    shows: 'one message, about the evidence that was named',
    parameters: method('prompts/get', '--prompt-name', 'review_evidence', '--prompt-args', 'evidenceId=evd_named'),
    exitCode: 0,
    fault: ({ result }) => {
      const text = String(memberOf(result, 'messages', '0', 'content', 'text'));
      return text.includes('"evd_named"') ? undefined : `The message is: ${text.slice(0, 200)}`;
    },
  },
  {
    name: 'prompts/get review_evidence, of none',
    shows: 'an error that names the argument',
    parameters: method('prompts/get', '--prompt-name', 'review_evidence'),
    exitCode: 1,
    fault: (answer) => unsaid(answer, 'error', 'The argument evidenceId is required.'),
  },
];

/** Non-interactive: a client may not open a browser, since there is no OAuth here to log in to. */
const notTaken = (name: string, authorization: string | undefined): InspectorCase => ({
  name: `tools/list, ${name}`,
  shows: '401 UNAUTHENTICATED',
  parameters: [...method('tools/list'), '--stored-auth-only'],
  authorization,
  exitCode: 3,
  fault: (answer) => unsaid(answer, 'auth_required', 'UNAUTHENTICATED'),
});

const keyCases: readonly InspectorCase[] = [
  notTaken('a key that never was', `Bearer svc_${'A'.repeat(43)}`),
  notTaken('no Bearer', 'Basic c3ZjOg=='),
];
