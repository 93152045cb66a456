import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Client } from '@modelcontextprotocol/client';
import { schemaFaults } from '@sealgate/http';
import type { JsonValue } from '@sealgate/json';
import { expectProblem, unreadablePatterns } from '@sealgate/testing';
import { approvedEvidence, listOf, rowsOf, type Made } from './testing/demo-rows.ts';
import { testInstallation, type TestInstallation, type TestPerson } from './testing/test-installation.ts';
import { callTool, MCP_HEADERS } from './testing/http-caller.ts';
import { CLIENT_KINDS, mcpClient, type ClientKind } from './testing/mcp-clients.ts';

let service: TestInstallation;
let owner: TestPerson;
let viewer: TestPerson;
let partner: TestPerson;
let nobody: TestPerson;
let frameworkId: string;
const clients: Client[] = [];

beforeAll(async () => {
  service = await testInstallation({ MCP_ALLOWED_ORIGINS: 'https://tools.example' });
  const orgId = await service.newOrg();
  owner = await service.newPerson(orgId, ['owner']);
  const admin = await service.newPerson(orgId, ['admin']);
  viewer = await service.newPerson(orgId, ['viewer'], { scope: { departments: ['ops'] } });
  partner = await service.newPerson(orgId, ['partner_read']);
  nobody = await service.newPerson(orgId, []);
  frameworkId = await service.newFramework(orgId, ['A.1', 'A.2']);
  const write = rowsOf(service, owner);
  const control = await write.control({ frameworkRefs: [{ frameworkId, requirementId: 'A.1' }] });
  for (const department of ['ops', 'ops', 'legal', null]) {
    await write.risk({ department, controlIds: [control.id] });
    await write.asset({ department });
    await approvedEvidence(service, [owner, admin], { department, controlIds: [control.id] });
  }
  await write.risk({ department: 'ops', category: 'legal', inherent: { likelihood: 5, impact: 5 } });
  await write.policy();
}, 120_000);
afterAll(async () => {
  for (const client of clients) await client.close();
  await service.stop();
});

const clientOf = async ({ key }: TestPerson, kind: ClientKind): Promise<Client> => {
  const client = await mcpClient(service.url, key, kind);
  clients.push(client);
  return client;
};

const TOOLS = [
  'get_asset',
  'get_control',
  'get_coverage',
  'get_evidence',
  'get_risk',
  'list_assets',
  'list_controls',
  'list_evidence',
  'list_frameworks',
  'list_policies',
  'list_proofs',
  'list_risks',
  'verify_envelope',
  'whoami',
];

describe.each(CLIENT_KINDS)("the SDK's own client, %s", (mode) => {
  it('lists every tool it may call, read-only, and no others', async () => {
    const client = await clientOf(partner, mode);
    if (mode !== 'of version 1') expect(client.getNegotiatedProtocolVersion()).toBe(mode.slice(-10));
    expect(client.getInstructions()).toMatch(/whoami/);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).sort()).toEqual(TOOLS);
    for (const { annotations, inputSchema, outputSchema } of tools) {
      const hints = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
      expect(annotations).toEqual(hints);
      expect([inputSchema.type, outputSchema?.type]).toEqual(['object', 'object']);
    }
    const ofNobody = await (await clientOf(nobody, mode)).listTools();
    expect(ofNobody.tools.map(({ name }) => name)).toEqual(['whoami']);
  });

  it('gets results and errors that match the output schema', async () => {
    const client = await clientOf(viewer, mode);
    await client.listTools(); // From here on the client validates results.
    const list = await client.callTool({ name: 'list_risks', arguments: { limit: 2, level: 'medium' } });
    expect(list.structuredContent).toMatchObject({
      contractVersion: 'svc.partner.v1',
      pagination: { limit: 2, count: 2 },
    });
    const missing = await client.callTool({ name: 'get_risk', arguments: { id: 'rsk_none' } });
    expect(missing).toMatchObject({ isError: true, structuredContent: { code: 'NOT_FOUND', status: 404 } });
    for (const name of TOOLS.filter((tool) => tool.startsWith('list_'))) await client.callTool({ name, arguments: {} });
    await client.callTool({ name: 'whoami', arguments: {} });
    await expect(client.callTool({ name: 'delete_risk', arguments: {} })).rejects.toMatchObject({ code: -32602 });
  }, 30_000); // The client compiles every schema.

  it('reads resources and prompts', async () => {
    const client = await clientOf(viewer, mode);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(['risk://{id}', 'evidence://{id}']);
    const [risk] = (await listOf(service, viewer.key, '/api/v1/risks?limit=1')).items;
    const { contents } = await client.readResource({ uri: `risk://${risk!.id}` });
    expect(JSON.parse((contents[0] as { text: string }).text)).toMatchObject({ item: risk });
    await expect(client.readResource({ uri: 'risk://rsk_none' })).rejects.toMatchObject({ code: -32602 });
    await expect(client.readResource({ uri: 'file:///etc/passwd' })).rejects.toMatchObject({ code: -32602 });
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name)).toEqual(['summarise_coverage_gaps', 'review_evidence']);
    const { messages } = await client.getPrompt({ name: 'review_evidence', arguments: { evidenceId: 'evd_1' } });
    expect(JSON.stringify(messages)).toContain('evd_1');
    await expect(client.getPrompt({ name: 'review_evidence', arguments: {} })).rejects.toMatchObject({ code: -32602 });
  });

  it('describes when to use each tool and what each argument means', async () => {
    const { tools } = await (await clientOf(partner, mode)).listTools();
    for (const { name, title, description, inputSchema } of tools) {
      expect([name, title]).toEqual([name, expect.stringMatching(/^[A-Z].{4,30}$/)]);
      expect([name, description]).toEqual([name, expect.stringMatching(/Use it /)]);
      for (const [argument, schema] of Object.entries(inputSchema.properties ?? {}))
        expect([name, argument, schema]).toEqual([
          name,
          argument,
          expect.objectContaining({ type: expect.any(String), description: expect.stringMatching(/^.{20,}\.$/) }),
        ]);
    }
  });
});

