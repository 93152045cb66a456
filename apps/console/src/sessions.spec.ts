import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AUDIENCES, SCOPES, testConsole, WHOAMI, type TestConsole } from './testing/test-console.ts';
import { until } from '@sealgate/testing';
import { Browser } from './testing/browser.ts';

const RISKS = '/api/risk-partner/api/risks';
const ORGS = '/admin/risk-partner/admin/v1/orgs';

let test: TestConsole;
let browser: Browser;
beforeEach(async () => {
  test = await testConsole();
  browser = new Browser();
});
afterEach(() => test.stop());

const signIn = (returnTo = '/', who = browser) =>
  who.follow(`${test.url}/sign-in?returnTo=${encodeURIComponent(returnTo)}`);
const session = async (who = browser) => JSON.parse((await who.ask(test.url, '/session')).body) as { person: unknown };
const codeOf = ({ body }: { body: string }) => (JSON.parse(body) as { code: string }).code;
const renewals = () => test.provider.asked.filter((path) => path === '/token').length - 1;
const claimsOf = (authorization = '') =>
  JSON.parse(Buffer.from(authorization.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>;

describe('a session', () => {
  beforeEach(async () => {
    await signIn();
  });

  it('sends each listener only its own token, and none to the page', async () => {
    expect((await browser.ask(test.url, RISKS)).status).toBe(200);
    expect((await browser.ask(test.url, ORGS)).status).toBe(200);
    await browser.ask(test.url, '/api/case-gate/v1/cases');
    const [api, admin, none] = test.seen;
    expect(claimsOf(api?.headers.authorization)).toMatchObject({ aud: AUDIENCES.api, sub: 'ada' });
    expect(claimsOf(admin?.headers.authorization)).toMatchObject({ aud: AUDIENCES.admin, sub: 'ada' });
    expect(none?.headers.authorization).toBeUndefined();
    expect(none?.url).toBe('/below/v1/cases');
  });

  it('exchanges its refresh token once for concurrent requests, and once per audience', async () => {
    const cookieBefore = [...browser.jarOf(test.url)].join();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => browser.ask(test.url, index % 2 === 0 ? RISKS : ORGS)),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    // The sign-in returned the token of the first audience.
    expect(renewals()).toBe(1);
    expect([...browser.jarOf(test.url)].join()).not.toBe(cookieBefore);
  });

  it('renews a token before it expires, and keeps the rotated refresh token', async () => {
    for (let i = 1; i <= 3; i += 1) {
      test.clock.advance(571_000);
      expect((await browser.ask(test.url, RISKS)).status).toBe(200);
      expect(renewals()).toBe(i);
    }
  });

  it('survives the loss of a cookie with a rotated refresh token', async () => {
    const before = new Map(browser.jarOf(test.url));
    await browser.ask(test.url, ORGS);
    const old = new Browser();
    old.cookies.set(test.url, before);
    test.clock.advance(571_000);
    const answer = await old.ask(test.url, ORGS);
    expect(answer.status).toBe(200);
    expect(answer.headers['set-cookie']).toHaveLength(1);
    expect((await browser.ask(test.url, RISKS)).status).toBe(200);
  });

  it('continues in another process', async () => {
    const other = await test.another();
    const there = await browser.ask(other, ORGS, { headers: { cookie: cookieOf(browser, test.url) } });
    expect(there.status).toBe(200);
    // The browser has one cookie jar for both: they have the same origin.
    for (const [name, value] of browser.jarOf(other)) browser.jarOf(test.url).set(name, value);
    test.clock.advance(571_000);
    expect((await browser.ask(test.url, ORGS)).status).toBe(200);
    expect((await browser.ask(test.url, RISKS)).status).toBe(200);
  });

  it('gets 401 if two processes exchanged one refresh token, and keeps its cookie', async () => {
    const stale = cookieOf(browser, test.url);
    await browser.ask(test.url, ORGS);
    const other = await test.another();
    const answer = await new Browser().ask(other, ORGS, { headers: { cookie: stale } });
    expect([answer.status, codeOf(answer)]).toEqual([401, 'UNAUTHENTICATED']);
    expect(answer.headers['set-cookie']).toBeUndefined();
    const asked = test.provider.asked.length;
    await new Browser().ask(other, ORGS, { headers: { cookie: stale } });
    expect(test.provider.asked.length).toBe(asked);
  });

  it('ends if the provider no longer knows the person, without giving a reason', async () => {
    test.provider.removed.add('ada');
    test.clock.advance(571_000);
    const answer = await browser.ask(test.url, RISKS);
    expect([answer.status, codeOf(answer)]).toEqual([401, 'UNAUTHENTICATED']);
    expect(test.seen).toEqual([]);
  });

  it('gets 503 if the provider is down and a token is needed, and continues with a cached one', async () => {
    expect((await browser.ask(test.url, RISKS)).status).toBe(200);
    await test.provider.stop();
    expect((await browser.ask(test.url, RISKS)).status).toBe(200);
    const answer = await browser.ask(test.url, ORGS);
    expect([answer.status, codeOf(answer)]).toEqual([503, 'UNAVAILABLE']);
    expect(answer.body).toContain('The identity provider is unreachable');
  });

  it('ends at its maximum lifetime, regardless of renewals', async () => {
    test.clock.advance(43_200_000);
    expect(await session()).toMatchObject({ person: null });
    expect((await browser.ask(test.url, RISKS)).status).toBe(401);
  });

  it.each<[string, (cookie: string) => string]>([
    ['changed', (cookie) => `${cookie.slice(0, -3)}AAA`],
    ['cut', (cookie) => cookie.slice(0, -20)],
    ['sealed for another place', (cookie) => cookie.replace('sealgate-session', 'sealgate-other')],
    ['sent twice', (cookie) => `${cookie}; ${cookie}`],
    ['made up', (cookie) => `${cookie.split('=')[0]}=s1:${'A'.repeat(200)}`],
    ['empty', (cookie) => `${cookie.split('=')[0]}=`],
    ['12 KiB long', (cookie) => `${cookie}${'A'.repeat(12_000)}`],
  ])('is ignored if its cookie is %s', async (_, change) => {
    const headers = { cookie: change(cookieOf(browser, test.url)) };
    const stranger = new Browser();
    const answer = await stranger.ask(test.url, '/session', { headers });
    expect(JSON.parse(answer.body)).toMatchObject({ person: null });
    const refused = await stranger.ask(test.url, RISKS, { headers });
    expect([refused.status, codeOf(refused)]).toEqual([401, 'UNAUTHENTICATED']);
    expect(test.seen).toEqual([]);
  });

  it('refuses cookies of 1 MiB', async () => {
    const answer = await browser
      .ask(test.url, '/session', { headers: { cookie: `a=${'A'.repeat(1_048_576)}` } })
      .catch((error: NodeJS.ErrnoException) => error.code);
    // Node refuses the head, and may close the connection before all of it was sent.
    if (typeof answer === 'string') expect(['ECONNRESET', 'EPIPE']).toContain(answer);
    else expect(answer).toMatchObject({ status: 431 });
  });
});

describe('what is theirs', () => {
  it('is told to the signed-in person alone, and not to other origins', async () => {
    const asked = await new Browser().ask(test.url, '/mine');
    expect([asked.status, codeOf(asked)]).toEqual([401, 'UNAUTHENTICATED']);
    await signIn();
    const { surfaces } = JSON.parse((await browser.ask(test.url, '/mine')).body) as { surfaces: object[] };
    expect(surfaces[0]).toEqual({ id: 'risk-partner', admin: JSON.parse(WHOAMI), api: expect.anything(), unknown: [] });
    expect(surfaces[1]).toEqual({ id: 'case-gate', admin: null, api: null, unknown: [] });
    const foreign = await browser.ask(test.url, '/mine', { headers: { 'sec-fetch-site': 'cross-site' } });
    expect([foreign.status, codeOf(foreign)]).toEqual([403, 'ORIGIN_NOT_ALLOWED']);
  });
});

describe('the overview', () => {
  const statesOf = async (who = browser) => {
    const { status, body } = await who.ask(test.url, '/overview');
    return status === 200
      ? (JSON.parse(body) as { surfaces: { id: string }[] }).surfaces.map(({ id }) => id)
      : codeOf({ body });
  };

  it('is for people who may read an admin listener', async () => {
    const told = { status: 200 };
    test.answer = (_request, response, { url }) =>
      void response
        .writeHead(url === '/admin/v1/whoami' ? told.status : 200)
        .end(url === '/admin/v1/whoami' ? WHOAMI : '{}');
    await signIn();
    expect(await statesOf()).toEqual(['risk-partner']);
    for (const status of [401, 403]) {
      told.status = status;
      test.clock.advance(10_000);
      expect(await statesOf()).toBe('FORBIDDEN');
    }
    told.status = 503;
    test.clock.advance(600_001);
    expect(await statesOf()).toBe('UNAVAILABLE');
    expect(await statesOf(new Browser())).toBe('UNAUTHENTICATED');
  });

  it('is shown to an operator while the surface is down', async () => {
    await signIn();
    expect(await statesOf()).toEqual(['risk-partner']);
    test.answer = (request) => request.socket.destroy();
    test.clock.advance(60_000);
    expect(await statesOf()).toEqual(['risk-partner']);
  });
});

describe('a provider that chooses the audience by scope', () => {
  it('is asked for each listener by its scopes', async () => {
    const scoped = await testConsole({ byScope: true });
    try {
      const { url } = await browser.follow(`${scoped.url}/sign-in`, ({ pathname }) => pathname === '/auth');
      expect(url.searchParams.getAll('resource')).toEqual([]);
      expect(url.searchParams.get('scope')).toBe(`openid profile email offline_access ${SCOPES.api} ${SCOPES.admin}`);
      await browser.follow(url.href);
      for (const path of [RISKS, ORGS]) expect((await browser.ask(scoped.url, path)).status).toBe(200);
      const audiences = scoped.seen.map(({ headers }) => claimsOf(headers.authorization)['aud']);
      expect(audiences).toEqual([AUDIENCES.api, AUDIENCES.admin]);
    } finally {
      await scoped.stop();
    }
  });
});

describe('signing out', () => {
  const refusedEverywhere = async (origin: string, cookie: string) => {
    const thief = new Browser();
    const headers = { cookie };
    const seen = JSON.parse((await thief.ask(origin, '/session', { headers })).body) as { person: unknown };
    const statuses = [];
    for (const path of ['/overview', RISKS, ORGS, '/api/case-gate/v1/cases'])
      statuses.push((await thief.ask(origin, path, { headers })).status);
    return seen.person === null && statuses.every((status) => status === 401);
  };

  it.each([
    ['an introspection endpoint', true],
    ['only the token endpoint', false],
  ])(
    'refuses a copied cookie at once here, and within ten seconds at another replica, by %s',
    async (_by, introspects) => {
      const scoped = await testConsole({ introspects });
      try {
        await browser.follow(`${scoped.url}/sign-in`);
        const there = await scoped.another();
        // The other replica has its tokens in memory.
        for (const origin of [scoped.url, there])
          expect(
            (await browser.ask(origin, RISKS, { headers: { cookie: cookieOf(browser, scoped.url) } })).status,
          ).toBe(200);
        for (const [name, value] of browser.jarOf(there)) browser.jarOf(scoped.url).set(name, value);
        const copied = cookieOf(browser, scoped.url);
        expect((await browser.change(scoped.url, '/sign-out')).status).toBe(200);
        expect(await refusedEverywhere(scoped.url, copied)).toBe(true);
        scoped.clock.advance(10_000);
        expect(await refusedEverywhere(there, copied)).toBe(true);
        // A replica that starts later has never seen it.
        expect(await refusedEverywhere(await scoped.another(), copied)).toBe(true);
      } finally {
        await scoped.stop();
      }
    },
  );

  it('revokes only after an exchange that is under way, whose refresh token would outlive it', async () => {
    await signIn();
    const held: (() => void)[] = [];
    test.provider.instead = ({ url }, response) => {
      if (url === '/token') held.push(() => response.writeHead(500).end());
      return url === '/token';
    };
    const asking = browser.ask(test.url, ORGS);
    await until(() => held.length === 1);
    const signingOut = browser.change(test.url, '/sign-out');
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(test.provider.asked).not.toContain('/token/revocation');
    held[0]!();
    expect((await signingOut).status).toBe(200);
    expect((await asking).status).toBe(503);
    expect(test.provider.asked).toContain('/token/revocation');
  });

  it('asks the provider at most every ten seconds', async () => {
    await signIn();
    const there = await test.another();
    const headers = { cookie: cookieOf(browser, test.url) };
    const asked = () => test.provider.asked.filter((path) => path === '/token/introspection').length;
    for (let i = 0; i < 5; i += 1) await browser.ask(there, '/session', { headers });
    expect(asked()).toBe(1);
    test.clock.advance(10_000);
    for (let i = 0; i < 5; i += 1) await browser.ask(there, '/session', { headers });
    expect(asked()).toBe(2);
  });

  it('ends the session here and revokes it at the provider, for every process', async () => {
    await signIn();
    const stolen = cookieOf(browser, test.url);
    const answer = await browser.change(test.url, '/sign-out');
    expect(answer.status).toBe(200);
    const { endSessionUrl } = JSON.parse(answer.body) as { endSessionUrl: string };
    const url = new URL(endSessionUrl);
    expect(url.origin).toBe(test.provider.issuer);
    expect(url.searchParams.get('post_logout_redirect_uri')).toBe(`${test.url}/`);
    expect(url.searchParams.get('client_id')).toBe('console');
    expect(await session()).toMatchObject({ person: null });
    expect(test.provider.asked).toContain('/token/revocation');
    for (const origin of [test.url, await test.another()])
      expect((await new Browser().ask(origin, ORGS, { headers: { cookie: stolen } })).status).toBe(401);
  });

  it('works without a session, and while the provider is down', async () => {
    expect(await browser.change(test.url, '/sign-out')).toMatchObject({ status: 200, body: '{}' });
    await signIn();
    test.provider.instead = (_, response) => (response.writeHead(500).end(), true);
    expect((await browser.change(test.url, '/sign-out')).status).toBe(200);
    expect(browser.jarOf(test.url).size).toBe(0);
  });

  it('cannot be done by another site', async () => {
    await signIn();
    for (const headers of [{ origin: 'https://evil.example' }, { 'x-sealgate-console': '0' }, { origin: 'null' }]) {
      const answer = await browser.change(test.url, '/sign-out', { headers });
      expect([answer.status, codeOf(answer)]).toEqual([403, 'ORIGIN_NOT_ALLOWED']);
    }
    expect(await session()).toMatchObject({ person: { subject: 'ada' } });
  });
});

it('logs no token, code, cookie or query', async () => {
  await signIn('/risks?secret=1');
  await browser.ask(test.url, `${RISKS}?cursor=secret`);
  await browser.change(test.url, '/sign-out');
  const logged = test.logged.join('\n');
  expect(logged).toContain('/api/{surface}/{rest}');
  expect(logged).not.toMatch(/secret|eyJ|code=|state=|s1:/);
});

const cookieOf = (browser: Browser, origin: string): string =>
  [...browser.jarOf(origin)]
    .filter(([name]) => name.includes('session'))
    .map(([name, value]) => `${name}=${value}`)
    .join('; ');
