import { describe, expect, it } from '@jest/globals';
import { Type } from '@sinclair/typebox';
import { plain, testRoute, testSurface, type TestCaller } from '../test/test-surface.ts';
import { closedObject, createApp, type Route } from './index.ts';

const fine = { ...plain, method: 'get', path: '/x', handler: () => ({ status: 200 }) } as const;

/** The error of an app with routes that the types would reject. */
function faultsOf(...routes: object[]): string {
  try {
    testSurface(routes as Route<TestCaller>[]);
  } catch (error) {
    return String(error);
  }
  return 'no faults';
}

const without = (name: keyof typeof fine) => ({ ...fine, [name]: undefined });

describe('the start of an app', () => {
  it('starts with valid routes', () => {
    expect(faultsOf(fine)).toBe('no faults');
  });

  it.each<[string, object]>([
    ['GET /x: permit is missing', without('permit')],
    ['GET /x: charge is missing or no positive whole number', without('charge')],
    ['GET /x: charge is missing or no positive whole number', { ...fine, permit: 'a', charge: 0 }],
    ['GET /x: charge is missing or no positive whole number', { ...fine, permit: 'a', charge: 1.5 }],
    ['GET /x: an open route has no caller to charge', { ...fine, charge: 1 }],
    ['GET /x: idempotency is missing', without('idempotency')],
    ['GET /x: a GET has no idempotency', { ...fine, idempotency: 'in-ledger' }],
    ['GET /x: operationId is missing', without('operationId')],
    ['GET /x: summary is missing', without('summary')],
    ['GET /x: handler is missing', without('handler')],
    ['GET /x: errors is missing', without('errors')],
    ['GET /x: errors names an unknown code: NO_SUCH_CODE', { ...fine, errors: ['NO_SUCH_CODE'] }],
    ['GET /x: responses has no success response', { ...fine, responses: { 404: { description: 'No.' } } }],
    ['TRACE /x: the method is not one of', { ...fine, method: 'trace' }],
    [
      'GET /x: params describes a parameter that is not in the path: y',
      { ...fine, params: closedObject({ y: Type.String() }) },
    ],
    ['GET /x: bodies of GET, DELETE and OPTIONS are not read', { ...fine, body: 'strict-json', bodyMaxBytes: 1 }],
    ['POST /x: bodyMaxBytes is missing', { ...fine, method: 'post', body: 'strict-json' }],
    ['POST /x: bodyOptional needs a body', { ...fine, method: 'post', bodyOptional: true }],
    [
      'POST /x: bodyOptional, prefetch and inspect need a parsed body',
      { ...fine, method: 'post', body: 'json-bytes', bodyMaxBytes: 1, inspect: () => undefined },
    ],
    [
      'POST /x: prefetch needs a body and a guard',
      { ...fine, method: 'post', body: 'strict-json', bodyMaxBytes: 1, prefetch: () => undefined },
    ],
    ['POST /x: a body of bytes needs mediaTypes', { ...fine, method: 'post', body: 'bytes', bodyMaxBytes: 1 }],
    [
      'POST /x: mediaTypes of JSON are application/json and +json',
      { ...fine, method: 'post', body: 'strict-json', bodyMaxBytes: 1, mediaTypes: ['text/plain'] },
    ],
    ['GET x: the path must begin with a slash', { ...fine, path: 'x' }],
    ['GET /x/: the path has a segment that is not allowed: ""', { ...fine, path: '/x/' }],
    ['GET /x//y: the path has a segment that is not allowed: ""', { ...fine, path: '/x//y' }],
    ['GET /..: the path has a segment that is not allowed: ".."', { ...fine, path: '/..' }],
    ['GET /{a}: the path has a segment that is not allowed: "{a}"', { ...fine, path: '/{a}' }],
    ['GET /{a}/{a}: the path names a parameter twice', { ...fine, path: '/:a/:a' }],
    ['GET /{a}/b: only the last segment of a path may match the rest', { ...fine, path: '/*a/b' }],
  ])('fails with: %s', (fault, route) => {
    expect(faultsOf(route)).toContain(`- ${fault}`);
  });

  it('fails when two routes share a method and path, or an operationId', () => {
    expect(faultsOf(fine, { ...fine, operationId: 'other' })).toContain('- GET /x: declared twice');
    expect(faultsOf(fine, { ...fine, path: '/y' })).toContain('- op: declared twice');
  });

  it('fails when a schema does not compile', () => {
    const query = closedObject({ a: Type.Unsafe({ type: 'text' }) });
    expect(faultsOf({ ...fine, query })).toMatch(/- op: .*type must be/);
    const misspelt = closedObject({ a: Type.String({ minimumLength: 3 }) });
    expect(faultsOf({ ...fine, query: misspelt })).toMatch(/- op: .*unknown keyword: "minimumLength"/);
  });

  it('fails when a path has conflicting rules', () => {
    const twice = [() => undefined, () => undefined].map((admit, i) => ({
      ...fine,
      admit,
      method: i === 0 ? 'get' : 'put',
      operationId: `op${i}`,
    }));
    expect(faultsOf(...twice)).toContain('- /x: a path has one admit at most');
    const problems = twice.map((route) => ({
      ...route,
      admit: undefined,
      problem: { decorate: (problem: object) => ({ ...problem }) },
    }));
    expect(faultsOf(...problems)).toContain('- /x: a path has one problem at most');
  });

  it('reports all faults of all routes at once', () => {
    const faults = faultsOf(without('permit'), { ...fine, path: '/y', operationId: 'y', charge: 1, errors: ['NO'] });
    expect(faults.split('\n- ')).toHaveLength(4);
  });

  it('fails when a route needs a guard and there is none', () => {
    const { app } = testSurface([]);
    expect(app).toBeInstanceOf(Function);
    const options = { ...optionsWithoutGuard(), routes: [testRoute({ ...fine, permit: 'authenticated' })] };
    expect(() => createApp<TestCaller>(options)).toThrow('op: a route that is not open needs a guard');
  });
});

function optionsWithoutGuard(): Omit<Parameters<typeof createApp<TestCaller>>[0], 'routes'> {
  const silent = () => undefined;
  const log = {
    error: silent,
    warn: silent,
    info: silent,
    debug: silent,
    child: () => log,
    requests: { write: silent },
  };
  return {
    guard: undefined,
    log,
    metrics: { route: () => ({ observe: silent }) },
    now: () => 0,
    newId: () => 'id',
    trustProxy: false,
    tlsTerminatedUpstream: false,
    head: true,
  };
}