describe('the schemas of tools', () => {
  it('are those that validators in Go compile: RE2 patterns, and open objects that say so', async () => {
    const { tools } = await (await clientOf(owner, 'of version 2 by 2026-07-28')).listTools();
    expect(tools.length).toBeGreaterThan(5);
    expect(unreadablePatterns(tools)).toEqual([]);
    const schemas = tools.flatMap(({ name, inputSchema, outputSchema = {} }) => [
      [`${name} in`, inputSchema] as const,
      [`${name} out`, outputSchema] as const,
    ]);
    const faults = schemas.flatMap(([at, schema]) =>
      schemaFaults(schema as { [member: string]: JsonValue }, { at, isOfTool: true }),
    );
    expect(faults).toEqual([]);
  });
});

describe('a tool returns the same as its route of /api/v1', () => {
  const LISTS: readonly (readonly [string, string, Readonly<Record<string, string | number>>])[] = [
    ['list_risks', 'risks', {}],
    ['list_risks', 'risks', { limit: 2 }],
    ['list_risks', 'risks', { category: 'legal', level: 'critical', status: 'identified' }],
    ['list_risks', 'risks', { updatedSince: '2999-01-01T00:00:00Z' }],
    ['list_risks', 'risks', { updatedSince: '2020-01-01t00:00:00.123456789123z' }],
    ['list_risks', 'risks', { updatedSince: '2020-01-01T00:00:00.1234567891234Z' }],
    ['list_assets', 'assets', { limit: 1, type: 'system', criticality: 'medium' }],
    ['list_evidence', 'evidence', { state: 'approved', limit: 200 }],
    ['list_controls', 'controls', { status: 'planned' }],
    ['list_policies', 'policies', { status: 'draft' }],
    ['list_frameworks', 'frameworks', {}],
    ['get_coverage', 'coverage', { state: 'covered' }],
    ['get_coverage', 'coverage', { limit: 1 }],
    ['list_proofs', 'proofs', { subjectType: 'evidence' }],
    ['list_proofs', 'proofs', { subjectId: 'evd_none' }],
    ['get_coverage', 'coverage', { framework: 'fwk_nope', state: 'gap' }],
    ['list_controls', 'controls', { framework: 'fwk_nope' }],
    ['list_evidence', 'evidence', { controlId: 'ctl_none' }],
    // Errors are the same.
    ['list_risks', 'risks', { limit: 201 }],
    ['list_risks', 'risks', { cursor: 'abc' }],
    ['list_risks', 'risks', { level: 'awful' }],
    ['list_risks', 'risks', { cursor: 'abc', level: 'awful' }],
    ['list_risks', 'risks', { colour: 'red' }],
    ['get_coverage', 'coverage', { snapshotId: 'snap_x' }],
  ];

  it.each(LISTS)('%s is /api/v1/%s for %j', async (tool, collection, args) => {
    for (const { key } of [partner, viewer, owner, nobody]) {
      const query = new URLSearchParams(
        Object.entries(args).map(([name, value]): [string, string] => [name, String(value)]),
      );
      const rest = await service.api.get(`/api/v1/${collection}?${query}`, key);
      const mcp = await callTool(service.api, key, tool, args);
      const shown = (json: unknown) => {
        const { items, pagination, code, status } = json as Record<string, unknown>;
        const { nextCursor = undefined, ...page } = (pagination ?? {}) as { nextCursor?: string | null };
        return { items, page, hasMore: nextCursor != null, code, status };
      };
      expect([mcp.status, shown(mcp.content)]).toEqual([rest.status, shown(rest.json)]);
    }
  });

  it.each([
    ['list_risks', { level: 'awful' }, 'INVALID_REQUEST', '/level'],
    ['list_risks', { limit: 'many' }, 'INVALID_LIMIT', '/limit'],
    ['list_risks', { cursor: 'abc' }, 'INVALID_CURSOR', '/cursor'],
    ['get_risk', {}, 'INVALID_REQUEST', '/id'],
    ['verify_envelope', { envelope: [] }, 'INVALID_REQUEST', '/envelope'],
  ])('gets a pointer to the invalid argument of %s: %j', async (name, args, code, pointer) => {
    const { content } = await callTool(service.api, owner.key, name, args);
    expect(content).toMatchObject({ code, errors: [{ in: 'arguments', pointer }] });
  });

  it('cursors of one work with the other', async () => {
    const all = (await listOf(service, partner.key, '/api/v1/risks')).items.map(({ id }) => id);
    const first = await callTool(service.api, partner.key, 'list_risks', { limit: 2 });
    const cursor = (first.content['pagination'] as { nextCursor: string }).nextCursor;
    const second = await listOf(service, partner.key, `/api/v1/risks?limit=1&cursor=${cursor}`);
    const third = await callTool(service.api, partner.key, 'list_risks', { cursor: second.pagination.nextCursor });
    const ids = [...(first.content['items'] as Made[]), ...second.items, ...(third.content['items'] as Made[])];
    expect(ids.map(({ id }) => id)).toEqual(all);
    // A cursor belongs to one person.
    expect((await callTool(service.api, owner.key, 'list_risks', { cursor })).content['code']).toBe('INVALID_CURSOR');
  });
});

