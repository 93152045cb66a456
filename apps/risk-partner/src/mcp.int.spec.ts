import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expectProblem } from '@sealgate/testing';
import { approvedEvidence, listOf, rowsOf, type Made } from './testing/demo-rows.ts';
import { testInstallation, type TestInstallation, type TestPerson } from './testing/test-installation.ts';
import { callTool, MCP_HEADERS } from './testing/tool-caller.ts';

let there: TestInstallation;
let owner: TestPerson;
let viewer: TestPerson;
let partner: TestPerson;
let nobody: TestPerson;
let frameworkId: string;
const clients: Client[] = [];

beforeAll(async () => {
  there = await testInstallation({ MCP_ALLOWED_ORIGINS: 'https://tools.example' });
  const orgId = await there.newOrg();
  owner = await there.newPerson(orgId, ['owner']);
  const admin = await there.newPerson(orgId, ['admin']);
  viewer = await there.newPerson(orgId, ['viewer'], { scope: { departments: ['ops'] } });
  partner = await there.newPerson(orgId, ['partner_read']);
  nobody = await there.newPerson(orgId, []);
  frameworkId = await there.newFramework(orgId, ['A.1', 'A.2']);
  const write = rowsOf(there, owner);
  const control = await write.control({ frameworkRefs: [{ frameworkId, requirementId: 'A.1' }] });
  for (const department of ['ops', 'ops', 'legal', null]) {
    await write.risk({ department, controlIds: [control.id] });
    await write.asset({ department });
    await approvedEvidence(there, [owner, admin], { department, controlIds: [control.id] });
  }
  await write.risk({ department: 'ops', category: 'legal', inherent: { likelihood: 5, impact: 5 } });
  await write.policy();
}, 120_000);
afterAll(async () => {
  for (const client of clients) await client.close();
  await there.stop();
});

type Mode = 'legacy' | { readonly pin: string };

