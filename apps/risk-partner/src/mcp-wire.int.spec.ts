import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem } from '@sealgate/testing';
import { listOf, rowsOf } from './testing/demo-rows.ts';
import { testInstallation, type TestInstallation, type TestPerson } from './testing/test-installation.ts';
import { MCP_HEADERS } from './testing/http-caller.ts';

let service: TestInstallation;
let owner: TestPerson;
let viewer: TestPerson;

beforeAll(async () => {
  service = await testInstallation({ MCP_ALLOWED_ORIGINS: 'https://tools.example' });
  const orgId = await service.newOrg();
  owner = await service.newPerson(orgId, ['owner']);
  viewer = await service.newPerson(orgId, ['viewer'], { scope: { departments: ['ops'] } });
  await rowsOf(service, owner).risk({ department: 'ops' });
}, 120_000);
afterAll(() => service.stop());

describe('messages other than tool calls', () => {
  const ping = { jsonrpc: '2.0', id: 7, method: 'ping' };
  const post = (sent: { key?: string; body?: unknown; rawBody?: string; headers?: Record<string, string> }) =>
    service.api.send('POST', '/mcp', {
      key: owner.key,
      body: ping,
      ...sent,
      headers: { ...MCP_HEADERS, ...sent.headers },
    });
  const problem = async (answer: ReturnType<typeof post>, code: string) => {
    const { json, ...rest } = await answer;
    expectProblem({ ...rest, body: json }, code, {});
  };

  it('are answered as MCP specifies', async () => {
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
  ])('reports invalid parameters of %s to the caller: %j', async (method, params) => {
    const { status, json } = await post({ body: { ...ping, method, params } });
    expect([status, json]).toEqual([200, { jsonrpc: '2.0', id: 7, error: expect.objectContaining({ code: -32602 }) }]);
  });

  it.each([['x'], [[]], [7]])('refuses %j as arguments of a tool', async (args) => {
    const body = { ...ping, method: 'tools/call', params: { name: 'list_risks', arguments: args } };
    const structuredContent: unknown = expect.objectContaining({ status: 400, code: 'INVALID_REQUEST' });
    expect((await post({ body })).json).toMatchObject({ result: { isError: true, structuredContent } });
  });

  const [JSON_TYPE, EVENTS] = ['application/json; charset=utf-8', 'text/event-stream'];
  it.each([
    ['APPLICATION/JSON, Text/Event-Stream', 200, JSON_TYPE],
    ['text/event-stream;q=0.5 , application/json; v=1', 200, JSON_TYPE],
    ['application/json', 200, JSON_TYPE],
    ['*/*', 200, JSON_TYPE],
    ['text/html, */*;q=0.8', 200, JSON_TYPE],
    ['application/*', 200, JSON_TYPE],
    ['', 200, JSON_TYPE],
    ['text/event-stream', 200, EVENTS],
    ['text/*', 200, EVENTS],
    ['application/json;q=0, */*', 200, EVENTS],
    ['text/html', 406, undefined],
    ['application/json;q=0', 406, undefined],
    ['*/*;q=0.0', 406, undefined],
    ['application/jsonx, text/event-streams', 406, undefined],
  ])('are accepted or refused by Accept: %s', async (accept, status, type) => {
    const answer = await post({ headers: { accept } });
    expect(answer.status).toBe(status);
    if (status === 406) expect(answer.json).toMatchObject({ code: 'NOT_ACCEPTABLE' });
    else expect(String(answer.headers['content-type']).split(';')[0]).toBe(String(type).split(';')[0]);
  });

  it('need no Accept', async () => {
    const answer = await service.api.send('POST', '/mcp', { key: owner.key, body: ping });
    expect([answer.status, answer.json]).toEqual([200, { jsonrpc: '2.0', id: 7, result: {} }]);
  });

  it('are one event for a client that accepts text/event-stream alone', async () => {
    const headers = { accept: 'text/event-stream' };
    const body = { ...ping, method: 'tools/call', params: { name: 'list_risks', arguments: null } };
    const { status, text } = await post({ headers, body });
    const [, json] = /^event: message\ndata: (.+)\n\n$/.exec(text) ?? [];
    expect(status).toBe(200);
    expect(JSON.parse(json!)).toMatchObject({ result: { structuredContent: { pagination: { count: 1 } } } });
    const notification = await post({ headers, body: { jsonrpc: '2.0', method: 'notifications/initialized' } });
    expect([notification.status, notification.text]).toEqual([202, '']);
    expect((await post({ headers, rawBody: '{' })).json).toMatchObject({ code: 'INVALID_JSON' });
  });

  it.each(['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list'])(
    '%s refuses a cursor that it did not make, and takes null and the empty string as absent',
    async (method) => {
      const codeOf = async (cursor: unknown) => {
        const { json } = await post({ body: { ...ping, method, params: { cursor } } });
        return (json as { error?: { code: number } }).error?.code;
      };
      const answers = [await codeOf('MQ=='), await codeOf(7), await codeOf(null), await codeOf('')];
      expect(answers).toEqual([-32602, -32602, undefined, undefined]);
    },
  );

  it('take null as an absent argument of a prompt', async () => {
    const params = { name: 'summarise_coverage_gaps', arguments: { framework: null } };
    const { json } = await post({ body: { ...ping, method: 'prompts/get', params } });
    expect(JSON.stringify(json)).toContain('of every framework');
  });

  it('are refused in the order of the contract', async () => {
    const evil = { origin: 'https://evil.example' };
    await problem(service.api.send('DELETE', '/mcp', { headers: evil }), 'ORIGIN_NOT_ALLOWED');
    await problem(post({ headers: evil }), 'ORIGIN_NOT_ALLOWED');
    await problem(post({ headers: { host: 'rebound.example' } }), 'ORIGIN_NOT_ALLOWED');
    expect((await post({ headers: { origin: 'https://tools.example' } })).status).toBe(200);
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const answer = await service.api.send(method, '/mcp');
      expect([answer.status, answer.headers.allow]).toEqual([405, 'POST, OPTIONS']);
    }
    const unknown = await service.api.send('POST', '/mcp', { body: ping, headers: { accept: 'application/json' } });
    expectProblem({ ...unknown, body: unknown.json }, 'UNAUTHENTICATED');
    expect(unknown.headers['www-authenticate']).toBe('Bearer realm="sealgate"');
    await problem(post({ headers: { accept: 'text/html' } }), 'NOT_ACCEPTABLE');
    expect((await post({ body: [ping] })).json).toMatchObject({ status: 400, code: 'INVALID_REQUEST' });
    for (const [rawBody, code] of [
      ['{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', 'DUPLICATE_MEMBER'],
      ['{"id":1e400}', 'UNSAFE_NUMBER'],
      ['{', 'INVALID_JSON'],
      [`${'['.repeat(65)}${']'.repeat(65)}`, 'JSON_TOO_DEEP'],
    ] as const)
      expect((await post({ rawBody })).json).toMatchObject({ status: 400, code });
    expect((await post({ rawBody: ' '.repeat(262_145) })).json).toMatchObject({ status: 413 });
    const gone = await service.api.get('/.well-known/oauth-protected-resource');
    expectProblem({ ...gone, body: gone.json }, 'NOT_FOUND');
  });
});

