import { describe, expect, it } from '@jest/globals';
import { AppError } from '@sealgate/errors';
import { Type } from '@sinclair/typebox';
import { plain, testRoute, type TestCaller } from '../test/test-surface.ts';
import { bytesAsToolResult, limitParameter, listQuery, toolFrom, type ToolCall } from './index.ts';

const range = { default: 50, max: 200 };
const guard = { permits: ({ permissions }: TestCaller, permission: string) => permissions.includes(permission) };
const caller: TestCaller = { name: 'good', permissions: ['things:read'] };
const call: ToolCall<TestCaller> = { caller, requestId: 'r', traceparent: 't', signal: new AbortController().signal };

const reads = { ...plain, method: 'get', permit: 'things:read', charge: 1 } as const;

const list = testRoute({
  ...reads,
  path: '/things',
  summary: 'List things',
  query: listQuery(range, { colour: Type.Optional(Type.Union([Type.Literal('red'), Type.Literal('blue')])) }),
  responses: { 200: { description: 'A page.', schema: Type.Object({ items: Type.Array(Type.String()) }) } },
  handler: ({ query, caller: { name }, header }) => ({ status: 200, body: { query, name, seen: typeof header } }),
});

const item = testRoute({
  ...reads,
  path: '/things/:thingId',
  params: Type.Object({ thingId: Type.String({ pattern: '^thg_' }) }),
  handler: ({ params }) => ({ status: 200, body: params }),
});

const said = { title: 'List things', description: 'Use it to find things.' };

