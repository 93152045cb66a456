import { describe, expect, it } from '@jest/globals';
import { Type } from '@sinclair/typebox';
import { plain, testRoute } from '../test/test-surface.ts';
import { closedObject, instantText, listOf, listQuery, named, openApi, type OpenApiOptions } from './index.ts';

const list = testRoute({
  ...plain,
  operationId: 'listThings',
  summary: 'Things.',
  description: 'All of **them**.',
  tags: ['things'],
  method: 'get',
  path: '/v1/things',
  permit: 'things:read',
  charge: 1,
  query: listQuery({ default: 50, max: 200 }, { since: Type.Optional(instantText()) }),
  responses: { 200: { description: 'A page.', schema: listOf(Type.String()), headers: { Link: 'The next page.' } } },
  handler: () => ({ status: 200 }),
});

const ingest = testRoute({
  ...plain,
  operationId: 'ingest',
  method: 'post',
  path: '/:networkId/*rest',
  permit: 'byHandler',
  charge: 'byHandler',
  idempotency: 'in-ledger',
  params: closedObject({ networkId: Type.String({ pattern: '^n' }) }),
  query: 'ignored',
  body: 'strict-json',
  bodyMaxBytes: 10,
  responses: {
    200: { description: 'Written.', schema: closedObject({}) },
    503: { description: 'Plain.', contentType: 'text/plain', otherTypes: ['text/html'] },
  },
  problem: {
    members: named('Refusal', Type.Object({ decision: Type.Literal(false) })),
    decorate: (problem) => ({ ...problem, decision: false }),
  },
  errors: ['LEDGER_UNAVAILABLE', 'IDEMPOTENCY_KEY_REQUIRED', 'PRECONDITION_REQUIRED'],
  handler: () => ({ status: 200 }),
});

const Ping = named('Ping', Type.Object({ type: Type.Literal('ping') }));

const forms = testRoute({
  ...plain,
  operationId: 'forms',
  method: 'post',
  path: '/forms',
  body: 'json-bytes',
  bodyMaxBytes: 10,
  mediaTypes: ['application/json', '+json'],
  describedAs: [{ body: Type.Union([Ping, named('Other', Type.Unsafe({ type: ['array', 'null'] }))]) }],
  handler: () => ({ status: 200 }),
});

const form = testRoute({
  ...plain,
  operationId: 'form',
  method: 'post',
  path: '/form',
  body: Type.Unknown(),
  bodyMaxBytes: 10,
  describedAs: [{ body: Ping }],
  handler: () => ({ status: 200 }),
});

const open = testRoute({
  ...plain,
  operationId: 'open',
  method: 'get',
  path: '/open',
  handler: () => ({ status: 200 }),
});

const uncharged = testRoute({
  ...plain,
  operationId: 'uncharged',
  method: 'get',
  path: '/uncharged',
  permit: 'authenticated',
  requestHeaders: { Prefer: 'What is liked.' },
  handler: () => ({ status: 200 }),
});

const about: OpenApiOptions = {
  title: 'Things',
  version: '1.2.3',
  description: 'About things.',
  routes: [list, ingest, open, forms, uncharged, form],
  securityScheme: 'ApiKey',
  publicUrl: 'https://things.example',
};
const document = openApi(about);

/** The member at a path, as for `expect`. */
function at(...path: string[]): unknown {
  return path.reduce<unknown>((value, name) => (value as Record<string, unknown>)[name], document);
}

/** Resolves a reference. */
function component(reference: unknown): unknown {
  const { $ref } = reference as { readonly $ref: string };
  return at(...$ref.replace('#/', '').split('/'));
}

const answerOf = (path: string, method: string, status: string) => {
  const answer = at('paths', path, method, 'responses', status) as object;
  return ('$ref' in answer ? component(answer) : answer) as {
    readonly headers: object;
    readonly content: Record<string, { readonly schema: unknown }>;
  };
};

const problemOf = (path: string, method: string, status: string) =>
  component(answerOf(path, method, status).content['application/problem+json']?.schema) as {
    readonly allOf: readonly [
      unknown,
      { readonly properties?: { readonly code: { readonly enum: readonly string[] } } },
    ];
  };

const codesOf = (path: string, method: string, status: string) =>
  problemOf(path, method, status).allOf[1].properties?.code.enum;

const codesIn = (problem: string) => at('components', 'schemas', problem, 'allOf', '1', 'properties', 'code', 'enum');

