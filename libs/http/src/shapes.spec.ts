import { describe, expect, it } from '@jest/globals';
import { Type, type TSchema } from '@sinclair/typebox';
import request from 'supertest';
import { expectProblem } from '@sealgate/testing';
import { plain, testRoute, testSurface } from '../test/test-surface.ts';
import { closedObject, instantText, lineOfText, listQuery, named } from './index.ts';
import { SchemaCompiler } from './check-shape.ts';
import { orNull } from './schemas.ts';

/** The faults of a value, as `pointer detail`. */
function faultsOf(schema: TSchema, value: unknown): string[] {
  const validate = new SchemaCompiler('at-start').compile(schema, 'body');
  return validate(value, 0).map(({ pointer, detail }) => `${pointer} ${detail}`);
}

describe('faults of a body', () => {
  const Address = closedObject({ city: Type.String() });
  const Body = closedObject({
    name: lineOfText({ min: 1, max: 5 }),
    kind: Type.Union([Type.Literal('a'), Type.Literal('b')]),
    address: Type.Union([Address, Type.Null()]),
    size: Type.Optional(Type.Integer({ minimum: 1 })),
  });
  const fine = { name: 'x', kind: 'a', address: null };

  it('are empty when it is valid', () => {
    expect(faultsOf(Body, fine)).toEqual([]);
    expect(faultsOf(Body, { ...fine, address: { city: 'y' }, size: 1 })).toEqual([]);
  });

  it('point at the missing or unknown members themselves, escaped', () => {
    expect(faultsOf(Body, { ...fine, name: undefined, 'a/b~c': 1 })).toEqual(
      expect.arrayContaining(['/a~1b~0c is not a known member']),
    );
    expect(faultsOf(Body, { kind: 'a', address: null })).toEqual(['/name is required']);
  });

  it('of an enum list the allowed values', () => {
    expect(faultsOf(Body, { ...fine, kind: 'c' })).toEqual(['/kind must be one of "a", "b"']);
  });

  it('inside one branch of a union are reported at their location', () => {
    expect(faultsOf(Body, { ...fine, address: { city: 1 } })).toEqual(['/address/city must be string']);
    expect(faultsOf(Body, { ...fine, address: 'x' })).toEqual(['/address must be object']);
  });

  it.each<[string, TSchema, unknown, string]>([
    ['a pattern', Type.String({ pattern: '^[a-z]+$' }), 'A', 'must have the documented form, ^[a-z]+$'],
    ['an empty text', Type.String({ minLength: 1 }), '', 'must not be empty'],
    ['a short text', Type.String({ minLength: 2 }), 'a', 'must have at least 2 characters'],
    ['a long text', Type.String({ maxLength: 1 }), 'ab', 'must have at most 1 character'],
    ['an empty list', Type.Array(Type.Integer(), { minItems: 1 }), [], 'must not be empty'],
    ['a short list', Type.Array(Type.Integer(), { minItems: 2 }), [1], 'must have at least 2 entries'],
    ['a long list', Type.Array(Type.Integer(), { maxItems: 0 }), [1], 'must have at most 0 entries'],
    ['an entry twice', Type.Array(Type.Integer(), { uniqueItems: true }), [1, 1], 'must have no entry twice'],
    ['a small number', Type.Integer({ minimum: 1 }), 0, 'must be at least 1'],
    ['a large number', Type.Integer({ maximum: 1 }), 2, 'must be at most 1'],
    ['what may be null', Type.Union([Type.Integer({ maximum: 1 }), Type.Null()]), 2, 'must be at most 1'],
  ])('of %s are in plain words', (_what, schema, value, words) => {
    expect(faultsOf(closedObject({ it: schema }), { it: value })).toEqual([`/it ${words}`]);
  });

  it('of a union name the nearest form and why it failed', () => {
    const Card = named('Card', closedObject({ kind: Type.Literal('card'), number: Type.String() }));
    const Cash = named('Cash', closedObject({ kind: Type.Literal('cash'), amount: Type.Integer(), of: Address }));
    const Paid = closedObject({ by: Type.Union([Card, Cash, Type.Null()]), at: orNull(instantText()) });
    const at = null;
    const none = '/by matches none of the allowed forms; nearest is';
    // The discriminating member decides, not the number of faults; those of other forms are left out.
    expect(faultsOf(Paid, { at, by: { kind: 'cash', of: { city: 1 } } })).toEqual([
      '/by/amount is required',
      '/by/of/city must be string',
      `${none} the form Cash: /amount is required; /of/city must be string`,
    ]);
    expect(faultsOf(Paid, { at, by: { kind: 'card', number: '1', amount: 1 } })).toEqual([
      '/by/amount is not a known member',
      `${none} the form Card: /amount is not a known member`,
    ]);
    expect(faultsOf(Paid, { at, by: { number: '1' } })).toEqual([
      '/by/kind is required',
      `${none} the form Card: /kind is required`,
    ]);
    expect(faultsOf(Paid, { at, by: 7 })).toEqual([`${none} the form Card: must be object`]);
    // null is never the nearest form.
    expect(faultsOf(Paid, { by: null, at: 'soon' })).toEqual([
      '/at must be an RFC 3339 time with Z or an offset, and up to 12 fraction digits',
    ]);
    expect(faultsOf(Paid, { by: null, at: 7 })).toEqual(['/at must be string']);
  });

  it('of a union within a union are those of the nearest forms only', () => {
    const Leaf = Type.Union([closedObject({ a: Type.Integer() }), closedObject({ b: Type.Integer() })]);
    const Tree = Type.Array(Type.Union([closedObject({ leaf: Leaf }), Type.String()]));
    expect(faultsOf(Tree, ['x', { leaf: { b: 'x' } }])).toEqual([
      '/1/leaf/b must be integer',
      '/1/leaf matches none of the allowed forms; nearest is the form object: /b must be integer',
      expect.stringMatching(/^\/1 matches none of the allowed forms; nearest is the form object: /),
    ]);
  });

  it('count code points, and refuse control characters', () => {
    expect(faultsOf(Body, { ...fine, name: '😀😀😀😀😀' })).toEqual([]);
    expect(faultsOf(Body, { ...fine, name: '😀😀😀😀😀😀' })).toHaveLength(1);
    for (const text of ['a\u0000', 'a\n', '\u001f', '\u007f']) {
      expect(faultsOf(Body, { ...fine, name: text })).toHaveLength(1);
    }
  });

  it('are not hidden by coercion', () => {
    expect(faultsOf(Body, { ...fine, size: '1' })).toEqual(['/size must be integer']);
    expect(faultsOf(Body, { ...fine, address: undefined })).toHaveLength(1);
  });

  it('ignore inherited members', () => {
    expect(faultsOf(closedObject({ constructor: Type.Unknown() }), {})).toEqual(['/constructor is required']);
  });

  it('never quote the input', () => {
    const secret = 'svc_secret';
    expect(faultsOf(Body, { name: secret, kind: secret, address: secret, size: secret }).join()).not.toContain(secret);
  });

  it('are limited to a hundred, and to the first one in a large body', () => {
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`m${i}`, 1]));
    expect(faultsOf(Body, many)).toHaveLength(100);
    const validate = new SchemaCompiler('at-start').compile(Body, 'body');
    expect(validate(many, 262_145)).toHaveLength(1);
    expect(validate(fine, 262_145)).toEqual([]);
  });

  it('are found quickly even if many unions fail', () => {
    const unions = Type.Array(Type.Union([Type.Literal('a'), Type.Literal('b')]));
    const started = performance.now();
    expect(faultsOf(unions, Array(50_000).fill(1))).toHaveLength(100);
    expect(performance.now() - started).toBeLessThan(3000);
  });
});

