import { describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { AppError } from '@sealgate/errors';
import { expectProblem } from '@sealgate/testing';
import { plain, testRoute, testSurface } from '../test/test-surface.ts';

const call = (app: Parameters<typeof request>[0], key = 'good') => request(app).post('/x').set('X-Api-Key', key);

const scopedWithBody = {
  ...plain,
  method: 'post',
  path: '/x',
  permit: 'authenticated',
  body: 'strict-json',
  bodyMaxBytes: 10,
  precheck: () => {
    throw new AppError('FORBIDDEN', 'Not your network.');
  },
  handler: () => ({ status: 200 }),
} as const;

describe('refusals', () => {
  const scoped = testRoute({
    ...plain,
    method: 'post',
    path: '/x',
    permit: 'byHandler',
    charge: 'byHandler',
    precheck: ({ caller }) => {
      if (caller.name === 'good') throw new AppError('FORBIDDEN', 'Not your network.');
    },
    handler: async (context) => {
      context.permit('things:read');
      await context.charge(1);
      return { status: 200 };
    },
  });

  it('of a known caller without a charge are passed to the guard, which may answer 429', async () => {
    const seen: string[] = [];
    const surface = testSurface([scoped], {
      guardChanges: {
        refused: (caller, error) => {
          seen.push(`${caller.name} ${error.code}`);
          return seen.length < 2
            ? error
            : new AppError('RATE_LIMITED', 'Too many refusals.', { retryAfterSeconds: 1.2 });
        },
      },
    });
    expectProblem(await call(surface.app), 'FORBIDDEN');
    expectProblem(await call(surface.app), 'RATE_LIMITED', { retryAfterSeconds: 2 });
    expectProblem(await call(surface.app, 'nobody'), 'UNAUTHENTICATED');
    expectProblem(await call(surface.app, 'poor'), 'RATE_LIMITED', { retryAfterSeconds: 3 });
    expect(seen).toEqual(['good FORBIDDEN', 'good FORBIDDEN']);
  });

  it('by precheck precede reading the body', async () => {
    const surface = testSurface([testRoute({ ...scopedWithBody })]);
    expectProblem(await call(surface.app).type('text/plain').send('x'), 'FORBIDDEN');
  });

  it('on a path may be decorated, for every method', async () => {
    const gate = testRoute({
      ...plain,
      method: 'post',
      path: '/x',
      permit: 'authenticated',
      problem: { decorate: (problem) => ({ ...problem, decision: 'deny' }) },
      handler: () => ({ status: 200, body: { decision: 'allow' } }),
    });
    const { app } = testSurface([gate]);
    for (const [response, code] of [
      [await call(app, 'nobody'), 'UNAUTHENTICATED'],
      [await call(app, 'down'), 'UNAVAILABLE'],
      [await request(app).put('/x'), 'METHOD_NOT_ALLOWED'],
    ] as const) {
      expectProblem(response, code, { members: { decision: 'deny' } });
    }
    expect((await call(app)).body).toEqual({ decision: 'allow' });
  });

  it.each<[string, () => { big: bigint }]>([
    [
      'fails',
      () => {
        throw new Error('a bug');
      },
    ],
    ['cannot be sent', () => ({ big: 1n })],
  ])('are sent undecorated when the decoration %s', async (_, decorate) => {
    const gate = testRoute({
      ...plain,
      method: 'post',
      path: '/x',
      permit: 'authenticated',
      problem: { decorate: (problem) => ({ ...problem, ...decorate() }) },
      handler: () => ({ status: 200 }),
    });
    const surface = testSurface([gate]);
    expectProblem(await call(surface.app, 'nobody'), 'UNAUTHENTICATED');
    expect(surface.lines).toMatchObject([{ event: 'request_failed' }]);
  });

  it('by admit precede method and key', async () => {
    const mcp = testRoute({
      ...plain,
      method: 'post',
      path: '/x',
      permit: 'authenticated',
      admit: (from) => {
        if (from.header('origin').length > 0) throw new AppError('ORIGIN_NOT_ALLOWED', 'Not from there.');
      },
      handler: () => ({ status: 200 }),
    });
    const { app } = testSurface([mcp]);
    expectProblem(await request(app).get('/x').set('Origin', 'https://evil'), 'ORIGIN_NOT_ALLOWED');
    expectProblem(await request(app).get('/x'), 'METHOD_NOT_ALLOWED');
    expectProblem(await request(app).post('/x').set('Origin', 'https://evil'), 'ORIGIN_NOT_ALLOWED');
    expectProblem(await request(app).post('/x'), 'UNAUTHENTICATED');
  });

  it('with an undeclared code are logged once', async () => {
    const careless = testRoute({
      ...plain,
      method: 'post',
      path: '/x',
      handler: () => {
        throw new AppError('IN_USE', 'It is in use.');
      },
    });
    const surface = testSurface([careless]);
    expectProblem(await call(surface.app), 'IN_USE');
    expectProblem(await call(surface.app), 'IN_USE');
    expect(surface.lines).toMatchObject([
      { level: 'warn', event: 'undeclared_error_code', fields: { code: 'IN_USE' } },
    ]);
  });

  it('whose headers or limits cannot be sent become a 500', async () => {
    const unsendable = { 'RateLimit-Policy': 'x', RateLimit: 'a\r\nb' };
    const paid = testRoute({
      ...plain,
      method: 'post',
      path: '/x',
      permit: 'authenticated',
      charge: 1,
      handler: () => {
        throw new AppError('NOT_FOUND', 'No.', { headers: { Link: 'a\r\nb' } });
      },
    });
    const charge = async () => ({ admitted: true, headers: unsendable, retryAfterSeconds: 0 });
    expectProblem(await call(testSurface([paid]).app), 'INTERNAL');
    expectProblem(await call(testSurface([paid], { guardChanges: { charge } }).app), 'INTERNAL');
  });
});