describe('a web page', () => {
  const origin = 'https://tools.example';
  const exposed = /WWW-Authenticate.*RateLimit.*Retry-After.*X-Request-Id.*Mcp-Session-Id/;
  const preflight = {
    origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization,content-type,mcp-method,mcp-name,mcp-protocol-version',
  };
  const cors = ({ headers }: { headers: Readonly<Record<string, unknown>> }) =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('access-control-')));
  const readable = {
    'access-control-allow-origin': origin,
    'access-control-expose-headers': expect.stringMatching(exposed),
  };

  it('of an allowed origin may call: the preflight lists method and headers', async () => {
    const { status, headers, text } = await service.api.send('OPTIONS', '/mcp', { headers: preflight });
    expect([status, text, headers.vary, headers.allow]).toEqual([204, '', 'Origin', 'POST, OPTIONS']);
    expect(cors({ headers })).toEqual({
      ...readable,
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': expect.any(String),
      'access-control-max-age': '7200',
    });
    const allowed = String(headers['access-control-allow-headers']).split(', ');
    expect(allowed).toEqual(expect.arrayContaining(preflight['access-control-request-headers'].split(',')));
    expect(allowed).toEqual(expect.arrayContaining(['accept', 'mcp-session-id', 'last-event-id']));
    const bare = await service.api.send('OPTIONS', '/mcp');
    expect([bare.status, bare.headers.vary, cors(bare)]).toEqual([204, 'Origin', {}]);
  });

  it('reads every response and error, without browser credentials', async () => {
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const from = { ...MCP_HEADERS, origin };
    const post = (sent: object) =>
      service.api.send('POST', '/mcp', { key: owner.key, body: ping, headers: from, ...sent });
    const modern = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'ping' };
    const params = {
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    };
    const answers = [
      [200, await post({})],
      [202, await post({ body: { jsonrpc: '2.0', method: 'notifications/initialized' } })],
      [400, await post({ rawBody: '{' })],
      [401, await service.api.send('POST', '/mcp', { body: ping, headers: from })],
      [403, await post({ headers: { ...from, host: 'rebound.example' } })],
      [404, await post({ body: { ...ping, params }, headers: { ...from, ...modern } })],
      [405, await service.api.send('GET', '/mcp', { headers: from })],
      [406, await post({ headers: { origin, accept: 'text/html' } })],
      [413, await post({ rawBody: ' '.repeat(262_145) })],
      [415, await post({ headers: { ...from, 'content-type': 'text/plain' } })],
    ] as const;
    for (const [status, answer] of answers)
      expect([answer.status, answer.headers.vary, cors(answer)]).toEqual([status, 'Origin', readable]);
  });

  it.each([
    ['https://evil.example'],
    ['null'],
    ['https://tools.example.evil.example'],
    ['https://tools.example:444'],
    ['*'],
  ])('of the origin %s is refused and reads nothing', async (other) => {
    for (const method of ['OPTIONS', 'POST', 'GET']) {
      const answer = await service.api.send(method, '/mcp', { headers: { ...preflight, origin: other } });
      expectProblem({ ...answer, body: answer.json }, 'ORIGIN_NOT_ALLOWED');
      expect([answer.headers.vary, cors(answer)]).toEqual(['Origin', {}]);
    }
  });

  it('gets no CORS headers elsewhere', async () => {
    for (const path of ['/api/v1/risks', '/api/risks', '/api/v1/openapi.json', '/.well-known/jwks.json']) {
      const asked = await service.api.send('OPTIONS', path, { headers: preflight });
      expect([path, asked.status, cors(asked)]).toEqual([path, 405, {}]);
      expect(cors(await service.api.get(path, owner.key, { origin }))).toEqual({});
    }
  });
});