describe('the OpenAPI document', () => {
  it('starts with version 3.1 and the given info', () => {
    expect(document).toMatchObject({
      openapi: '3.1.0',
      info: { title: 'Things', version: '1.2.3', license: { identifier: 'Apache-2.0' } },
      servers: [{ url: 'https://things.example' }],
      components: { securitySchemes: { ApiKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key' } } },
    });
    expect(Object.keys(at('paths') as object)).toEqual([
      ...['/v1/things', '/{networkId}/{rest}', '/open', '/forms', '/uncharged', '/form'],
    ]);
    expect(openApi({ ...about, publicUrl: undefined })).toMatchObject({ servers: [{ url: '/' }] });
  });

  it('describes an operation from the fields of its route', () => {
    expect(at('paths', '/v1/things', 'get')).toMatchObject({
      operationId: 'listThings',
      summary: 'Things.',
      description: 'All of **them**.',
      tags: ['things'],
      security: [{ ApiKey: [] }],
      parameters: [
        {
          name: 'limit',
          in: 'query',
          required: false,
          schema: { type: 'integer', minimum: 1, maximum: 200, default: 50 },
        },
        { name: 'cursor', in: 'query', required: false, schema: { type: 'string' } },
        { name: 'since', in: 'query', required: false, schema: { type: 'string', format: 'date-time' } },
      ],
    });
    expect(at('paths', '/open', 'get', 'security')).toEqual([]);
    expect(at('paths', '/uncharged', 'get', 'parameters')).toEqual([{ $ref: '#/components/parameters/Prefer' }]);
    expect(at('components', 'parameters', 'Prefer')).toEqual({
      name: 'Prefer',
      in: 'header',
      required: false,
      description: 'What is liked.',
      schema: { type: 'string' },
    });
    expect(at('paths', '/{networkId}/{rest}', 'post', 'parameters')).toMatchObject([
      { name: 'networkId', in: 'path', required: true, schema: { type: 'string', pattern: '^n' } },
      { name: 'rest', in: 'path', required: true, schema: { type: 'string' } },
      { $ref: '#/components/parameters/RequiredIdempotencyKey' },
      { $ref: '#/components/parameters/RequiredIfMatch' },
    ]);
    expect(at('components', 'parameters')).toMatchObject({
      RequiredIdempotencyKey: { name: 'Idempotency-Key', in: 'header', required: true },
      RequiredIfMatch: { name: 'If-Match', in: 'header', required: true },
    });
    expect(at('paths', '/{networkId}/{rest}', 'post', 'requestBody')).toEqual({
      description: 'At most 10 bytes, counted after Content-Encoding is decoded.',
      required: true,
      content: { 'application/json': { schema: { $ref: '#/components/schemas/IngestRequest' } } },
    });
  });

  it('names the forms of a body without schema as one component', () => {
    expect(at('paths', '/forms', 'post', 'requestBody')).toEqual({
      description:
        'At most 10 bytes, counted after Content-Encoding is decoded. ' +
        'Any media type that ends in `+json` is accepted too.',
      required: true,
      content: { 'application/json': { schema: { $ref: '#/components/schemas/FormsRequest' } } },
    });
    expect(at('components', 'schemas')).toMatchObject({
      FormsRequest: { anyOf: [{ $ref: '#/components/schemas/Ping' }, { $ref: '#/components/schemas/Other' }] },
      Ping: { type: 'object', required: ['type'], properties: { type: { const: 'ping', type: 'string' } } },
      Other: { type: ['array', 'null'] },
    });
    expect(at('paths', '/form', 'post', 'requestBody')).toMatchObject({
      required: true,
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Ping' } } },
    });
  });

  it('describes each form of a path with a rest parameter as its own operation', () => {
    const params = Type.Object({ folder: Type.String({ pattern: '^f' }), name: Type.Integer() });
    const form = { path: '/files/{folder}/{name}.txt', operationId: 'readFile', summary: 'A file.', params };
    const files = testRoute({
      ...plain,
      method: 'get',
      path: '/files/*rest',
      describedAs: [form],
      handler: () => ({ status: 200 }),
    });
    const { paths } = openApi({ ...about, routes: [files] }) as { paths: Record<string, { get: object }> };
    expect(Object.keys(paths)).toEqual(['/files/{folder}/{name}.txt']);
    expect(paths['/files/{folder}/{name}.txt']?.get).toMatchObject({
      operationId: 'readFile',
      parameters: [
        { name: 'folder', in: 'path', required: true, schema: { type: 'string', pattern: '^f' } },
        { name: 'name', in: 'path', required: true, schema: { type: 'integer' } },
      ],
    });
  });

  it('lists every code a route may answer, including implied ones', () => {
    expect(codesOf('/v1/things', 'get', '400')).toEqual([
      'INVALID_CURSOR',
      'INVALID_HEADER',
      'INVALID_LIMIT',
      'INVALID_REQUEST',
      'UNKNOWN_PARAMETER',
    ]);
    expect(codesOf('/v1/things', 'get', '403')).toEqual(['FORBIDDEN', 'TLS_REQUIRED']);
    expect(codesIn('IdempotencyKeyRequiredOrInvalidIdempotencyKeyOrInvalidJsonProblem')).toEqual([
      'DUPLICATE_MEMBER',
      'IDEMPOTENCY_KEY_REQUIRED',
      'INVALID_HEADER',
      'INVALID_IDEMPOTENCY_KEY',
      'INVALID_JSON',
      'JSON_TOO_DEEP',
      'UNSAFE_NUMBER',
    ]);
    expect(codesIn('LedgerUnavailableOrUnavailableProblem')).toEqual(['LEDGER_UNAVAILABLE', 'UNAVAILABLE']);
    expect(Object.keys(at('paths', '/open', 'get', 'responses') as object)).toEqual(['200', '400', '403', '500']);
  });

  it('keeps a declared answer next to the problem of the same status', () => {
    const both = answerOf('/{networkId}/{rest}', 'post', '503').content;
    expect(Object.keys(both)).toEqual(['text/plain', 'text/html', 'application/problem+json']);
  });

  it('describes members added to problems, and the 415 of a body', () => {
    const path = '/{networkId}/{rest}';
    expect(component(problemOf(path, 'post', '415').allOf[0])).toMatchObject({
      allOf: [{}, { properties: { code: { enum: ['UNSUPPORTED_MEDIA_TYPE'] } } }],
    });
    const { schema } = answerOf(path, 'post', '415').content['application/problem+json']!;
    expect(schema).toEqual({ $ref: '#/components/schemas/UnsupportedMediaTypeRefusalProblem' });
    expect(at('components', 'schemas')).toMatchObject({
      UnsupportedMediaTypeRefusalProblem: {
        allOf: [{ $ref: '#/components/schemas/UnsupportedMediaTypeProblem' }, { $ref: '#/components/schemas/Refusal' }],
      },
      Refusal: { properties: { decision: { const: false } } },
    });
    const unnamed = { ...ingest, problem: { ...ingest.problem!, members: Type.Object({}) } };
    expect(() => openApi({ ...about, routes: [unnamed] })).toThrow('ingest: the members that problem adds have no');
  });

  it('lists the headers of each answer', () => {
    const headers = (path: string, method: string, status: string) =>
      Object.keys(answerOf(path, method, status).headers);
    expect(headers('/v1/things', 'get', '200')).toEqual(['X-Request-Id', 'RateLimit-Policy', 'RateLimit', 'Link']);
    expect(headers('/v1/things', 'get', '429')).toEqual([
      'X-Request-Id',
      'RateLimit-Policy',
      'RateLimit',
      'Retry-After',
    ]);
    expect(headers('/v1/things', 'get', '401')).toEqual(['X-Request-Id', 'WWW-Authenticate']);
    expect(headers('/uncharged', 'get', '200')).toEqual(['X-Request-Id']);
    expect(headers('/uncharged', 'get', '429')).toContain('RateLimit');
    expect(headers('/{networkId}/{rest}', 'post', '200')).toContain('Idempotent-Replayed');
    expect(headers('/{networkId}/{rest}', 'post', '409')).toContain('Retry-After');
    expect(headers('/open', 'get', '200')).toEqual(['X-Request-Id']);
  });

  it('has no dangling references and no unused components', () => {
    const small = openApi({ ...about, routes: [open] });
    expect(small['components']).toMatchObject({ headers: { 'X-Request-Id': {} } });
    expect(JSON.stringify(small)).not.toMatch(/Idempotent-Replayed|RateLimit/);
    const refs = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path = '']) => path);
    for (const ref of refs) expect(at(...ref.split('/'))).toBeDefined();
  });
});
