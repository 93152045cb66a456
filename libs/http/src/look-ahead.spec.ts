import { describe, expect, it } from '@jest/globals';
import { AppError } from '@sealgate/errors';
import { expectProblem } from '@sealgate/testing';
import { Type } from '@sinclair/typebox';
import supertest from 'supertest';
import { plain, testRoute, testSurface } from '../test/test-surface.ts';
import { closedObject } from './parameters.ts';

const route = testRoute({
  ...plain,
  method: 'post',
  path: '/ahead',
  permit: 'things:read',
  body: closedObject({ name: Type.String() }),
  bodyMaxBytes: 64,
  wrongMediaType: 'INVALID_HEADER',
  lookAhead: (body) => (body as { name?: unknown }).name,
  inspect: (body) => {
    if ('secret' in (body as object)) throw new AppError('VAULT_BYTES_NOT_ALLOWED', 'No secrets.');
  },
  errors: ['VAULT_BYTES_NOT_ALLOWED'],
  handler: async ({ body }) => ({ status: 200, body: { name: body.name } }),
});

function surface() {
  const seen: unknown[] = [];
  const made = testSurface([route], {
    guardChanges: {
      authenticate: async (request) => {
        seen.push(request.ahead);
        if (request.header('x-api-key')[0] !== 'good') throw new AppError('UNAUTHENTICATED', 'No.');
        return { name: 'good', permissions: ['things:read'] };
      },
    },
  });
  return { ...made, seen };
}

describe('a route that looks ahead', () => {
  it('gives the guard what the body names, and the moment it was read', async () => {
    const { app, seen, clock } = surface();
    const answer = await supertest(app).post('/ahead').set('x-api-key', 'good').send({ name: 'a' });
    expect(answer.body).toEqual({ name: 'a' });
    expect(seen).toEqual([{ value: 'a', readAtMs: clock.now() }]);
  });

  it.each([
    ['broken JSON', 'application/json', '{', 'INVALID_JSON'],
    ['a body too large', 'application/json', `{"name":"${'x'.repeat(100)}"}`, 'PAYLOAD_TOO_LARGE'],
    ['another media type', 'text/plain', '{}', 'INVALID_HEADER'],
  ])('keeps a fault of the body until its turn: %s', async (_, type, body, code) => {
    const { app, seen } = surface();
    const send = (key: string) =>
      supertest(app).post('/ahead').set('x-api-key', key).set('content-type', type).send(body);
    expectProblem(await send('bad'), 'UNAUTHENTICATED');
    expectProblem(await send('good'), code);
    expect(seen).toMatchObject([{ value: undefined }, { value: undefined }]);
  });

  it('inspects the body before its shape', async () => {
    const { app } = surface();
    const send = (body: object) => supertest(app).post('/ahead').set('x-api-key', 'good').send(body);
    expectProblem(await send({ secret: 1, other: 2 }), 'VAULT_BYTES_NOT_ALLOWED');
    expectProblem(await send({ other: 2 }), 'INVALID_REQUEST');
  });
});
