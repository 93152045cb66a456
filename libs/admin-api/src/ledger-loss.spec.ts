import { createApp } from '@sealgate/http';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { ServerSecrets } from '@sealgate/auth';
import { LedgerForbiddenError, LedgerUnavailableError } from '@sealgate/ledger-port';
import { createLog, httpMetrics, Metrics } from '@sealgate/observability';
import { cursorCodec } from '@sealgate/paging';
import { expectProblem } from '@sealgate/testing';
import { PassThrough } from 'node:stream';
import request from 'supertest';
import type { AdminCaller } from './admin-app.ts';
import { lossRoutes, type LossAdministration } from './ledger-loss.ts';

const LOST = [{ epoch: 0, lostFrom: 2, lostUntil: 4, checkpoint: 'kept', surviving: null }];
const STATE = {
  channel: 'acme.main',
  status: 'lost' as 'whole' | 'lost' | 'declared',
  problem: 'p',
  lost: LOST,
  foundAt: '2030-01-02T03:04:05.678Z',
  sharedAt: null,
  epoch: 0,
  declaration: null,
};
const PATH = '/admin/v1/ledger/channels/acme.main/loss';
const BODY = { reason: 'Gone for good.', checkpoint: 'kept' };

let state: typeof STATE;
let declared: object[];
let audited: object[];
let fault: Error | undefined;
beforeEach(() => {
  [state, declared, audited, fault] = [STATE, [], [], undefined];
});

const ledger: LossAdministration = {
  size: (channel) => Promise.resolve(channel === 'acme.main' ? 2 : undefined),
  loss: () => Promise.resolve(state),
  losses: async ({ after }) => [state].filter(({ channel }) => channel > after),
  declareLoss: (channel, said) => {
    if (fault !== undefined) return Promise.reject(fault);
    if (said.checkpoint !== 'kept') return Promise.resolve(false);
    declared.push({ channel, ...said });
    state = { ...STATE, status: 'declared', epoch: 1 };
    return Promise.resolve(true);
  },
};
const hasher = ServerSecrets.parse(`s1:${'x'.repeat(32)}`).derive('cursors');
const cursors = cursorCodec({ hasher, now: () => 0 });
const LIMITS = { 'RateLimit-Policy': '"key";q=1;w=1', RateLimit: '"key";r=1;t=1' };
const caller: AdminCaller = { actor: 'admin:01234567', roles: ['operator'] };
const app = createApp<AdminCaller>({
  routes: lossRoutes({ ledger, cursors, auditChange: async (_context, change) => void audited.push(change) }),
  guard: {
    challenge: 'Bearer',
    authenticate: () => Promise.resolve(caller),
    permits: () => true,
    shareOf: () => 'operator',
    charge: () => Promise.resolve({ admitted: true, headers: LIMITS, retryAfterSeconds: 0 }),
  } as never,
  log: createLog({ service: 'test', level: 'error', stream: new PassThrough().resume(), now: () => 0 }),
  metrics: httpMetrics(new Metrics('test', { processMetrics: false })),
  now: () => 0,
  newId: () => 'made-here',
  trustProxy: false,
  tlsTerminatedUpstream: false,
  head: false,
});
const declare = (body: object) => request(app).post(`${PATH}/declare`).send(body);

describe('channel loss routes', () => {
  it('show the loss and declare it in the name of the caller, after the audit event', async () => {
    expect((await request(app).get(PATH)).body).toEqual(STATE);
    const answer = await declare(BODY);
    expect([answer.status, answer.body]).toEqual([202, { ...STATE, status: 'declared', epoch: 1 }]);
    expect(declared).toEqual([{ channel: 'acme.main', ...BODY, actor: 'admin:01234567', requestId: 'made-here' }]);
    expect(audited).toEqual([
      { action: 'channel.declare-loss', resource: 'channel', resourceId: 'acme.main', detail: { reason: BODY.reason } },
    ]);
  });

  it('list the channels that lost records, page by page', async () => {
    const path = '/admin/v1/ledger/losses';
    expect((await request(app).get(path)).body).toEqual({ items: [STATE], nextCursor: null });
    expectProblem(await request(app).get(`${path}?cursor=x`), 'INVALID_CURSOR');
    expectProblem(await request(app).get(`${path}?status=lost`), 'UNKNOWN_PARAMETER');
  });

  it('refuse a declaration based on an outdated loss', async () => {
    expectProblem(await declare({ ...BODY, checkpoint: 'another' }), 'PRECONDITION_FAILED');
    expect([declared, audited]).toEqual([[], []]);
  });

  it('refuse a declaration for a channel without loss, or an unknown one', async () => {
    state = { ...STATE, status: 'whole', lost: [] };
    expectProblem(await declare(BODY), 'INVALID_STATE_TRANSITION');
    const other = PATH.replace('acme.main', 'acme.other');
    expectProblem(await request(app).get(other), 'NOT_FOUND');
    expectProblem(await request(app).post(`${other}/declare`).send(BODY), 'NOT_FOUND');
    expect([declared, audited]).toEqual([[], []]);
  });

  it.each([
    { checkpoint: 'kept' },
    { reason: '', checkpoint: 'kept' },
    { reason: 'a\nb', checkpoint: 'kept' },
    { reason: 'r' },
  ])('refuse the declaration %j', async (body) => {
    expect((await declare(body)).status).toBe(400);
    expect([declared, audited]).toEqual([[], []]);
  });

  it.each([
    ['FORBIDDEN', new LedgerForbiddenError('no right')],
    ['LEDGER_UNAVAILABLE', new LedgerUnavailableError('away')],
  ] as const)('answer %s for that error of the ledger', async (code, error) => {
    fault = error;
    const answer = await declare(BODY);
    expectProblem(answer, code);
    if (code === 'FORBIDDEN')
      expect(answer.body).toMatchObject({ detail: expect.stringContaining('LEDGER_INTEGRATOR=true') });
  });
});
