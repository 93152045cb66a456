import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AppError } from '@sealgate/errors';
import { testClock } from '@sealgate/testing';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { askAdmin } from '../data/ask-admin.ts';
import { overviewAccess } from './overview-access.ts';
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
let tokenError: AppError | undefined;
beforeEach(async () => {
  [told, tokenError] = [{ 'risk-partner': 200, 'case-gate': 200 }, undefined];
  server = createServer(({ url = '', socket }, response) => {
    const status = told[url.split('/')[1] ?? ''] ?? 404;
    if (status === 0) socket.destroy();
    else response.writeHead(status).end('{}');
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  surfaces = (['risk-partner', 'case-gate'] as const).map((id) => {
    const admin = { url: `http://127.0.0.1:${port}/${id}`, audience: { by: 'resource', value: id } as const };
    return { id, api: undefined, admin, publicUrl: undefined, opsUrl: undefined };
  });
});
afterEach(() => {
  server.close();
  server.closeAllConnections();
});

const access = () =>
  overviewAccess({
    surfaces,
    now: clock.now,
    ask: askAdmin({
      async tokenFor(_session, { value }) {
        if (tokenError !== undefined && value === 'case-gate') throw tokenError;
        return { token: 't' };
      },
    }),
  });

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
