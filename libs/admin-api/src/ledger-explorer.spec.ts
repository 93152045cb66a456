import { describe, expect, it } from '@jest/globals';
import { ServerSecrets } from '@sealgate/auth';
import { LedgerForbiddenError, LedgerUnavailableError } from '@sealgate/ledger-port';
import { cursorCodec } from '@sealgate/paging';
import { expectProblem } from '@sealgate/testing';
import request from 'supertest';
import { adminSurface, OPERATOR, VIEWER } from '../test/admin-surface.ts';
import { explorerRoutes, type LedgerExplorer } from './ledger-explorer.ts';

const AT = '2030-01-02T03:04:05.678Z';
const NAMES = ['acme.a', 'acme.b', 'acme.c'];
const KEYS = { origin: 'ledger.test', keys: [{ verifierKey: 'ledger.test+0+A', name: 'ledger.test', keyId: '0' }] };
const POLICIES = [
  { channel: null, policy: 'quorum none' },
  { channel: 'acme.a', policy: 'quorum none\n' },
];
const STATEMENT = 'sealgate-log-keys/v1\nledger.test/acme.a\nkey k from t\n\n— ledger.test x\n';
const overviewOf = (channel: string) => ({
  channel,
  size: 3,
  signed: 2,
  signedUntil: AT,
  unsignedSince: channel === 'acme.a' ? AT : undefined,
  archived: channel === 'acme.a' ? 1 : undefined,
});
const recordOf = (position: number) => ({
  id: `r${position}`,
  type: 't',
  owner: position === 0 ? undefined : 'me',
  transactionId: 'ab',
  position,
  index: position,
  at: position === 0 ? undefined : AT,
  erased: false,
  archived: position === 0,
});

const working: LedgerExplorer = {
  overview: async (wanted) =>
    'channel' in wanted
      ? NAMES.filter((name) => name === wanted.channel).map(overviewOf)
      : NAMES.filter((name) => name > wanted.after)
          .slice(0, wanted.limit)
          .map(overviewOf),
  list: async ({ channel, below = 3, limit }) =>
    NAMES.includes(channel)
      ? [2, 1, 0]
          .filter((n) => n < below)
          .slice(0, limit)
          .map(recordOf)
      : undefined,
  logs: async (channel) =>
    NAMES.includes(channel)
      ? [{ epoch: 0, origin: `ledger.test/${channel}`, checkpoint: undefined, published: 'note', declaration: null }]
      : [],
  logKeys: async (channel) => (channel === 'acme.a' ? STATEMENT : undefined),
  keys: KEYS,
  witnessPolicies: POLICIES,
};

function surfaceOf(exploration: LedgerExplorer) {
  const hasher = ServerSecrets.parse(`s1:${'x'.repeat(32)}`).derive('cursors');
  const cursors = cursorCodec({ hasher, now: () => 0 });
  const { app } = adminSurface(explorerRoutes({ ledger: { exploration }, cursors }));
  return (path: string, token = VIEWER) =>
    request(app).get(`/admin/v1/ledger${path}`).set('Authorization', `Bearer ${token}`);
}

const get = surfaceOf(working);

describe('ledger explorer routes', () => {
  it('list channels in pages, and get one of them', async () => {
    const first = await get('/channels?limit=2');
    expect(first.body.items).toEqual([
      { ...overviewOf('acme.a'), unsignedSince: AT },
      { ...overviewOf('acme.b'), unsignedSince: null, archived: null },
    ]);
    const second = await get(`/channels?limit=2&cursor=${first.body.nextCursor}`);
    expect(second.body).toMatchObject({ items: [{ channel: 'acme.c' }], nextCursor: null });
    const other = await get('/channels/acme.b', OPERATOR);
    expect(other.body).toEqual({ ...overviewOf('acme.b'), unsignedSince: null, archived: null });
    expectProblem(await get('/channels/acme.z'), 'NOT_FOUND');
  });

  it('list records newest first, starting below a position', async () => {
    const first = await get('/channels/acme.a/records?limit=1');
    expect(first.body.items).toEqual([recordOf(2)]);
    const second = await get(`/channels/acme.a/records?limit=2&cursor=${first.body.nextCursor}`);
    expect(second.body).toEqual({ items: [recordOf(1), { ...recordOf(0), owner: null, at: null }], nextCursor: null });
    expect((await get('/channels/acme.a/records?below=1')).body.items).toHaveLength(1);
    expectProblem(await get('/channels/acme.z/records'), 'NOT_FOUND');
    // A cursor is bound to its channel and start position.
    const cursor = first.body.nextCursor;
    expectProblem(await get(`/channels/acme.b/records?cursor=${cursor}`), 'INVALID_CURSOR');
    expectProblem(await get(`/channels/acme.a/records?below=2&cursor=${cursor}`), 'INVALID_CURSOR');
  });

  it.each([
    ['/channels/acme.a/records?below=-1', 'INVALID_REQUEST'],
    ['/channels/acme.a/records?below=1.5', 'INVALID_REQUEST'],
    ['/channels/acme.a/records?limit=201', 'INVALID_LIMIT'],
    ['/channels/acme.a/records?cursor=x', 'INVALID_CURSOR'],
    ['/channels/acme.a/records?type=t', 'UNKNOWN_PARAMETER'],
    ['/channels?cursor=', 'INVALID_CURSOR'],
    ['/keys?x=1', 'UNKNOWN_PARAMETER'],
    ['/witnesses?x=1', 'UNKNOWN_PARAMETER'],
  ] as const)('refuse %s with %s', async (path, code) => {
    expectProblem(await get(path), code);
  });

  it('list logs, keys and policies of witnesses', async () => {
    expect((await get('/channels/acme.a/logs')).body).toEqual({
      channel: 'acme.a',
      logs: [{ epoch: 0, origin: 'ledger.test/acme.a', checkpoint: null, published: 'note', declaration: null }],
    });
    expectProblem(await get('/channels/acme.z/logs'), 'NOT_FOUND');
    expect((await get('/keys')).body).toEqual(KEYS);
    expect((await get('/witnesses')).body).toEqual({ policies: POLICIES });
    const statement = await get('/channels/acme.a/key');
    expect([statement.text, statement.headers['content-type']]).toEqual([STATEMENT, 'text/plain; charset=utf-8']);
    expectProblem(await get('/channels/acme.b/key'), 'NOT_FOUND');
  });

  it.each([
    ['FORBIDDEN', new LedgerForbiddenError('no right')],
    ['LEDGER_UNAVAILABLE', new LedgerUnavailableError('away')],
  ] as const)('answer %s for that error of the ledger', async (code, error) => {
    const fail = () => Promise.reject(error);
    const ask = surfaceOf({ overview: fail, list: fail, logs: fail, logKeys: fail, keys: KEYS, witnessPolicies: [] });
    for (const path of ['/channels', ...['', '/records', '/logs', '/key'].map((rest) => `/channels/acme.a${rest}`)])
      expectProblem(await ask(path), code);
  });

  it('refuse unauthenticated callers', async () => {
    for (const path of [
      '/channels',
      '/channels/acme.a/records',
      '/channels/acme.a/logs',
      '/channels/acme.a/key',
      '/keys',
      '/witnesses',
    ])
      expectProblem(await get(path, 'x'.repeat(32)), 'UNAUTHENTICATED');
  });
});
