import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { tokenHashes } from '@sealgate/auth';
import { AppError } from '@sealgate/errors';
import { closedObject } from '@sealgate/http';
import { expectProblem } from '@sealgate/testing';
import { adminSurface } from '../test/admin-surface.ts';
import { adminRoute, type AdminAppOptions } from './admin-app.ts';

const TOKEN = 'an-admin-token-of-sufficient-length';
const HASH = createHash('sha256').update(TOKEN).digest('hex');

const networks = adminRoute({
  operationId: 'makeNetwork',
  summary: 'An operation.',
  method: 'post',
  path: '/admin/v1/networks',
  permit: 'authenticated',
  charge: 'none',
  idempotency: 'none',
  body: closedObject({}),
  bodyMaxBytes: 65_536,
  responses: { 201: { description: 'Done.' } },
  errors: [],
  handler: ({ caller }) => ({ status: 201, body: { actor: caller.actor } }),
});

function admin(changes: Partial<AdminAppOptions> = {}) {
  const failures: string[] = [];
  const { app } = adminSurface([networks], {
    tokens: tokenHashes(() => HASH),
    findPerson: undefined,
    failedAuthentication: (from) => {
      failures.push(from.clientAddress);
      return failures.length > 2 ? new AppError('RATE_LIMITED', 'Too many failures.') : undefined;
    },
    ...changes,
  });
  return { app, failures };
}

const make = (app: Parameters<typeof request>[0], token: string) =>
  request(app).post('/admin/v1/networks').set('Authorization', token);

describe('the admin listener', () => {
  it('accepts any configured token, and identifies tokens by hash', async () => {
    const response = await make(admin().app, `bearer  ${TOKEN}`).send({});
    expect(response.status).toBe(201);
    expect(response.body).toEqual({ actor: `admin:${HASH.slice(0, 8)}` });
  });

  it('refuses other tokens with the same 401, and limits failures per address', async () => {
    const { app, failures } = admin();
    const wrong = await make(app, 'Bearer wrong').send({});
    expectProblem(wrong, 'UNAUTHENTICATED');
    expect(wrong.headers['www-authenticate']).toBe('Bearer realm="sealgate"');
    expectProblem(await make(app, TOKEN).send({}), 'UNAUTHENTICATED');
    expectProblem(await request(app).post('/admin/v1/networks').set('X-Api-Key', TOKEN), 'RATE_LIMITED');
    expect(failures).toHaveLength(3);
    expect((await make(app, `Bearer ${TOKEN}`).send({})).status).toBe(201);
  });

  it('answers 404 everywhere if no token is configured', async () => {
    for (const tokens of [undefined, tokenHashes(() => '')]) {
      const { app } = admin({ tokens });
      expectProblem(await make(app, `Bearer ${TOKEN}`).send({}), 'NOT_FOUND');
      expectProblem(await request(app).get('/admin/v1/networks'), 'NOT_FOUND');
    }
  });

  it('refuses unknown members, unknown parameters and large bodies', async () => {
    const { app } = admin();
    expectProblem(await make(app, `Bearer ${TOKEN}`).send({ x: 1 }), 'INVALID_REQUEST', {
      errors: [{ in: 'body', pointer: '/x' }],
    });
    expectProblem(await make(app, `Bearer ${TOKEN}`).query({ x: 1 }).send({}), 'UNKNOWN_PARAMETER');
    const large = await make(app, `Bearer ${TOKEN}`).send({ x: 'x'.repeat(65_536) });
    expectProblem(large, 'PAYLOAD_TOO_LARGE');
  });

  it('rejects a route with a larger body limit at start', () => {
    const routes = [{ ...networks, bodyMaxBytes: 65_537 }];
    expect(() => admin({ routes })).toThrow('makeNetwork: an admin body may hold 65536 bytes.');
  });
});
