import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AUDIENCES, testConsole, type TestConsole } from './testing/test-console.ts';
import { Browser } from './testing/browser.ts';

const AWAY = 'The identity provider is unreachable';
const UNFIT = 'The response of the identity provider is invalid';
const HTML = { accept: 'text/html' };

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
const isBack = ({ pathname }: URL) => pathname === '/signed-in';
const codeOf = ({ body }: { body: string }) => (JSON.parse(body) as { code: string }).code;

describe('signing in', () => {
  it('redirects to the provider and back to the original page, and the session names the person', async () => {
    const before = await session();
    expect(before).toMatchObject({ person: null });
    expect(JSON.stringify(before)).not.toContain('publicUrl');
    const { answer, url } = await signIn('/risks?status=open#first');
    expect(answer.status).toBe(200);
    expect(url.href).toBe(`${test.url}/risks?status=open#first`);
    expect(await session()).toEqual({
      person: { issuer: test.provider.issuer, subject: 'ada', name: 'Ada', email: 'ada@example.com' },
      surfaces: [
        { id: 'risk-partner', api: true, admin: true, publicUrl: 'https://risks.example.com' },
        { id: 'case-gate', api: true, admin: false, publicUrl: expect.stringMatching(/^http:.+\/below$/) },
        { id: 'ledger-peer', api: true, admin: true, publicUrl: 'http://127.0.0.1:1' },
      ],
      expiresAt: new Date(test.clock.now() + 43_200_000).toISOString(),
    });
    expect(test.counted).toEqual(['sign-in signed_in']);
  });

  it('uses code, PKCE, state, nonce and all audiences, and hides cookies from scripts and other sites', async () => {
    const { answer, url } = await browser.follow(`${test.url}/sign-in`, ({ origin }) => origin !== test.url);
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      response_type: 'code',
      code_challenge_method: 'S256',
      redirect_uri: `${test.url}/signed-in`,
      scope: 'openid profile email offline_access',
      client_id: 'console',
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
    });
    expect(url.searchParams.getAll('resource')).toEqual([AUDIENCES.api, AUDIENCES.admin]);
    expect(answer.headers['set-cookie']).toEqual([
      expect.stringMatching(/^sealgate-sign-in-\d+-\w+=s1:[\w-]+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/),
    ]);
    await signIn();
    const [cookie = ''] = [...browser.jarOf(test.url)]
      .filter(([name]) => name.includes('session'))
      .map(([, one]) => one);
    expect(cookie.length).toBeLessThan(1500);
    expect(Buffer.from(cookie.split(':')[1]!, 'base64url').toString('latin1')).not.toMatch(/ada|refresh/);
  });

  it.each(['https://evil.example', '//evil.example', '/\\evil.example', 'risks', '/\tevil', 'javascript:alert(1)', ''])(
    'does not return to %p',
    async (returnTo) => {
      const answer = await browser.ask(test.url, `/sign-in?returnTo=${encodeURIComponent(returnTo)}`);
      expect([answer.status, codeOf(answer)]).toEqual([400, 'INVALID_REQUEST']);
      expect(browser.jarOf(test.url).size).toBe(0);
    },
  );

  it('refuses a callback from another browser, used twice, or with another state', async () => {
    const { url } = await browser.follow(`${test.url}/sign-in`, isBack);
    const stranger = new Browser();
    const path = url.pathname + url.search;
    expect(codeOf(await stranger.ask(test.url, path))).toBe('INVALID_REQUEST');
    const otherState = path.replace(/state=[^&]+/, `state=${'A'.repeat(43)}`);
    expect(codeOf(await browser.ask(test.url, otherState))).toBe('INVALID_REQUEST');
    expect((await browser.ask(test.url, path)).status).toBe(303);
    const again = await browser.ask(test.url, path, { headers: HTML });
    expect(again.status).toBe(400);
    expect(again.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(again.body).toContain('This sign-in was not started in this browser, or has ended.');
    expect(await session()).toMatchObject({ person: { subject: 'ada' } });
  });

  it('refuses a callback after more than ten minutes', async () => {
    const { url } = await browser.follow(`${test.url}/sign-in`, isBack);
    test.clock.advance(600_001);
    expect(codeOf(await browser.ask(test.url, url.pathname + url.search))).toBe('INVALID_REQUEST');
  });

  it('lets two windows sign in at once, and keeps only a few abandoned sign-ins', async () => {
    const { url: first } = await browser.follow(`${test.url}/sign-in?returnTo=/a`, isBack);
    const { url: second } = await browser.follow(`${test.url}/sign-in?returnTo=/b`, isBack);
    const landed = async ({ pathname, search }: URL) =>
      (await browser.ask(test.url, pathname + search)).headers.location;
    expect([await landed(first), await landed(second)]).toEqual(['/a', '/b']);
    for (let i = 0; i < 20; i += 1) await browser.ask(test.url, '/sign-in');
    expect(browser.jarOf(test.url).size).toBeLessThanOrEqual(6);
  });

  it('explains a refusal by the provider, without quoting it in the page', async () => {
    const { url } = await browser.follow(`${test.url}/sign-in`, ({ origin }) => origin !== test.url);
    const state = url.searchParams.get('state');
    const refused = `/signed-in?error=access_denied&error_description=<script>&state=${state}&iss=${test.provider.issuer}`;
    const answer = await browser.ask(test.url, refused, { headers: HTML });
    expect(answer.status).toBe(403);
    expect(answer.body).toContain('The identity provider refused the sign-in.');
    expect(answer.body).not.toContain('<script');
    expect(answer.headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-/);
    expect(test.counted).toEqual(['provider code', 'sign-in refused']);
  });

  it.each<[string, string, (test: TestConsole) => void]>([
    ['is away', AWAY, (given) => void given.provider.stop()],
    [
      'answers with a page',
      UNFIT,
      ({ provider }) => (provider.instead = (_, response) => (response.end('<html>'), true)),
    ],
    ['fails', UNFIT, ({ provider }) => (provider.instead = (_, response) => (response.writeHead(500).end(), true))],
    [
      'leads elsewhere',
      UNFIT,
      ({ provider }) =>
        (provider.instead = (_, response) => (
          response.writeHead(302, { location: 'https://evil.example' }).end(),
          true
        )),
    ],
    [
      'answers without end',
      AWAY,
      ({ provider }) =>
        (provider.instead = (_, response) => {
          response.writeHead(200, { 'content-type': 'application/json' });
          response.write('x'.repeat(300_000));
          return true;
        }),
    ],
  ])('answers 503 with an explanation if the provider %s, and recovers afterwards', async (_, words, breakIt) => {
    breakIt(test);
    const answer = await browser.ask(test.url, '/sign-in', { headers: HTML });
    expect(answer.status).toBe(503);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(answer.body).toContain(words);
    expect(answer.body).not.toContain('evil');
    expect(test.counted).toEqual(['provider discovery', 'sign-in provider_away']);
    if (test.provider.instead === undefined) return;
    test.provider.instead = undefined;
    expect((await signIn()).answer.status).toBe(200);
  });
});