describe('revision 2026-07-28', () => {
  const VERSION = '2026-07-28';
  const META = { 'io.modelcontextprotocol/protocolVersion': VERSION, 'io.modelcontextprotocol/clientCapabilities': {} };
  interface Changes {
    readonly params?: Readonly<Record<string, unknown>>;
    /** null omits it. */
    readonly meta?: unknown;
    /** undefined omits the header. */
    readonly headers?: Readonly<Record<string, string | undefined>>;
  }
  /** A valid message of the revision, except for the changes. */
  const send = (method: string, { params = {}, meta = META, headers = {} }: Changes = {}) => {
    const name = params['name'] ?? params['uri'];
    const all = {
      ...MCP_HEADERS,
      'mcp-protocol-version': VERSION,
      'mcp-method': method,
      ...(typeof name === 'string' && { 'mcp-name': name }),
      ...headers,
    };
    const sent = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
    return service.api.send('POST', '/mcp', {
      key: viewer.key,
      headers: Object.fromEntries(sent),
      body: { jsonrpc: '2.0', id: 7, method, params: { ...params, ...(meta === null ? {} : { _meta: meta }) } },
    });
  };

  it('is discovered, with cache hints', async () => {
    const { status, json } = await send('server/discover');
    expect(status).toBe(200);
    expect(json).toMatchObject({
      result: {
        resultType: 'complete',
        supportedVersions: [VERSION],
        capabilities: { tools: {}, resources: {}, prompts: {} },
        instructions: expect.stringContaining('whoami'),
        cacheScope: 'public',
        ttlMs: 3_600_000,
        _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'sealgate-risk-partner' } },
      },
    });
    const hints = async (method: string, params?: Changes['params']) => {
      const { result } = (await send(method, { params: params ?? {} })).json as { result: Record<string, unknown> };
      return [result['resultType'], result['cacheScope'], result['ttlMs']];
    };
    // Results that depend on the caller are private.
    expect(await hints('tools/list')).toEqual(['complete', 'private', 60_000]);
    expect(await hints('resources/templates/list')).toEqual(['complete', 'private', 60_000]);
    expect(await hints('prompts/list')).toEqual(['complete', 'public', 3_600_000]);
    expect(await hints('resources/list')).toEqual(['complete', 'public', 3_600_000]);
    const [risk] = (await listOf(service, viewer.key, '/api/v1/risks?limit=1')).items;
    expect(await hints('resources/read', { uri: `risk://${risk!.id}` })).toEqual(['complete', 'private', 0]);
  });

  it('needs no initialisation before a call, and has no session after it', async () => {
    const { status, json, headers } = await send('tools/call', { params: { name: 'whoami', arguments: {} } });
    expect([status, headers['mcp-session-id']]).toEqual([200, undefined]);
    expect(json).toMatchObject({ result: { resultType: 'complete', structuredContent: { roles: ['viewer'] } } });
  });

  const call = { name: 'whoami', arguments: {} };
  const mismatch: [number, number] = [400, -32_020];
  it.each<[string, string, Changes, [number, number]]>([
    ['no Mcp-Protocol-Version', 'tools/list', { headers: { 'mcp-protocol-version': undefined } }, mismatch],
    ['another version in the header', 'tools/list', { headers: { 'mcp-protocol-version': '2025-11-25' } }, mismatch],
    ['no Mcp-Method', 'tools/list', { headers: { 'mcp-method': undefined } }, mismatch],
    ['another Mcp-Method', 'tools/call', { params: call, headers: { 'mcp-method': 'tools/list' } }, mismatch],
    ['Mcp-Method in other letters', 'tools/list', { headers: { 'mcp-method': 'Tools/List' } }, mismatch],
    ['no Mcp-Name', 'tools/call', { params: call, headers: { 'mcp-name': undefined } }, mismatch],
    ['another Mcp-Name', 'tools/call', { params: call, headers: { 'mcp-name': 'list_risks' } }, mismatch],
    ['an Mcp-Name badly encoded', 'tools/call', { params: call, headers: { 'mcp-name': '=?base64?%%?=' } }, mismatch],
    ['a header and no _meta', 'tools/list', { meta: null }, [400, -32_602]],
    ['no capabilities', 'tools/list', { meta: { [Object.keys(META)[0]!]: VERSION } }, [400, -32_602]],
    ['a version that is no text', 'tools/list', { meta: { ...META, [Object.keys(META)[0]!]: 7 } }, [400, -32_602]],
    [
      'an unknown version',
      'tools/list',
      {
        meta: { ...META, 'io.modelcontextprotocol/protocolVersion': '2099-01-01' },
        headers: { 'mcp-protocol-version': '2099-01-01' },
      },
      [400, -32_022],
    ],
    ['a method of earlier revisions', 'ping', {}, [404, -32_601]],
    ['the handshake of earlier revisions', 'initialize', {}, [404, -32_601]],
    ['the log level of earlier revisions', 'logging/setLevel', { params: { level: 'info' } }, [404, -32_601]],
    ['a method of clients', 'sampling/createMessage', {}, [404, -32_601]],
    ['a method of an extension', 'tasks/list', {}, [404, -32_601]],
    ['a stream of changes', 'subscriptions/listen', { params: { notifications: {} } }, [404, -32_601]],
    ['a method that is a member of every object', 'constructor', {}, [404, -32_601]],
    ['a tool that is a member of every object', 'tools/call', { params: { name: 'constructor' } }, [200, -32_602]],
    ['a tool that is no text', 'tools/call', { params: { name: 7 } }, [200, -32_602]],
    ['a resource that is not there', 'resources/read', { params: { uri: 'risk://rsk_none' } }, [200, -32_602]],
    ['a resource of nobody', 'resources/read', { params: { uri: 'toString://x' } }, [200, -32_602]],
    ['a prompt of nobody', 'prompts/get', { params: { name: 'toString' } }, [200, -32_602]],
  ])('refuses %s (%s)', async (_what, method, changes, expected) => {
    const { status, json, headers } = await send(method, changes);
    expect([status, (json as { error: { code: number } }).error.code]).toEqual(expected);
    expect(json).toMatchObject({ jsonrpc: '2.0', id: 7 });
    expect(headers['content-type']).toMatch(/^application\/json/);
    expect(headers.ratelimit).toBeDefined();
  });

  it('accepts a name that was encoded for the header, and notifications', async () => {
    const name = `=?base64?${Buffer.from('whoami').toString('base64')}?=`;
    expect((await send('tools/call', { params: call, headers: { 'mcp-name': name } })).status).toBe(200);
    const notification = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { _meta: META, requestId: 7 } };
    const headers = { ...MCP_HEADERS, 'mcp-protocol-version': VERSION, 'mcp-method': 'notifications/cancelled' };
    const taken = await service.api.send('POST', '/mcp', { key: viewer.key, headers, body: notification });
    expect([taken.status, taken.text]).toEqual([202, '']);
  });

  it('refuses messages with too many values for the SDK, but accepts arguments of any size', async () => {
    const wide = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`k${index}`, index]));
    const capabilities = { 'io.modelcontextprotocol/clientCapabilities': { experimental: wide } };
    for (const changes of [{ meta: { ...META, ...wide } }, { meta: { ...META, ...capabilities } }, { params: wide }]) {
      const { status, json } = await send('tools/list', changes);
      expect([status, json]).toEqual([
        400,
        expect.objectContaining({ error: expect.objectContaining({ code: -32_600 }) }),
      ]);
    }
    const some = Object.fromEntries(Object.entries(wide).slice(0, 400));
    expect((await send('tools/list', { meta: { ...META, ...some } })).status).toBe(200);
    const { json } = await send('tools/call', { params: { ...call, arguments: wide } });
    expect(json).toMatchObject({ result: { structuredContent: { code: 'UNKNOWN_PARAMETER' } } });
    expect((await send('tools/call', { params: call, meta: { ...META, x: 'x'.repeat(262_144) } })).status).toBe(413);
  });
});
