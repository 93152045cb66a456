import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
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

async function clientOf({ key }: TestPerson): Promise<Client> {
  const client = new Client({ name: 'spec', version: '1.0.0' });
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

describe("the SDK's own client", () => {
  it('finds every tool, read-only, and only those it may call', async () => {
    const { tools } = await (await clientOf(partner)).listTools();
    expect(tools.map(({ name }) => name).sort()).toEqual(TOOLS);
    for (const { annotations, inputSchema, outputSchema } of tools) {
      const hints = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
      expect(annotations).toEqual(hints);
      expect([inputSchema.type, outputSchema?.type]).toEqual(['object', 'object']);
    }
    const ofNobody = await (await clientOf(nobody)).listTools();
    expect(ofNobody.tools.map(({ name }) => name)).toEqual(['whoami']);
  });

  it('takes answers and refusals for what their schema says', async () => {
    const client = await clientOf(viewer);
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
  });

  it('reads resources and prompts', async () => {
    const client = await clientOf(viewer);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(['risk://{id}', 'evidence://{id}']);
    const [risk] = (await listOf(there, viewer.key, '/api/v1/risks?limit=1')).items;
    const { contents } = await client.readResource({ uri: `risk://${risk!.id}` });
    expect(JSON.parse((contents[0] as { text: string }).text)).toMatchObject({ item: risk });
    await expect(client.readResource({ uri: 'risk://rsk_none' })).rejects.toMatchObject({ code: -32002 });
    await expect(client.readResource({ uri: 'file:///etc/passwd' })).rejects.toMatchObject({ code: -32002 });
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name)).toEqual(['summarise_coverage_gaps', 'review_evidence']);
    const { messages } = await client.getPrompt({ name: 'review_evidence', arguments: { evidenceId: 'evd_1' } });
    expect(JSON.stringify(messages)).toContain('evd_1');
    await expect(client.getPrompt({ name: 'review_evidence', arguments: {} })).rejects.toMatchObject({ code: -32602 });
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
    const unknown = { code: 'UNKNOWN_PARAMETER', errors: [{ in: 'body', pointer: '/more~1less' }] };
    expect(await valid({ envelope, 'more/less': 1 })).toMatchObject(unknown);
  });
});

describe('what is no call of a tool', () => {
  const ping = { jsonrpc: '2.0', id: 7, method: 'ping' };
  const post = (sent: { key?: string; body?: unknown; rawBody?: string; headers?: Record<string, string> }) =>
    there.api.send('POST', '/mcp', {
      key: owner.key,
      body: ping,
      ...sent,
      headers: { ...MCP_HEADERS, ...sent.headers },
    });
  const problem = async (answer: ReturnType<typeof post>, code: string) => {
    const { json, ...rest } = await answer;
    expectProblem({ ...rest, body: json }, code, {});
  };

  it('is answered as MCP says', async () => {
    expect((await post({})).json).toEqual({ jsonrpc: '2.0', id: 7, result: {} });
    const notification = await post({ body: { jsonrpc: '2.0', method: 'notifications/initialized' } });
    expect([notification.status, notification.text]).toEqual([202, '']);
    expect((await post({ body: { ...ping, method: 'no/such' } })).json).toMatchObject({ error: { code: -32601 } });
    expect((await post({ body: { ...ping, method: 'constructor' } })).json).toMatchObject({ error: { code: -32601 } });
  });

  it.each([
    ['tools/call', {}],
    ['tools/call', { name: { toString: 1 } }],
    ['tools/call', { name: 'list_snapshots', arguments: 'x' }],
    ['resources/read', { uri: 1 }],
    ['prompts/get', { name: 'review_evidence', arguments: { evidenceId: 1 } }],
  ])('holds parameters of %s against the caller: %j', async (method, params) => {
    const { status, json } = await post({ body: { ...ping, method, params } });
    expect([status, json]).toEqual([200, { jsonrpc: '2.0', id: 7, error: expect.objectContaining({ code: -32602 }) }]);
  });

  it.each([['x'], [null], [[]], [7]])('takes %j for no arguments of a tool', async (args) => {
    const body = { ...ping, method: 'tools/call', params: { name: 'list_risks', arguments: args } };
    const structuredContent: unknown = expect.objectContaining({ status: 400, code: 'INVALID_REQUEST' });
    expect((await post({ body })).json).toMatchObject({ result: { isError: true, structuredContent } });
  });

  it.each([
    ['APPLICATION/JSON, Text/Event-Stream', 200],
    ['text/event-stream;q=0.5 , application/json; v=1', 200],
    ['*/*', 406],
    ['application/jsonx, text/event-streams', 406],
  ])('is taken or not for Accept: %s', async (accept, status) => {
    const answer = await post({ headers: { accept } });
    expect(answer.status).toBe(status);
    if (status === 406) expect(answer.json).toMatchObject({ code: 'NOT_ACCEPTABLE' });
  });

  it('is refused in the order of the contract', async () => {
    const evil = { origin: 'https://evil.example' };
    await problem(there.api.send('DELETE', '/mcp', { headers: evil }), 'ORIGIN_NOT_ALLOWED');
    await problem(post({ headers: evil }), 'ORIGIN_NOT_ALLOWED');
    await problem(post({ headers: { host: 'rebound.example' } }), 'ORIGIN_NOT_ALLOWED');
    expect((await post({ headers: { origin: 'https://tools.example' } })).status).toBe(200);
    for (const method of ['GET', 'DELETE', 'PUT', 'OPTIONS']) {
      const answer = await there.api.send(method, '/mcp');
      expect([answer.status, answer.headers.allow]).toEqual([405, 'POST']);
    }
    const unknown = await there.api.send('POST', '/mcp', { body: ping, headers: { accept: 'application/json' } });
    expectProblem({ ...unknown, body: unknown.json }, 'UNAUTHENTICATED');
    expect(unknown.headers['www-authenticate']).toBe('Bearer realm="sealgate"');
    await problem(post({ headers: { accept: 'application/json' } }), 'NOT_ACCEPTABLE');
    expect((await post({ body: [ping] })).json).toMatchObject({ status: 400, code: 'INVALID_REQUEST' });
    for (const [rawBody, code] of [
      ['{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', 'DUPLICATE_MEMBER'],
      ['{"id":1e400}', 'UNSAFE_NUMBER'],
      ['{', 'INVALID_JSON'],
      [`${'['.repeat(65)}${']'.repeat(65)}`, 'JSON_TOO_DEEP'],
    ] as const)
      expect((await post({ rawBody })).json).toMatchObject({ status: 400, code });
    expect((await post({ rawBody: ' '.repeat(262_145) })).json).toMatchObject({ status: 413 });
    const gone = await there.api.get('/.well-known/oauth-protected-resource');
    expectProblem({ ...gone, body: gone.json }, 'NOT_FOUND');
  });
});
