import { beforeEach, describe, expect, it } from '@jest/globals';
import { ServerSecrets } from '@sealgate/auth';
import { auditPageText, type AuditPage, type AuditQuery, seededSigner, verifyDetached } from '@sealgate/envelope';
import { cursorCodec } from '@sealgate/paging';
import { expectProblem } from '@sealgate/testing';
import request from 'supertest';
import { ADMIN, adminSurface, VIEWER } from '../test/admin-surface.ts';
import { adminAuditRoutes } from './audit-routes.ts';

const hasher = ServerSecrets.parse(`s1:${'x'.repeat(32)}`).derive('cursors');
const cursors = cursorCodec({ hasher, now: () => 0 });
const eventOf = (number: number) => ({
  id: `evt_${number}`,
  at: new Date(Date.UTC(2030, 0, 1, 0, 0, number)),
  actor: 'admin:1f2e3d4c',
  action: 'key.revoke',
  resource: 'key',
  resourceId: `key_${number}`,
  requestId: null,
  detail: { reason: 'leaked' },
  link: { lane: 1, seq: number, heads: [] },
  problem: null,
});
/** As the trail returns it. */
const storedOf = (number: number) => ({ ...eventOf(number), position: eventOf(number).at.toISOString() });

const NOW_MS = Date.UTC(2030, 0, 2);
const [signer, retired] = [1, 2].map((fill) => seededSigner(Buffer.alloc(32, fill)));
const auditSigning = { surface: 'ingest-gateway', signers: [signer!, retired!] };

let asked: AuditQuery[] = [];
beforeEach(() => {
  asked = [];
});
const surfaceOf = (spelling?: 'snake_case') => {
  const listAudit = (query: AuditQuery) => {
    asked.push(query);
    const { after, oldestFirst = false } = query;
    const isNext = (at: Date) =>
      after === undefined || (oldestFirst ? at > new Date(after.position) : at < new Date(after.position));
    const order = oldestFirst ? [1, 2, 3] : [3, 2, 1];
    const events = order.map(storedOf).filter(({ at }) => isNext(at));
    return Promise.resolve(events.slice(0, query.limit));
  };
  const { app } = adminSurface(
    adminAuditRoutes({
      cursors,
      listAudit,
      countAudit: async () => 3,
      actorNames: async (actors) => Object.fromEntries(actors.map((actor) => [actor, `The one called ${actor}`])),
      auditSigning,
      now: () => NOW_MS,
      ...(spelling && { spelling }),
    }),
  );
  return (query: Record<string, string | string[]>, token = ADMIN, path = '') =>
    request(app).get(`/admin/v1/audit${path}`).query(query).set('Authorization', `Bearer ${token}`);
};
const get = surfaceOf();