async function clientOf({ key }: TestPerson, mode: Mode = 'legacy'): Promise<Client> {
  const client = new Client({ name: 'spec', version: '1.0.0' }, { versionNegotiation: { mode } });
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${there.url}/mcp`), { requestInit }));
  clients.push(client);
  return client;
}

const TOOLS = [
  'get_asset',
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

describe.each<[string, Mode]>([
  ['2025-11-25', 'legacy'],
  ['2026-07-28', { pin: '2026-07-28' }],
])("the SDK's own client, by %s", (version, mode) => {
  it('finds every tool, read-only, and only those it may call', async () => {
    const client = await clientOf(partner, mode);
    expect(client.getNegotiatedProtocolVersion()).toBe(version);
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

  it('takes answers and refusals for what their schema says', async () => {
    const client = await clientOf(viewer, mode);
    await client.listTools(); // From here on the client holds what it gets against the schemas.
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
    const [risk] = (await listOf(there, viewer.key, '/api/v1/risks?limit=1')).items;
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

  it('tells a model when to use each tool and what each argument means', async () => {
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

describe('a tool is a read of /api/v1 through another door', () => {
  const LISTS: readonly (readonly [string, string, Readonly<Record<string, string | number>>])[] = [
    ['list_risks', 'risks', {}],
    ['list_risks', 'risks', { limit: 2 }],
    ['list_risks', 'risks', { category: 'legal', level: 'critical', status: 'identified' }],
    ['list_risks', 'risks', { updatedSince: '2999-01-01T00:00:00Z' }],
    ['list_assets', 'assets', { limit: 1, type: 'system', criticality: 'medium' }],
    ['list_evidence', 'evidence', { state: 'approved', limit: 200 }],
    ['list_controls', 'controls', { status: 'planned' }],
    ['list_policies', 'policies', { status: 'draft' }],
    ['list_frameworks', 'frameworks', {}],
    ['get_coverage', 'coverage', { state: 'covered' }],
    ['get_coverage', 'coverage', { limit: 1 }],
    ['list_proofs', 'proofs', { subjectType: 'evidence' }],
    // Refused alike.
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
      const rest = await there.api.get(`/api/v1/${collection}?${query}`, key);
      const mcp = await callTool(there.api, key, tool, args);
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
  ])('points %s into its arguments: %j', async (name, args, code, pointer) => {
    const { content } = await callTool(there.api, owner.key, name, args);
    expect(content).toMatchObject({ code, errors: [{ in: 'arguments', pointer }] });
  });

  it('and cursors cross from one to the other', async () => {
    const all = (await listOf(there, partner.key, '/api/v1/risks')).items.map(({ id }) => id);
    const first = await callTool(there.api, partner.key, 'list_risks', { limit: 2 });
    const cursor = (first.content['pagination'] as { nextCursor: string }).nextCursor;
    const second = await listOf(there, partner.key, `/api/v1/risks?limit=1&cursor=${cursor}`);
    const third = await callTool(there.api, partner.key, 'list_risks', { cursor: second.pagination.nextCursor });
    const ids = [...(first.content['items'] as Made[]), ...second.items, ...(third.content['items'] as Made[])];
    expect(ids.map(({ id }) => id)).toEqual(all);
    // A cursor is its owner's.
    expect((await callTool(there.api, owner.key, 'list_risks', { cursor })).content['code']).toBe('INVALID_CURSOR');
  });

  it('checks envelopes, signed or not', async () => {
    const answer = await there.api.get('/api/v1/risks?limit=1', partner.key);
    const signature = String(answer.headers['evidence-signature']);
    const envelope = answer.json as Record<string, unknown>;
    const valid = async (args: object) =>
      (await callTool(there.api, viewer.key, 'verify_envelope', { ...args })).content;
    expect(await valid({ envelope })).toEqual({ valid: true });
    expect(await valid({ envelope, signature })).toEqual({ valid: true });
    expect(await valid({ envelope: { ...envelope, orgId: 'org_x' } })).toEqual({ valid: false });
    expect(await valid({ envelope, signature: signature.replace(/.$/, (last) => (last === 'A' ? 'Q' : 'A')) })).toEqual(
      { valid: false },
    );
    const other = await there.api.get('/api/v1/assets?limit=1', partner.key);
    expect(await valid({ envelope: other.json, signature })).toEqual({ valid: false });
    expect(await valid({ envelope: {} })).toEqual({ valid: false });
    expect(await valid({})).toMatchObject({ code: 'INVALID_REQUEST', status: 400 });
    const unknown = { code: 'UNKNOWN_PARAMETER', errors: [{ in: 'arguments', pointer: '/more~1less' }] };
    expect(await valid({ envelope, 'more/less': 1 })).toMatchObject(unknown);
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

  it('of a listed origin may call: the preflight says so, and by which headers', async () => {
    const { status, headers, text } = await there.api.send('OPTIONS', '/mcp', { headers: preflight });
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
    const bare = await there.api.send('OPTIONS', '/mcp');
    expect([bare.status, bare.headers.vary, cors(bare)]).toEqual([204, 'Origin', {}]);
  });

  it('reads every answer and every refusal, and never with what the browser remembers', async () => {
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const from = { ...MCP_HEADERS, origin };
    const post = (sent: object) =>
      there.api.send('POST', '/mcp', { key: owner.key, body: ping, headers: from, ...sent });
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
      [401, await there.api.send('POST', '/mcp', { body: ping, headers: from })],
      [403, await post({ headers: { ...from, host: 'rebound.example' } })],
      [404, await post({ body: { ...ping, params }, headers: { ...from, ...modern } })],
      [405, await there.api.send('GET', '/mcp', { headers: from })],
      [406, await post({ headers: { origin } })],
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
      const answer = await there.api.send(method, '/mcp', { headers: { ...preflight, origin: other } });
      expectProblem({ ...answer, body: answer.json }, 'ORIGIN_NOT_ALLOWED');
      expect([answer.headers.vary, cors(answer)]).toEqual(['Origin', {}]);
    }
  });

  it('finds CORS nowhere else', async () => {
    for (const path of ['/api/v1/risks', '/api/risks', '/api/v1/openapi.json', '/.well-known/jwks.json']) {
      const asked = await there.api.send('OPTIONS', path, { headers: preflight });
      expect([path, asked.status, cors(asked)]).toEqual([path, 405, {}]);
      expect(cors(await there.api.get(path, owner.key, { origin }))).toEqual({});
    }
  });
});