describe('the query of a list', () => {
  const list = testRoute({
    ...plain,
    method: 'get',
    path: '/list',
    query: listQuery({ default: 50, max: 200 }, { state: Type.Optional(Type.Literal('open')) }),
    handler: ({ query }) => ({ status: 200, body: query }),
  });
  const { app } = testSurface([list]);
  const ask = (query: string) => request(app).get(`/list?${query}`);

  it('passes strings', async () => {
    expect((await ask('limit=200&cursor=abc&state=open')).body).toEqual({ limit: '200', cursor: 'abc', state: 'open' });
    expect((await ask('')).body).toEqual({});
  });

  it.each(['0', '201', '01', '+1', '1.0', '1e2', '', ' 1', '10000', 'x', '-1'])('refuses limit=%s', async (limit) => {
    const response = await ask(`limit=${encodeURIComponent(limit)}`);
    expectProblem(response, 'INVALID_LIMIT', { errors: [{ in: 'query', pointer: '/limit' }] });
  });

  it.each(['', 'a=b', 'a b', 'x'.repeat(513)])('refuses cursor=%s', async (cursor) => {
    expectProblem(await ask(`cursor=${encodeURIComponent(cursor)}`), 'INVALID_CURSOR');
  });

  it('refuses parameters that are unknown or repeated, naming each', async () => {
    expectProblem(await ask('limit=1&limit=1&no=1&a/b=1&__proto__=1'), 'UNKNOWN_PARAMETER', {
      errors: ['/limit', '/no', '/a~1b', '/__proto__'].map((pointer) => ({ in: 'query', pointer })),
    });
  });

  it('refuses in the order parameter, limit, cursor, the rest', async () => {
    expectProblem(await ask('no=1&limit=0&cursor=&state=x'), 'UNKNOWN_PARAMETER');
    expectProblem(await ask('limit=0&cursor=&state=x'), 'INVALID_LIMIT');
    expectProblem(await ask('cursor=&state=x'), 'INVALID_CURSOR');
    // A cursor is bound to valid filters, so with an invalid filter it belongs to no list.
    expectProblem(await ask('cursor=abc&state=x'), 'INVALID_CURSOR', { errors: [{ in: 'query', pointer: '/cursor' }] });
    expectProblem(await ask('state=x'), 'INVALID_REQUEST', { errors: [{ in: 'query', pointer: '/state' }] });
  });
});

