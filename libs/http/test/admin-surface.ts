import { tokenHashes } from '@sealgate/auth';
import { sha256 } from '@sealgate/json';
import { testClock } from '@sealgate/testing';
import { adminApp, type AdminCaller, type App, type Route } from '../src/index.ts';
import { testLog, type TestLog } from './test-surface.ts';

/** A static token, and fake access tokens of signed-in people. */
export const ADMIN = 'a'.repeat(32);
export const OPERATOR = 'operator.of.tests';
export const VIEWER = 'viewer.of.tests';
export const IDENTITY = { issuer: 'https://issuer.test', subject: 'eve' };

interface AdminSurface extends TestLog {
  readonly app: App;
  readonly clock: ReturnType<typeof testClock>;
}

/** An admin app with these routes. */
export function adminSurface(routes: readonly Route<AdminCaller>[]): AdminSurface {
  const { log, lines, records } = testLog();
  const clock = testClock();
  const tokens = tokenHashes(() => sha256(ADMIN).toString('hex'), clock.now);
  const app = adminApp({
    routes,
    tokens,
    async findPerson(token) {
      const role = token === OPERATOR ? 'operator' : token === VIEWER ? 'viewer' : undefined;
      const actor = `oidc:${IDENTITY.issuer}#${IDENTITY.subject}`;
      return role === undefined ? { refused: { tokenRefused: 'no_role' } } : { actor, role, identity: IDENTITY };
    },
    failedAuthentication: () => Promise.resolve(undefined),
    log,
    metrics: { route: () => ({ observe: () => undefined }) },
    now: clock.now,
    newId: () => 'made-here',
    trustProxy: false,
    tlsTerminatedUpstream: false,
  });
  return { app, lines, records, clock };
}
