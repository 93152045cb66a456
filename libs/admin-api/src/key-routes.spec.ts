import { beforeEach, describe, expect, it } from '@jest/globals';
import { ServerSecrets, type ApiKeyRow, type KeyStore } from '@sealgate/auth';
import { closedObject } from '@sealgate/http';
import { cursorCodec } from '@sealgate/paging';
import { expectProblem } from '@sealgate/testing';
import { Type } from '@sinclair/typebox';
import request from 'supertest';
import { adminSurface, OPERATOR, VIEWER } from '../test/admin-surface.ts';
import { adminRoute, type AdminCaller } from './admin-app.ts';
import { keyRoutes, keyTerms, keyView } from './key-routes.ts';
import { listRoute } from './list-route.ts';

type DeskKey = ApiKeyRow<string>;

const now = () => Date.parse('2030-01-02T03:04:05.678Z');
const PATH = '/admin/v1/desks/d1/keys';
const SHOWN = {
  id: 'key_1',
  label: 'one',
  keyPrefix: 'dk_1',
  desk: 'd1',
  createdAt: '2030-01-02T03:04:05.678Z',
  expiresAt: null,
  replaces: null,
};
const LIVE = { revokedAt: null, endsAt: null, lastUsedAt: null };

let rows: DeskKey[];
let orders: unknown[];
let log: string[];
beforeEach(() => {
  [rows, orders, log] = [[], [], []];
});

type Listing = Parameters<typeof keyRoutes<string, string, string, 'tx', never>>[0]['store']['listing'];

const store: KeyStore<string, 'tx'> & { readonly listing: Listing } = {
  async mint({ ownerId, label, grants, expiresAt = null, ...order }, sql) {
    log.push(`mint in ${sql}`);
    orders.push({ ownerId, grants, ...order });
    const id = `key_${rows.length + 1}`;
    const times = { createdAt: new Date(now()), revokedAt: null, endsAt: null, lastUsedAt: null };
    const keyPrefix = `dk_${rows.length + 1}`;
    const row = { id, familyId: id, label, ownerId, grants, keyPrefix, expiresAt, replaces: null, ...times };
    rows.unshift(row);
    return { ...row, rawKey: 'raw' };
  },
  async list(ownerId, { limit, after }) {
    const start = rows.findIndex(({ id }) => id === after?.[1]) + 1;
    return rows.filter((row) => row.ownerId === ownerId).slice(start, start + limit);
  },
  listing: {
    count: async ({ ownerId }) => rows.filter((row) => row.ownerId === ownerId).length,
    async rows({ ownerId, limit, after }) {
      const position = after === undefined ? undefined : ([after[0] ?? '', after[1]] as [string, string]);
      const found = await store.list(ownerId, { limit, after: position });
      return found.map((row) => ({ row, position: [row.createdAt.toISOString(), row.id] }));
    },
  },
  get: async (ownerId, id) => rows.find((row) => row.ownerId === ownerId && row.id === id),
  async revoke(_, id, sql) {
    log.push(`revoke in ${sql}`);
    if (id === 'key_old') return 'already';
    return rows.some((row) => row.id === id) ? 'revoked' : 'missing';
  },
};

const of = keyRoutes({
  path: '/admin/v1/desks/:desk/keys',
  params: { desk: Type.String() },
  view: keyView<string>({ members: { desk: Type.String() }, owner: 'desk' }),
  store,
  audited: async ({ caller }: { readonly caller: AdminCaller }, work) => {
    const result = await work('tx', async (verb, { id, ownerId, detail }) => {
      const more = detail === undefined ? '' : ` ${JSON.stringify(detail)}`;
      log.push(`${verb} ${id} of ${ownerId} by ${caller.roles.join()}${more}`);
    });
    log.push('committed');
    return result;
  },
  cursors: cursorCodec({ hasher: ServerSecrets.parse(`a:${'s'.repeat(32)}`).derive('keys'), now }),
  now,
});

