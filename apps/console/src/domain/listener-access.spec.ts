import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AppError } from '@sealgate/errors';
import { testClock } from '@sealgate/testing';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { askAdmin, askPerson, askWaiting } from '../data/ask-admin.ts';
import { listenerAccess } from './listener-access.ts';
import type { Session } from './session.ts';
import type { Surface } from './surfaces.ts';

const session: Session = {
  id: 's1',
  issuer: 'https://login.example.com',
  subject: 'ada',
  name: undefined,
  email: undefined,
  refreshToken: 'r',
  renewals: 0,
  endsAtMs: Number.MAX_SAFE_INTEGER,
};
const clock = testClock();

let server: Server;
let surfaces: Surface[];
/** Status of `whoami`, by surface; 0: the connection is cut. */
let told: Record<string, number>;
/** Answers of paths, by path; 401 to others. */
let answers: Record<string, readonly [status: number, body?: object]>;
let tokenError: AppError | undefined;
beforeEach(async () => {
  [told, tokenError] = [{ 'risk-partner': 200, 'case-gate': 200 }, undefined];
  answers = {};
  server = createServer(({ url = '', socket }, response) => {
    const status = told[url.split('/')[1] ?? ''] ?? 404;
    const [answered, body] = answers[url] ?? [401];
    if (status === 0) socket.destroy();
    else if (url.includes('/admin/')) response.writeHead(status).end(JSON.stringify(OPERATOR));
    else response.writeHead(answered).end(JSON.stringify(body ?? {}));
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  surfaces = (['risk-partner', 'case-gate'] as const).map((id) => {
    const admin = { url: `http://127.0.0.1:${port}/${id}`, audience: { by: 'resource', value: id } as const };
    return { id, api: admin, admin, publicUrl: undefined, opsUrl: undefined };
  });
});
afterEach(() => {
  server.close();
  server.closeAllConnections();
});

const WHOLE = { departments: [], canReadSensitive: true, unrestricted: true };
const OPERATOR = { roles: ['operator'], permissions: ['admin:change', 'admin:read'] };
const tokens = {
  async tokenFor(_session: Session, { value }: { readonly value: string }) {
    if (tokenError !== undefined && value === 'case-gate') throw tokenError;
    return { token: 't' };
  },
};
const rights = () =>
  listenerAccess({
    surfaces,
    now: clock.now,
    askAdmin: askAdmin(tokens),
    askPerson: askPerson(tokens),
    askWaiting: askWaiting(tokens),
  });
const access = () => rights().mayOverview;

describe('the overview', () => {
  it.each([
    ['cuts the connection', 0],
    ['fails', 503],
  ])('does not show a surface that %s to somebody who may read another', async (_, status) => {
    told['case-gate'] = status;
    expect([...(await access()(session))]).toEqual(['risk-partner']);
  });

  it('shows a surface that fails for ten minutes after the person could read it', async () => {
    const mayOverview = access();
    expect((await mayOverview(session)).size).toBe(2);
    told['case-gate'] = 503;
    clock.advance(599_999);
    expect((await mayOverview(session)).size).toBe(2);
    clock.advance(1);
    expect([...(await mayOverview(session))]).toEqual(['risk-partner']);
  });

  it.each(['RATE_LIMITED', 'OVERLOADED'] as const)(
    'is refused if the person has too many requests under way (%s), with or without an earlier verdict',
    async (code) => {
      const mayOverview = access();
      await mayOverview(session);
      clock.advance(10_000);
      tokenError = new AppError(code, 'too many');
      for (const ask of [mayOverview, access()]) await expect(ask(session)).rejects.toMatchObject({ code });
    },
  );

  it('is refused if the listener has had too many requests of the person', async () => {
    told['case-gate'] = 429;
    await expect(access()(session)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  });

  it('shows nothing new while the provider is away', async () => {
    tokenError = new AppError('UNAVAILABLE', 'away');
    expect([...(await access()(session))]).toEqual(['risk-partner']);
  });
});

describe('what a person may do', () => {
  it('is told by whoami of each listener: not theirs, theirs, or not known', async () => {
    const member = { personId: 'per_1', roles: ['owner'], permissions: ['risk:read'], scope: WHOLE };
    const organizations = [
      { id: 'o1', name: 'O', member },
      { id: 'o2', name: 'Invites them', member: null },
    ];
    answers['/risk-partner/api/organizations'] = [200, organizations];
    told['case-gate'] = 401;
    expect(await rights().rightsOf(session)).toEqual([
      {
        id: 'risk-partner',
        admin: OPERATOR,
        api: { isPartner: false, organizations },
      },
      { id: 'case-gate', admin: false, api: false },
    ]);
    told['case-gate'] = 503;
    expect((await rights().rightsOf(session))[1]).toEqual({ id: 'case-gate', admin: undefined, api: false });
  });

  it.each([
    ['nobody', 401, false],
    ['a member', 200, { isPartner: false, organizations: [{ id: 'o2', name: 'B' }] }],
    ['a partner machine', 403, { isPartner: true, organizations: [] }],
  ])('is told of %s by the risk partner', async (_who, status, api) => {
    answers['/risk-partner/api/organizations'] = [status, [{ id: 'o2', name: 'B' }]];
    expect((await rights().rightsOf(session))[0]).toMatchObject({ api });
  });

  it('does not show states of services to a reviewer, who reads cases alone', async () => {
    const reviewer = { roles: ['reviewer'], permissions: ['cases:read'] };
    const { mayOverview } = listenerAccess({
      surfaces,
      now: clock.now,
      askAdmin: async () => reviewer,
      askPerson: async () => false,
      askWaiting: async () => undefined,
    });
    await expect(mayOverview(session)).rejects.toMatchObject({ code: 'FORBIDDEN' });
  });
});
