import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { Type } from '@sinclair/typebox';
import { plain, testRoute } from '../test/test-surface.ts';
import { checkOpenApiFile, closedObject, instantText, listOf, listQuery, openApi } from './index.ts';

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
    200: { description: 'Written.', schema: Type.Object({}) },
    503: { description: 'Plain.', contentType: 'text/plain', otherTypes: ['text/html'] },
  },
  wrongMediaType: 'INVALID_HEADER',
  problem: (problem) => ({ ...problem, decision: false }),
  problemMembers: Type.Object({ decision: Type.Literal(false) }),
  errors: ['LEDGER_UNAVAILABLE', 'IDEMPOTENCY_KEY_REQUIRED', 'PRECONDITION_REQUIRED'],
  handler: () => ({ status: 200 }),
});

const open = testRoute({
  ...plain,
  operationId: 'open',
  method: 'get',
  path: '/open',
  handler: () => ({ status: 200 }),
});

const document = openApi({
  title: 'Things',
  version: '1.2.3',
  description: 'About things.',
  routes: [list, ingest, open],
  securityScheme: 'ApiKey',
  servers: ['https://things.example'],
});

/** The member at a path, as `expect` sees it. */
function at(...path: string[]): unknown {
  return path.reduce<unknown>((value, name) => (value as Record<string, unknown>)[name], document);
}

const codesOf = (path: string, method: string, status: string) =>
  at(
    'paths',
    path,
    method,
    'responses',
    status,
    'content',
    'application/problem+json',
    'schema',
    'allOf',
    '1',
    'properties',
    'code',
    'enum',
  );

describe('the OpenAPI document', () => {
  it('opens as 3.1 with what was given', () => {
    expect(document).toMatchObject({
      openapi: '3.1.0',
      info: { title: 'Things', version: '1.2.3', description: 'About things.' },
      servers: [{ url: 'https://things.example' }],
      components: { securitySchemes: { ApiKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key' } } },
    });
    expect(Object.keys(at('paths') as object)).toEqual(['/v1/things', '/{networkId}/{rest}', '/open']);
  });

  it('describes an operation by the fields of its route', () => {
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
    expect(at('paths', '/{networkId}/{rest}', 'post', 'parameters')).toMatchObject([
      { name: 'networkId', in: 'path', required: true, schema: { type: 'string', pattern: '^n' } },
      { name: 'rest', in: 'path', required: true, schema: { type: 'string' } },
      { name: 'Idempotency-Key', in: 'header', required: true },
      { name: 'If-Match', in: 'header', required: true },
    ]);
    expect(at('paths', '/{networkId}/{rest}', 'post', 'requestBody')).toEqual({
      required: true,
      content: { 'application/json': { schema: {} } },
    });
  });

  it('lists every code a route may answer, those of its fields included', () => {
    expect(codesOf('/v1/things', 'get', '400')).toEqual([
      'INVALID_CURSOR',
      'INVALID_HEADER',
      'INVALID_LIMIT',
      'INVALID_REQUEST',
      'UNKNOWN_PARAMETER',
    ]);
    expect(codesOf('/v1/things', 'get', '403')).toEqual(['FORBIDDEN', 'TLS_REQUIRED']);
    expect(codesOf('/{networkId}/{rest}', 'post', '400')).toEqual([
      'DUPLICATE_MEMBER',
      'IDEMPOTENCY_KEY_REQUIRED',
      'INVALID_HEADER',
      'INVALID_IDEMPOTENCY_KEY',
      'INVALID_JSON',
      'JSON_TOO_DEEP',
      'UNSAFE_NUMBER',
    ]);
    expect(codesOf('/{networkId}/{rest}', 'post', '503')).toEqual(['LEDGER_UNAVAILABLE', 'UNAVAILABLE']);
    expect(Object.keys(at('paths', '/open', 'get', 'responses') as object)).toEqual(['200', '400', '403', '500']);
  });

  it('keeps an answer of the route beside the problem of the same status', () => {
    const both = at('paths', '/{networkId}/{rest}', 'post', 'responses', '503', 'content') as object;
    expect(Object.keys(both)).toEqual(['text/plain', 'text/html', 'application/problem+json']);
  });

  it('says what a route adds to its problems, and that a coding can be refused whatever its media type means', () => {
    const path = '/{networkId}/{rest}';
    expect(codesOf(path, 'post', '415')).toEqual(['UNSUPPORTED_MEDIA_TYPE']);
    const schema = at('paths', path, 'post', 'responses', '415', 'content', 'application/problem+json', 'schema');
    expect(schema).toMatchObject({ allOf: [{}, {}, { properties: { decision: { const: false } } }] });
  });

  it('names the headers of each answer', () => {
    const headers = (path: string, method: string, status: string) =>
      Object.keys(at('paths', path, method, 'responses', status, 'headers') as object);
    expect(headers('/v1/things', 'get', '200')).toEqual(['X-Request-Id', 'RateLimit-Policy', 'RateLimit', 'Link']);
    expect(headers('/v1/things', 'get', '429')).toEqual([
      'X-Request-Id',
      'RateLimit-Policy',
      'RateLimit',
      'Retry-After',
    ]);
    expect(headers('/v1/things', 'get', '401')).toContain('WWW-Authenticate');
    expect(headers('/{networkId}/{rest}', 'post', '200')).toContain('Idempotent-Replayed');
    expect(headers('/{networkId}/{rest}', 'post', '409')).toContain('Retry-After');
    expect(headers('/open', 'get', '200')).toEqual(['X-Request-Id']);
  });

  it('refers to nothing that is not there', () => {
    const refs = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path = '']) => path);
    expect(refs.length).toBeGreaterThan(0);
    for (const ref of refs) expect(at(...ref.split('/'))).toBeDefined();
  });
});

describe('checkOpenApiFile', () => {
  it('passes when the file says what the routes say, and names the line where it does not', () => {
    const folder = mkdtempSync(join(tmpdir(), 'openapi-'));
    const path = join(folder, 'openapi.json');
    checkOpenApiFile(path, document, { write: true });
    expect(() => checkOpenApiFile(path, document, { write: false })).not.toThrow();
    writeFileSync(path, `${JSON.stringify(document, null, 2).replace('1.2.3', '1.2.2')}\n`);
    expect(() => checkOpenApiFile(path, document, { write: false })).toThrow(/stale at line 5.*1\.2\.2.*1\.2\.3/);
    rmSync(folder, { recursive: true });
  });
});