describe('the body of a list', () => {
  const list = testRoute({
    ...plain,
    method: 'post',
    path: '/list',
    body: closedObject({
      type: Type.String(),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10 })),
      cursor: Type.Optional(Type.String({ minLength: 1 })),
    }),
    bodyMaxBytes: 1000,
    handler: ({ body }) => ({ status: 200, body }),
  });
  const { app } = testSurface([list]);
  const ask = (body: object, query = '') => request(app).post(`/list${query}`).send(body);

  it('has its limit and cursor refused like those of a query', async () => {
    expect((await ask({ type: 'a', limit: 10, cursor: 'x' })).status).toBe(200);
    expectProblem(await ask({ limit: 0, cursor: '' }, '?no=1'), 'UNKNOWN_PARAMETER');
    expectProblem(await ask({ limit: 0, cursor: '' }), 'INVALID_LIMIT', {
      errors: [{ in: 'body', pointer: '/limit' }],
    });
    expectProblem(await ask({ cursor: '' }), 'INVALID_CURSOR', { errors: [{ in: 'body', pointer: '/cursor' }] });
    expectProblem(await ask({ limit: 1 }), 'INVALID_REQUEST', { errors: [{ in: 'body', pointer: '/type' }] });
  });
});

describe('a timestamp', () => {
  it.each(['2026-01-01T00:00:00Z', '2026-11-28t01:16:02.123456789z', '2024-02-29T00:00:00.123456789012+14:00'])(
    'may be %s',
    (text) => {
      expect(faultsOf(instantText(), text)).toEqual([]);
    },
  );

  it.each(['2026-01-01', '2026-01-01 00:00:00Z', '2026-01-01T00:00:00.1234567890123Z', '2026-01-01T24:00:00Z', ''])(
    'may not be "%s", and the fault says what is accepted',
    (text) => {
      expect(faultsOf(instantText(), text)).toEqual([
        ' must be an RFC 3339 time with Z or an offset, and up to 12 fraction digits',
      ]);
    },
  );
});