describe('admin audit routes', () => {
  it('list events in pages, also for viewers', async () => {
    const first = await get({ limit: '2' }, VIEWER).expect(200);
    expect(first.body.items).toEqual([
      { ...eventOf(3), at: '2030-01-01T00:00:03.000Z' },
      { ...eventOf(2), at: '2030-01-01T00:00:02.000Z' },
    ]);
    const second = await get({ limit: '2', cursor: first.body.nextCursor }).expect(200);
    expect(second.body).toMatchObject({ items: [{ id: 'evt_1' }], nextCursor: null });
    expect(first.body.names).toEqual({ 'admin:1f2e3d4c': 'The one called admin:1f2e3d4c' });
    expect(asked).toEqual([{ limit: 3 }, { limit: 3, after: { position: '2030-01-01T00:00:02.000Z', id: 'evt_2' } }]);
  });

  it('pass every filter on, and bind the cursor to the filters', async () => {
    const filters = {
      actor: 'oidc:https://i#e',
      action: 'key.revoke',
      resource: 'key',
      resourceId: 'k',
      requestId: 'r',
    };
    const times = { from: '2030-01-01T00:00:00+01:00', to: '2030-01-02t00:00:00.123999999z' };
    const { body } = await get({ limit: '1', ...filters, ...times }).expect(200);
    expect(asked).toEqual([
      { limit: 2, ...filters, from: new Date('2029-12-31T23:00:00Z'), to: new Date('2030-01-02T00:00:00.123Z') },
    ]);
    await get({ limit: '1', ...filters, ...times, cursor: body.nextCursor }).expect(200);
    expectProblem(
      await get({ limit: '1', ...filters, actor: 'x', ...times, cursor: body.nextCursor }),
      'INVALID_CURSOR',
    );
  });

  it('use the spelling of the surface', async () => {
    const snake = surfaceOf('snake_case');
    const { body } = await snake({ resource_id: 'key_1', request_id: 'r1' }).expect(200);
    expect(body.items[0]).toMatchObject({ resource_id: 'key_3', request_id: null });
    expect(Object.keys(body.items[0])).not.toContain('resourceId');
    expect(asked).toEqual([{ limit: 51, resourceId: 'key_1', requestId: 'r1' }]);
    expectProblem(await snake({ resourceId: 'key_1' }), 'UNKNOWN_PARAMETER');
  });

  it.each([
    [{ limit: '0' }, 'INVALID_LIMIT'],
    [{ limit: '201' }, 'INVALID_LIMIT'],
    [{ cursor: '' }, 'INVALID_CURSOR'],
    [{ cursor: 'abc' }, 'INVALID_CURSOR'],
    [{ actor: ['a', 'b'] }, 'UNKNOWN_PARAMETER'],
    [{ resource_id: 'a' }, 'UNKNOWN_PARAMETER'],
    [{ detail: 'a' }, 'UNKNOWN_PARAMETER'],
    [{ actor: '' }, 'INVALID_REQUEST'],
    [{ actor: 'a\u0000' }, 'INVALID_REQUEST'],
    [{ action: 'a'.repeat(513) }, 'INVALID_REQUEST'],
    [{ from: '2030-02-30T00:00:00Z' }, 'INVALID_REQUEST'],
    [{ to: 'yesterday' }, 'INVALID_REQUEST'],
    [{ to: '2030-01-01T00:00:00.1234567890123Z' }, 'INVALID_REQUEST'],
  ] as const)('refuse %j', async (query, code) => {
    expectProblem(await get(query as Record<string, string>), code);
    expect(asked).toEqual([]);
  });

  it('refuse unauthenticated callers', async () => {
    expectProblem(await get({}, 'x'.repeat(32)), 'UNAUTHENTICATED');
    expect(asked).toEqual([]);
  });
});

describe('an export of the audit trail', () => {
  const page = async (query: Record<string, string>) => {
    const { body } = await get(query, VIEWER, '/export').expect(200);
    return body as AuditPage & { nextCursor: string | null };
  };

  it('is a chain of signed pages, oldest first, up to a minute ago', async () => {
    const first = await page({ limit: '2' });
    const second = await page({ limit: '2', cursor: first.nextCursor! });
    expect(first).toMatchObject({ v: 1, surface: 'ingest-gateway', from: null, previous: null, last: false });
    expect(first.to).toBe('2030-01-01T23:59:00.000Z');
    expect(first.items).toEqual([1, 2].map((n) => ({ ...eventOf(n), at: eventOf(n).at.toISOString() })));
    expect(second).toMatchObject({ to: first.to, previous: first.hash, last: true, nextCursor: null });
    expect(second.items).toMatchObject([{ id: 'evt_3' }]);
    for (const each of [first, second]) {
      const verdict = verifyDetached(Buffer.from(auditPageText(each)), each.signature, { keys: [signer!.jwk] });
      expect(verdict).toEqual({ ok: true, kid: signer!.kid });
    }
    const to = new Date(first.to);
    expect(asked).toEqual([
      { to, oldestFirst: true, limit: 3 },
      { to, oldestFirst: true, limit: 3, after: { position: '2030-01-01T00:00:02.000Z', id: 'evt_2' } },
    ]);
  });

  it('ends at the time asked for, and is one page where there is nothing', async () => {
    const period = { from: '2030-01-01T00:00:00+00:00', to: '2030-01-01T12:00:00Z' };
    expect(await page(period)).toMatchObject({ from: '2030-01-01T00:00:00.000Z', to: '2030-01-01T12:00:00.000Z' });
    expect(await page({ ...period, limit: '200' })).toMatchObject({ last: true, previous: null });
  });

  it('binds the cursor to the period, and takes no filters', async () => {
    const { nextCursor } = await page({ limit: '1' });
    const other = { limit: '1', cursor: nextCursor!, to: '2030-01-01T12:00:00Z' };
    expectProblem(await get(other, ADMIN, '/export'), 'INVALID_CURSOR');
    expectProblem(await get({ actor: 'a' }, ADMIN, '/export'), 'UNKNOWN_PARAMETER');
  });

  it('publishes the key of every server secret, the signing one first', async () => {
    const { body } = await get({}, VIEWER, '/keys').expect(200);
    expect(body).toEqual({ keys: [{ ...signer!.jwk }, { ...retired!.jwk }] });
  });
});
