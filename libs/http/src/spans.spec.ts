import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { AppError } from '@sealgate/errors';
import { activeSpan, spanChannel, type Span, type SpanMessage } from '@sealgate/observability';
import { plain, testRoute, testSurface } from '../test/test-surface.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SENT = `00-${TRACE}-00f067aa0ba902b7-01`;
const MADE = `00-${TRACE}-aaaaaaaaaaaaaaaa-01`;

interface TestSpan extends Span {
  readonly start: SpanMessage['start'];
  readonly attributes: Record<string, unknown>;
  ended: { failure: string | undefined }[];
}

let spans: TestSpan[] = [];
const answer = (message: unknown): void => {
  const asked = message as SpanMessage;
  const span: TestSpan = {
    start: asked.start,
    attributes: { ...asked.start.attributes },
    ended: [],
    traceId: TRACE,
    traceparent: MADE,
    tracestate: asked.start.remote?.tracestate,
    isSampled: true,
    set: (attributes) => void Object.assign(span.attributes, attributes),
    end: (failure) => void span.ended.push({ failure }),
  };
  spans.push(span);
  asked.span = span;
};
beforeEach(() => {
  spans = [];
  subscribe(spanChannel.name, answer);
});
afterEach(() => void unsubscribe(spanChannel.name, answer));

const seen = testRoute({
  ...plain,
  method: 'get',
  path: '/things/:id/seen',
  handler: async ({ traceparent, tracestate }) => {
    await Promise.resolve();
    return { status: 200, body: { traceparent, tracestate, active: activeSpan()?.traceparent } };
  },
});
const refused = testRoute({
  ...plain,
  operationId: 'refused',
  method: 'get',
  path: '/refused',
  errors: ['NOT_FOUND'],
  handler: () => {
    throw new AppError('NOT_FOUND', 'No such thing.');
  },
});
const broken = testRoute({
  ...plain,
  operationId: 'broken',
  method: 'get',
  path: '/broken',
  handler: () => {
    throw new Error('a bug with words of its own');
  },
});
const closed = testRoute({
  ...plain,
  operationId: 'closed',
  method: 'get',
  path: '/closed',
  permit: 'authenticated',
  charge: 1,
  handler: () => ({ status: 200, body: {} }),
});

function surface() {
  const { app, records } = testSurface([seen, refused, broken, closed]);
  return { server: app, records };
}

describe('the span of a request', () => {
  it("is named after the route, continues the caller's trace, and is the parent of calls", async () => {
    const { server, records } = surface();
    const said = await request(server).get('/things/secret/seen').set({ traceparent: SENT, tracestate: 'v=1' });
    expect(said.body).toEqual({ traceparent: MADE, tracestate: 'v=1', active: MADE });
    const [span] = spans;
    expect(span!.start).toMatchObject({
      name: 'GET /things/{id}/seen',
      kind: 'server',
      remote: { traceparent: SENT, tracestate: 'v=1' },
    });
    expect(span!.attributes).toEqual({
      'http.request.method': 'GET',
      'network.protocol.version': '1.1',
      'http.response.status_code': 200,
      'http.route': '/things/{id}/seen',
      'sealgate.request.id': records[0]!.requestId,
    });
    expect(span!.ended).toEqual([{ failure: undefined }]);
    expect(records[0]).toMatchObject({ traceId: TRACE });
  });

  it.each([
    ['/refused', 404, 'NOT_FOUND', undefined],
    ['/broken', 500, 'INTERNAL', 'INTERNAL'],
    ['/nowhere/secret', 404, 'NOT_FOUND', undefined],
  ])('of %s has status %i, and fails only on a 5xx', async (path, status, code, failure) => {
    const { server } = surface();
    const { body } = await request(server).get(path).expect(status);
    expect(body).toMatchObject({ code, traceId: TRACE });
    expect(spans[0]!.ended).toEqual([{ failure }]);
    expect(spans[0]!.attributes).toMatchObject({ 'http.response.status_code': status, 'sealgate.problem.code': code });
    expect(JSON.stringify(spans)).not.toMatch(/secret|words/);
  });

  it('has child spans for authentication and charge', async () => {
    const { server } = surface();
    await request(server).get('/closed').set('x-api-key', 'good').expect(200);
    expect(spans.map(({ start }) => start.name)).toEqual(['GET /closed', 'authenticate', 'charge']);
    expect(spans.map(({ ended }) => ended.length)).toEqual([1, 1, 1]);
  });

  it("is absent without tracing: the answer has the caller's trace, and a problem no traceId", async () => {
    unsubscribe(spanChannel.name, answer);
    const { server } = surface();
    const said = await request(server).get('/things/1/seen').set({ traceparent: SENT, tracestate: 'v=1' });
    expect(said.body).toEqual({ traceparent: SENT, tracestate: 'v=1' });
    const alone = await request(server).get('/things/1/seen').set({ tracestate: 'v=1' });
    expect(alone.body).toEqual({ traceparent: expect.stringMatching(/-00$/) });
    const { body } = await request(server).get('/refused');
    expect(body).not.toHaveProperty('traceId');
  });
});
