import { describe, expect, it } from '@jest/globals';
import { ServerSecrets } from '@sealgate/auth';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import { cursorCodec } from '@sealgate/paging';
import { expectProblem } from '@sealgate/testing';
import request from 'supertest';
import { ADMIN, adminSurface, AUTHOR, IDENTITY, OPERATOR, REVIEWER, VIEWER } from '../test/admin-surface.ts';
import { adminStateRoutes, type WaitingItem } from './state-routes.ts';

const hasher = ServerSecrets.parse(`s1:${'x'.repeat(32)}`).derive('cursors');
const auditPorts = {
  listAudit: () => Promise.resolve([]),
  countAudit: () => Promise.resolve(0),
  actorNames: () => Promise.resolve({}),
  cursors: cursorCodec({ hasher, now: () => 0 }),
  auditSigning: { surface: 'surface', signers: [] },
  now: () => 0,
};
const NOTHING = { processes: [], secrets: [], accepted: [] };
const surfaceOf = (waiting: () => Promise<WaitingItem[]>) => {
  const { app } = adminSurface(
    adminStateRoutes({ ...auditPorts, secretReport: () => Promise.resolve(NOTHING), waiting }),
  );
  return (path: string, token: string) => request(app).get(`/admin/v1${path}`).set('Authorization', `Bearer ${token}`);
};
const get = surfaceOf(() =>
  Promise.resolve([
    { what: 'outbox', description: 'Records on their way', count: 2, oldestAt: new Date('2030-01-02T03:04:05.678Z') },
    { what: 'jobs', description: 'Jobs', count: 0, oldestAt: undefined },
  ]),
);

describe('admin state routes', () => {
  it('return the caller: a static token, and a signed-in person of each role with what it may do', async () => {
    const all = ['admin:change', 'admin:read', 'cases:read', 'cases:review', 'policies:read', 'policies:draft'];
    expect((await get('/whoami', ADMIN)).body).toEqual({
      actor: expect.stringMatching(/^admin:[0-9a-f]{8}$/),
      role: 'operator',
      roles: ['operator'],
      permissions: all,
      via: 'static',
    });
    for (const [token, role, permissions] of [
      [OPERATOR, 'operator', all],
      [VIEWER, 'viewer', ['admin:read', 'cases:read', 'policies:read']],
      [REVIEWER, 'reviewer', ['cases:read', 'cases:review', 'policies:read']],
      [AUTHOR, 'author', ['policies:read', 'policies:draft']],
    ] as const) {
      const { issuer, subject } = IDENTITY;
      expect((await get('/whoami', token)).body).toEqual({
        actor: `oidc:${issuer}#${subject}`,
        role,
        roles: [role],
        permissions,
        via: 'token',
        issuer,
        subject,
      });
    }
    expectProblem(await get('/whoami', 'x'.repeat(32)), 'UNAUTHENTICATED');
  });

  it('list pending work, and answer 503 when the ledger is unavailable', async () => {
    expect((await get('/waiting', VIEWER)).body).toEqual({
      items: [
        { what: 'outbox', description: 'Records on their way', count: 2, oldestAt: '2030-01-02T03:04:05.678Z' },
        { what: 'jobs', description: 'Jobs', count: 0, oldestAt: null },
      ],
    });
    expectProblem(await get('/waiting', 'x'.repeat(32)), 'UNAUTHENTICATED');
    const away = surfaceOf(() => Promise.reject(new LedgerUnavailableError('away')));
    expectProblem(await away('/waiting', VIEWER), 'LEDGER_UNAVAILABLE');
  });

  it('show secrets to viewers too, by id only', async () => {
    expect((await get('/secrets', VIEWER)).body).toEqual(NOTHING);
  });
});