describe('a tool made from a route', () => {
  const tool = toolFrom(list, { name: 'list_things', ...said, guard });
  const getTool = toolFrom(item, {
    ...said,
    name: 'get_thing',
    guard,
    pathArguments: { thingId: { description: 'Of a list.', examples: ['thg_1'] } },
  });

  it('tells its handler that it is a tool call, and how large a page may be whose limit is left open', async () => {
    const route = testRoute({
      ...reads,
      path: '/told',
      query: listQuery(range, {}),
      handler: ({ isToolCall, pageMaxBytes }) => ({ status: 200, body: { isToolCall, pageMaxBytes } }),
    });
    const told = toolFrom(route, { name: 'told', ...said, guard, pageMaxBytes: 900 });
    for (const args of [{}, { limit: null }, { cursor: '' }])
      expect((await told.call(args, call)).body).toEqual({ isToolCall: true, pageMaxBytes: 900 });
    expect((await told.call({ limit: 7 }, call)).body).toEqual({ isToolCall: true, pageMaxBytes: undefined });
  });

  it('takes null, and an empty cursor, as absent', async () => {
    const reply = await tool.call({ limit: null, cursor: '', colour: null }, call);
    expect(reply.body).toMatchObject({ query: {} });
    expect((await tool.call({ cursor: null }, call)).body).toMatchObject({ query: {} });
    await expect(tool.call({ colour: '' }, call)).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    await expect(tool.call({ size: null }, call)).rejects.toMatchObject({ code: 'UNKNOWN_PARAMETER' });
    const missing = {
      code: 'INVALID_REQUEST',
      faults: [{ in: 'arguments', pointer: '/thingId', detail: 'is required' }],
    };
    await expect(getTool.call({ thingId: null }, call)).rejects.toMatchObject(missing);
  });

  it('counts the bytes of a JSON text as a result repeats and escapes it', () => {
    const json = '{"a\\"b":"Zürich 😀"}';
    const result = JSON.stringify({ text: json, value: JSON.parse(json) as object });
    expect(bytesAsToolResult(json)).toBe(Buffer.byteLength(result) - '{"text":"","value":}'.length);
  });

  it('has the given description, with integers for decimals and enums for choices', () => {
    expect(tool).toMatchObject({ name: 'list_things', ...said });
    expect(tool.inputSchema).toEqual({
      type: 'object',
      properties: {
        limit: { type: 'integer', minimum: 1, maximum: 200, default: 50, description: expect.any(String) },
        cursor: { type: 'string', pattern: expect.any(String), description: expect.any(String) },
        colour: { type: 'string', enum: ['red', 'blue'] },
      },
      additionalProperties: false,
    });
    expect(tool.outputSchema).toEqual({
      type: 'object',
      required: ['items'],
      properties: { items: { type: 'array', items: { type: 'string' } } },
    });
    expect(getTool.inputSchema).toEqual({
      type: 'object',
      properties: { thingId: { type: 'string', description: 'Of a list.', examples: ['thg_1'] } },
      required: ['thingId'],
      additionalProperties: false,
    });
  });

  it('passes the handler the same as a request would', async () => {
    const reply = await tool.call({ limit: 7, colour: 'red' }, call);
    expect(reply).toEqual({
      status: 200,
      body: { query: { limit: '7', colour: 'red' }, name: 'good', seen: 'function' },
    });
    expect(await getTool.call({ thingId: 'thg_1' }, call)).toEqual({
      status: 200,
      body: { thingId: 'thg_1' },
    });
  });

  it.each<[object, string]>([
    [{ colour: 'green' }, 'INVALID_REQUEST'],
    [{ colour: 1 }, 'INVALID_REQUEST'],
    [{ limit: '7' }, 'INVALID_LIMIT'],
    [{ limit: 0 }, 'INVALID_LIMIT'],
    [{ limit: 201 }, 'INVALID_LIMIT'],
    [{ limit: 1.5 }, 'INVALID_LIMIT'],
    [{ cursor: ' ' }, 'INVALID_CURSOR'],
    [{ cursor: 7 }, 'INVALID_CURSOR'],
    [{ cursor: 'abc', colour: 'green' }, 'INVALID_CURSOR'],
    [{ limit: 0, cursor: ' ', colour: 'green' }, 'INVALID_LIMIT'],
    [{ size: 1, limit: 0 }, 'UNKNOWN_PARAMETER'],
    [{ constructor: 1 }, 'UNKNOWN_PARAMETER'],
  ])('refuses %j', async (args, code) => {
    await expect(tool.call({ ...args }, call)).rejects.toMatchObject({ code });
  });

  it('points at unknown arguments by RFC 6901, at most a hundred', async () => {
    await expect(tool.call({ 'a/b~c': 1 }, call)).rejects.toMatchObject({ faults: [{ pointer: '/a~1b~0c' }] });
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`a${index}`, 1]));
    const refused = await tool.call(many, call).catch((error: unknown) => error);
    expect((refused as AppError).faults).toHaveLength(100);
  });

  it('points into the arguments, also for faults found by the handler', async () => {
    const faults = [{ in: 'query', pointer: '/colour', detail: 'is out of print' }] as const;
    const picky = testRoute({
      ...reads,
      path: '/picky',
      query: listQuery(range, { colour: Type.Optional(Type.String()) }),
      handler: () => {
        throw new AppError('INVALID_REQUEST', 'No.', { faults });
      },
    });
    const refusals = [
      tool.call({ colour: 'green' }, call),
      tool.call({ colour: 1 }, call),
      toolFrom(picky, { name: 'picky', ...said, guard }).call({ colour: 'red' }, call),
    ];
    for (const refusal of refusals)
      await expect(refusal).rejects.toMatchObject({ faults: [{ in: 'arguments', pointer: '/colour' }] });
  });

  it('checks the permission at every call', async () => {
    const poor = { ...caller, permissions: [] };
    expect([tool.mayCall(caller), tool.mayCall(poor)]).toEqual([true, false]);
    await expect(tool.call({}, { ...call, caller: poor })).rejects.toMatchObject({ code: 'FORBIDDEN' });
  });

  it('answers NOT_FOUND for an impossible id, and reports a missing one', async () => {
    await expect(getTool.call({ thingId: 'x' }, call)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(getTool.call({}, call)).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      faults: [{ in: 'arguments', pointer: '/thingId' }],
    });
  });

  it.each([
    ['writes', testRoute({ ...plain, method: 'post', path: '/x', handler: () => ({ status: 200 }) })],
    ['is open', testRoute({ ...plain, method: 'get', path: '/x', handler: () => ({ status: 200 }) })],
    [
      'decides in its handler',
      testRoute({ ...reads, permit: 'byHandler', path: '/x', handler: () => ({ status: 200 }) }),
    ],
  ])('cannot be made from a route that %s', (_what, route) => {
    expect(() => toolFrom(route, { name: 'x', ...said, guard })).toThrow('only a GET route');
  });
});

describe('a query', () => {
  it('has its limit as a string', () => expect(limitParameter(range).type).toBe('string'));
});