const { app } = adminSurface([
  adminRoute({
    ...of.minting,
    summary: 'Mint a key',
    body: closedObject({ label: Type.String(), ...keyTerms }),
    handler: (context) => of.mint(context, { ...context.body, ownerId: context.params.desk, grants: 'all' }),
  }),
  listRoute({ ...of.listing('desk'), summary: 'List keys' }),
  adminRoute({ ...of.reading, handler: ({ params }) => of.get(params.desk, params.id) }),
  adminRoute({
    ...of.revoking,
    summary: 'Revoke a key',
    handler: (context) => of.revoke(context, context.params.desk, context.params.id),
  }),
]);

const get = (path: string) => request(app).get(path).set('Authorization', `Bearer ${VIEWER}`);
const mint = (body: object, token = OPERATOR) =>
  request(app).post(PATH).set('Authorization', `Bearer ${token}`).send(body);
const revoke = (id: string) => request(app).delete(`${PATH}/${id}`).set('Authorization', `Bearer ${OPERATOR}`);

describe('the routes of keys', () => {
  it('mint a key and its audit event in one transaction, and show the raw key once', async () => {
    const minted = await mint({ label: 'one', overlapSeconds: 5, replaces: 'key_0' });
    expect(minted.status).toBe(201);
    expect(minted.body).toEqual({ ...SHOWN, rawKey: 'raw' });
    expect(orders).toEqual([{ ownerId: 'd1', grants: 'all', overlapSeconds: 5, replaces: 'key_0' }]);
    expect(log).toEqual([
      'mint in tx',
      'mint key_1 of d1 by operator',
      'rotate key_0 of d1 by operator {"replacedBy":"key_1","overlapSeconds":5}',
      'committed',
    ]);
    expect((await get(`${PATH}/key_1`)).body).toEqual({ ...SHOWN, ...LIVE });
  });

  it('record no rotation where nothing is replaced, and an end at once where there is no overlap', async () => {
    await mint({ label: 'one' });
    expect(log).toEqual(['mint in tx', 'mint key_1 of d1 by operator', 'committed']);
    await mint({ label: 'two', replaces: 'key_1' });
    expect(log.at(-2)).toBe('rotate key_1 of d1 by operator {"replacedBy":"key_2","overlapSeconds":0}');
  });

  it('mint no key that has expired already, and none for viewers', async () => {
    expect((await mint({ label: 'one', expiresAt: '2030-01-02T03:04:05.679Z' })).body).toMatchObject({
      expiresAt: '2030-01-02T03:04:05.679Z',
    });
    expectProblem(await mint({ label: 'one', expiresAt: '2030-01-02T03:04:05.678Z' }), 'INVALID_REQUEST', {
      errors: [{ in: 'body', pointer: '/expiresAt' }],
    });
    expectProblem(await mint({ label: 'one' }, VIEWER), 'FORBIDDEN');
    expect(rows).toHaveLength(1);
  });

  it('list keys page by page; a cursor is of one owner', async () => {
    for (const label of ['one', 'two', 'three']) await mint({ label });
    const first = (await get(`${PATH}?limit=2`)).body;
    expect(first.items.map(({ label }: { label: string }) => label)).toEqual(['three', 'two']);
    const last = (await get(`${PATH}?limit=2&cursor=${first.nextCursor}`)).body;
    expect(last).toEqual({ items: [{ ...SHOWN, ...LIVE }], nextCursor: null, total: 3 });
    expectProblem(await get(`/admin/v1/desks/d2/keys?cursor=${first.nextCursor}`), 'INVALID_CURSOR');
  });

  it('find keys of their owner only', async () => {
    await mint({ label: 'one' });
    expectProblem(await get('/admin/v1/desks/d2/keys/key_1'), 'NOT_FOUND');
    expectProblem(await get(`${PATH}/key_2`), 'NOT_FOUND');
  });

  it('revoke a key with an audit event, unless it was revoked before', async () => {
    await mint({ label: 'one' });
    log.length = 0;
    expect((await revoke('key_1')).status).toBe(204);
    expect(log).toEqual(['revoke in tx', 'revoke key_1 of d1 by operator', 'committed']);
    log.length = 0;
    expect((await revoke('key_old')).status).toBe(204);
    expectProblem(await revoke('key_9'), 'NOT_FOUND');
    expect(log).toEqual(['revoke in tx', 'committed', 'revoke in tx']);
  });
});
