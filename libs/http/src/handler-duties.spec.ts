import { describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { AppError } from '@sealgate/errors';
import { expectProblem } from '@sealgate/testing';
import { LIMIT_HEADERS, plain, testRoute, testSurface, type TestCaller } from '../test/test-surface.ts';
import type { Guard, HandlerContext, Reply } from './index.ts';

type Context = HandlerContext<TestCaller, unknown, unknown, unknown>;

/** A route whose handler decides permission and cost. */
const decided = (handler: (context: Context) => Promise<Reply>) =>
  testRoute({ ...plain, method: 'post', path: '/x', permit: 'byHandler', charge: 'byHandler', handler });

const call = (app: Parameters<typeof request>[0], key = 'good') => request(app).post('/x').set('X-Api-Key', key);

describe('a handler with permit and charge byHandler', () => {
  it('succeeds when it calls permit and charge once each', async () => {
    const surface = testSurface([
      decided(async (context) => {
        context.permit('things:read');
        await context.charge(7);
        return { status: 200, body: { ok: true } };
      }),
    ]);
    const response = await call(surface.app);
    expect(response.body).toEqual({ ok: true });
    expect(response.headers['ratelimit']).toBe(LIMIT_HEADERS.RateLimit);
    expect(surface.asked).toEqual(['authenticate good', 'permits things:read', 'charge 7']);
  });

  it.each<[string, (context: Context) => Promise<void>]>([
    ['permit was never called', (context) => context.charge(1)],
    ['charge was never called', async (context) => context.permit('things:read')],
    [
      'permit was called twice',
      async (context) => {
        context.permit('things:read');
        context.permit('things:read');
        await context.charge(1);
      },
    ],
    [
      'charge was called twice',
      async (context) => {
        context.permit('things:read');
        await context.charge(1);
        await context.charge(1);
      },
    ],
  ])('answers 500 when %s, and logs why', async (_, decide) => {
    const surface = testSurface([
      decided(async (context) => {
        await decide(context);
        return { status: 200, body: { secret: 'done' } };
      }),
    ]);
    const response = await call(surface.app);
    expectProblem(response, 'INTERNAL');
    expect(response.text).not.toContain('done');
    expect(surface.lines).toMatchObject([{ level: 'error', event: 'request_failed' }]);
  });

  it('may refuse without calling either', async () => {
    const surface = testSurface([
      decided(async () => {
        throw new AppError('NOT_FOUND', 'No.');
      }),
    ]);
    expectProblem(await call(surface.app), 'NOT_FOUND');
  });

  it('passes on refusals of the guard', async () => {
    const surface = testSurface([
      decided(async (context) => {
        context.permit('things:destroy');
        throw new Error('not reached');
      }),
    ]);
    expectProblem(await call(surface.app), 'FORBIDDEN');
    const limited = testSurface([
      decided(async (context) => {
        context.permit('things:read');
        await context.charge(1);
        throw new Error('not reached');
      }),
    ]);
    expectProblem(await call(limited.app, 'poor'), 'RATE_LIMITED', { retryAfterSeconds: 3 });
  });

  it('cannot call permit or charge on other routes', async () => {
    const fixed = testRoute({
      ...plain,
      method: 'post',
      path: '/x',
      permit: 'things:read',
      charge: 1,
      handler: async (context) => {
        await context.charge(1);
        return { status: 200 };
      },
    });
    expectProblem(await call(testSurface([fixed]).app), 'INTERNAL');
  });

  it('may check permissions without that being a decision', async () => {
    const surface = testSurface([
      decided(async (context) => {
        const may = [context.allows('things:read'), context.allows('things:destroy')];
        context.permit('things:read');
        await context.charge(1);
        return { status: 200, body: may };
      }),
    ]);
    expect((await call(surface.app)).body).toEqual([true, false]);
  });
});

describe('a bug in a handler', () => {
  const buggy = (thrown: unknown) =>
    testRoute({
      ...plain,
      method: 'post',
      path: '/x',
      handler: () => {
        throw thrown;
      },
    });

  it('is a 500 that reveals nothing, and one log line with the stack', async () => {
    const surface = testSurface([buggy(new Error('SELECT secret FROM svc_keys'))]);
    const response = await call(surface.app);
    expectProblem(response, 'INTERNAL');
    expect(response.text).not.toContain('SELECT');
    expect(surface.lines).toHaveLength(1);
    expect(surface.lines[0]).toMatchObject({ level: 'error', fields: { requestId: 'made-here', route: '/x' } });
    expect(String(surface.lines[0]?.fields?.['stack'])).toContain('handler-duties.spec');
    expect(surface.records).toMatchObject([{ status: 500, code: 'INTERNAL' }]);
  });

  it('may throw any value', async () => {
    expectProblem(await call(testSurface([buggy(undefined)]).app), 'INTERNAL');
    expectProblem(await call(testSurface([buggy('text')]).app), 'INTERNAL');
  });

  it.each<[string, () => unknown]>([
    ['returns nothing', () => undefined],
    ['answers a header that cannot be sent', () => ({ status: 200, headers: { 'X-Bad': 'a\r\nb' } })],
    ['answers a status that does not exist', () => ({ status: 20_000 })],
    ['answers what JSON cannot represent', () => ({ status: 200, body: { big: 1n } })],
  ])('is a 500 when it %s', async (_, answer) => {
    const surface = testSurface([
      // The types forbid this, but a handler may not be written in TypeScript.
      testRoute({ ...plain, method: 'post', path: '/x', handler: () => answer() as Reply }),
    ]);
    const response = await call(surface.app);
    expectProblem(response, 'INTERNAL');
    expect(surface.lines).toHaveLength(1);
    expect(surface.records).toHaveLength(1);
  });

  it('in the guard is a 500 too, and affects only the request', async () => {
    const failing: Partial<Guard<TestCaller>> = {
      refused: () => {
        throw new Error('the guard is broken');
      },
    };
    const refusing = testRoute({
      ...plain,
      method: 'post',
      path: '/x',
      permit: 'things:destroy',
      handler: () => ({ status: 200 }),
    });
    const surface = testSurface([refusing], { guardChanges: failing });
    expectProblem(await call(surface.app), 'INTERNAL');
    expect(surface.lines).toMatchObject([{ event: 'request_failed' }]);
  });
});

describe('a raw handler', () => {
  const raw = (write: (context: Context) => Promise<void> | void) =>
    testRoute({ ...plain, method: 'post', path: '/x', permit: 'authenticated', charge: 1, raw: true, handler: write });

  it('writes its own answer with the common headers', async () => {
    const surface = testSurface([
      raw(({ response }) => {
        response.writeHead(202, { 'Content-Type': 'text/plain' });
        response.end('mine');
      }),
    ]);
    const response = await call(surface.app);
    expect(response.status).toBe(202);
    expect(response.text).toBe('mine');
    expect(response.headers).toMatchObject({
      'x-request-id': 'made-here',
      'x-frame-options': 'SAMEORIGIN',
      ratelimit: LIMIT_HEADERS.RateLimit,
      'cache-control': 'no-store',
    });
    expect(surface.records).toMatchObject([{ status: 202 }]);
  });

  it('may still refuse before it writes', async () => {
    const surface = testSurface([
      raw(({ response }) => {
        response.setHeader('X-Half', 'done');
        throw new AppError('NOT_FOUND', 'No.');
      }),
    ]);
    const response = await call(surface.app);
    expectProblem(response, 'NOT_FOUND');
    expect(response.headers).not.toHaveProperty('x-half');
  });

  it('that fails midway has its connection closed, not its answer completed', async () => {
    const surface = testSurface([
      raw(({ response }) => {
        response.writeHead(200, { 'Content-Length': '100' });
        response.write('half');
        throw new Error('a bug');
      }),
    ]);
    await expect(call(surface.app)).rejects.toThrow(/aborted|hang up|ECONNRESET/);
    expect(surface.lines).toHaveLength(1);
  });

  it('that answers nothing is a 500', async () => {
    expectProblem(await call(testSurface([raw(() => undefined)]).app), 'INTERNAL');
  });
});
