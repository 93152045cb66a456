import { tokenHashes } from '@sealgate/auth';
import type { App, Route } from '@sealgate/http';
import { sha256 } from '@sealgate/json';
import { createLog } from '@sealgate/observability';
import { testClock } from '@sealgate/testing';
import { PassThrough } from 'node:stream';
import { adminApp, type AdminAppOptions, type AdminCaller } from '../src/admin-app.ts';

/** A static token, and fake access tokens of signed-in people. */
export const ADMIN = 'a'.repeat(32);
export const OPERATOR = 'operator.of.tests';
export const VIEWER = 'viewer.of.tests';
export const REVIEWER = 'reviewer.of.tests';
export const AUTHOR = 'author.of.tests';
const ROLES: Readonly<Record<string, AdminCaller['roles']>> = {
  [OPERATOR]: ['operator'],
  [VIEWER]: ['viewer'],
  [REVIEWER]: ['reviewer'],
  [AUTHOR]: ['author'],
};
export const IDENTITY = { issuer: 'https://issuer.test', subject: 'eve' };

/** Of an actor who was not charged before. */
const FULL = { 'RateLimit-Policy': '"key";q=2000;w=10', RateLimit: '"key";r=1999;t=1' };

interface AdminSurface {
  readonly app: App;
  readonly clock: ReturnType<typeof testClock>;
}

/** An admin app with these routes. */
export function adminSurface(
  routes: readonly Route<AdminCaller>[],
  changes: Partial<AdminAppOptions> = {},
): AdminSurface {
  const clock = testClock();
  const app = adminApp({
    routes,
    tokens: tokenHashes(() => sha256(ADMIN).toString('hex'), clock.now),
    async findPerson(token) {
      const roles = ROLES[token];
      const actor = `oidc:${IDENTITY.issuer}#${IDENTITY.subject}`;
      return roles === undefined ? { refused: { tokenRefused: 'no_role' } } : { actor, roles, identity: IDENTITY };
    },
    charge: () => Promise.resolve({ admitted: true, headers: FULL, retryAfterSeconds: 0 }),
    failedAuthentication: () => Promise.resolve(undefined),
    log: createLog({ service: 'test', level: 'error', stream: new PassThrough().resume(), now: clock.now }),
    metrics: { route: () => ({ observe: () => undefined }) },
    now: clock.now,
    newId: () => 'made-here',
    trustProxy: false,
    tlsTerminatedUpstream: false,
    ...changes,
  });
  return { app, clock };
}
