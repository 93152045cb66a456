import { describe, expect, it } from '@jest/globals';
import { Type } from '@sinclair/typebox';
import request from 'supertest';
import { AppError } from '@sealgate/errors';
import { expectProblem } from '@sealgate/testing';
import { plain, testRoute, testSurface } from '../test/test-surface.ts';
import { closedObject } from './index.ts';

const MAX_BYTES = 60;

const things = testRoute({
  ...plain,
  operationId: 'makeThing',
  method: 'post',
  path: '/v1/things/:kind',
  permit: 'things:read',
  charge: 2,
  params: closedObject({ kind: Type.String({ pattern: '^[a-z]+$' }) }),
  query: closedObject({ dry: Type.Optional(Type.Literal('yes')) }),
  body: closedObject({ name: Type.String(), size: Type.Integer() }),
  bodyMaxBytes: MAX_BYTES,
  errors: ['ALREADY_EXISTS'],
  handler: ({ body }) => {
    if (body.name === 'taken') throw new AppError('ALREADY_EXISTS', 'That name is taken.');
    return { status: 200, body };
  },
});

const forbidden = testRoute({
  ...plain,
  operationId: 'forbidden',
  method: 'post',
  path: '/v1/forbidden',
  permit: 'things:destroy',
  charge: 1,
  body: 'strict-json',
  bodyMaxBytes: MAX_BYTES,
  handler: () => ({ status: 200 }),
});

/** A request that is wrong in every way; each test fixes one thing and gets the next refusal. */
function attempt(changes: { path?: string; key?: string; type?: string; body?: string; method?: 'post' | 'put' }) {
  const { path = '/v1/things/NO?wet=1', key, type = 'text/plain', method = 'post' } = changes;
  const { body = `{"name": ${'x'.repeat(MAX_BYTES)}` } = changes;
  const surface = testSurface([things, forbidden]);
  const call = request(surface.app)[method](path).set('Content-Type', type);
  if (key !== undefined) call.set('X-Api-Key', key);
  return call.send(body);
}

describe('the order of refusal', () => {
  it('is the unknown path first', async () => {
    expectProblem(await attempt({ path: '/v1/thongs/NO?wet=1', method: 'put' }), 'NOT_FOUND');
  });

  it('then the method', async () => {
    const response = await attempt({ method: 'put' });
    expectProblem(response, 'METHOD_NOT_ALLOWED');
    expect(response.headers['allow']).toBe('POST');
  });

  it('then the key', async () => {
    expectProblem(await attempt({}), 'UNAUTHENTICATED');
    expectProblem(await attempt({ key: 'wrong' }), 'UNAUTHENTICATED');
  });

  it('then the limit, before the permission', async () => {
    expectProblem(await attempt({ key: 'poor' }), 'RATE_LIMITED', { retryAfterSeconds: 3 });
    expectProblem(await attempt({ key: 'poor', path: '/v1/forbidden' }), 'RATE_LIMITED');
  });

  it('then the permission of the route', async () => {
    expectProblem(await attempt({ key: 'good', path: '/v1/forbidden' }), 'FORBIDDEN');
  });

  it('then the media type', async () => {
    expectProblem(await attempt({ key: 'good' }), 'UNSUPPORTED_MEDIA_TYPE');
  });

  it('then the size', async () => {
    expectProblem(await attempt({ key: 'good', type: 'application/json' }), 'PAYLOAD_TOO_LARGE');
  });

  it('then the JSON', async () => {
    expectProblem(await attempt({ key: 'good', type: 'application/json', body: '{"name":' }), 'INVALID_JSON');
  });

  it('then the query, then the shape with all faults at once', async () => {
    const body = '{"size":"big","colour":"red"}';
    const wrong = { key: 'good', type: 'application/json', body };
    expectProblem(await attempt(wrong), 'UNKNOWN_PARAMETER', { errors: [{ in: 'query', pointer: '/wet' }] });
    const response = await attempt({ ...wrong, path: '/v1/things/NO?dry=no' });
    expectProblem(response, 'INVALID_REQUEST');
    const pointers = response.body.errors.map((fault: { in: string; pointer: string }) => fault.in + fault.pointer);
    expect(pointers.sort()).toEqual(['body/colour', 'body/name', 'body/size', 'query/dry']);
  });

  it('then the missing row, for an invalid path parameter', async () => {
    const body = '{"name":"taken","size":1}';
    expectProblem(await attempt({ key: 'good', type: 'application/json', body, path: '/v1/things/NO' }), 'NOT_FOUND');
  });

  it('then refusals of the handler', async () => {
    const fine = { key: 'good', type: 'application/json', path: '/v1/things/yes' };
    expectProblem(await attempt({ ...fine, body: '{"name":"taken","size":1}' }), 'ALREADY_EXISTS');
    const response = await attempt({ ...fine, body: '{"name":"free","size":1}' });
    expect(response.status).toBe(200);
    expect(response.body).toEqual({ name: 'free', size: 1 });
  });
});
