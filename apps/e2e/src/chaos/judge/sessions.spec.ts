import { describe, expect, it } from '@jest/globals';
import type { Asked, Fault, Line } from '../history.ts';
import { sessions } from './sessions.ts';
import { asked, verdictOf } from './testing/lines.ts';

const SECOND = 1_000;

/** What `ada` did with the session `s`, `at` seconds after the beginning. */
const ada = (act: string, at: number, more: Partial<Asked> = {}): Asked =>
  asked({
    ...{ surface: 'console', as: 'ada', act, target: 'GET /admin/case-gate/admin/v1/audit?limit=3', status: 200 },
    ...{ startedMs: at * SECOND, endedMs: at * SECOND + 10, sent: { session: 's' }, text: '{}' },
    ...more,
  });
const signedIn = ada('signed-in', 0, { status: 303 });
const signedOut = (at: number): Asked => ada('sign-out', at, { target: 'POST /sign-out' });
const shown = (person: unknown): Asked =>
  ada('session', 1, { target: 'GET /session', text: JSON.stringify({ person }) });

const fault = (name: string, hit: string, from: number, to: number): Fault => ({
  ...{ is: 'fault', name, hit, did: {} },
  startedMs: from * SECOND,
  healedMs: to * SECOND,
});
const away = fault('provider-away', 'provider', 20, 30);
const stopped = ada('read', 25, {
  status: 503,
  text: '{"code":"UNAVAILABLE","detail":"The identity provider is unreachable"}',
});

const broken = async (...lines: Line[]) => (await verdictOf(sessions(), lines)).broken;

describe('sessions at the console', () => {
  it('are kept by answers to their person alone, until they sign out', async () => {
    const whoami = { target: 'GET /admin/case-gate/admin/v1/whoami', text: '{"actor":"oidc:http://p#ada"}' };
    const after = ada('copied', 20, { status: 401 });
    const lines = [signedIn, shown({ subject: 'ada' }), ada('read', 5, whoami), signedOut(8), after];
    expect(await verdictOf(sessions(), lines)).toMatchObject({ judged: 5, broken: [] });
  });

  it.each([
    ['a session that ends by itself', shown(null), 'line 2: the session of ada was told to have ended'],
    ['the session of somebody else', shown({ subject: 'ben' }), 'line 2: ada was told to be ben'],
    [
      'the token of somebody else',
      ada('read', 1, { target: 'GET /admin/case-gate/admin/v1/whoami', text: '{"actor":"oidc:http://p#ben"}' }),
      'line 2: ada was oidc:http://p#ben for the surface',
    ],
    ['an operator without rights', ada('read', 1, { status: 403 }), 'line 2: the operator ada was refused'],
  ])('are broken by %s', async (_what, line, breach) => {
    expect(await broken(signedIn, line)).toEqual([breach]);
  });

  it('are broken by a cookie that is still good after its session ended', async () => {
    const breach = ['line 3: the session of ada had ended, and was answered 200'];
    expect(await broken(signedIn, signedOut(5), ada('copied', 16, { replica: 1 }))).toEqual(breach);
    expect(await broken(signedIn, signedOut(5), ada('copied', 6))).toEqual(breach);
  });

  it('leave other replicas ten seconds to learn of it, and longer while nobody can tell them', async () => {
    expect(await broken(signedIn, signedOut(5), ada('copied', 6, { replica: 1 }))).toEqual([]);
    const killed = fault('process-killed', 'console/0', 6, 7);
    expect(await broken(signedIn, signedOut(5), killed, ada('copied', 8))).toEqual([]);
    const redis = fault('redis-killed', 'redis', 4, 6);
    expect(await broken(signedIn, signedOut(5), redis, ada('copied', 16))).toEqual([]);
    expect(await broken(signedIn, signedOut(5), ada('copied', 25), away)).toEqual([]);
  });

  it('are broken by a replica that knows the session and does not go on without the provider', async () => {
    const breach = 'line 3: ada did not go on without the provider';
    expect(await broken(signedIn, ada('read', 15), stopped, away)).toEqual([breach]);
    const refused = { ...stopped, status: 401, text: '{}' };
    expect(await broken(signedIn, ada('read', 15), refused, away)).toEqual([breach]);
    expect(await broken(signedIn, ada('read', 15), ada('read', 25), away)).toEqual([]);
  });

  it('need the provider where the token or the process is new', async () => {
    expect(await broken(signedIn, ada('read', 15, { replica: 1 }), stopped, away)).toEqual([]);
    const other = ada('read', 15, { target: 'GET /admin/ingest-gateway/admin/v1/waiting' });
    expect(await broken(signedIn, other, stopped, away)).toEqual([]);
    const restarted = fault('rolling-restart', 'console', 16, 18);
    expect(await broken(signedIn, ada('read', 15), restarted, stopped, away)).toEqual([]);
  });
});
