import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Browser } from './testing/browser.ts';
import { testConsole, WHOAMI, type TestConsole } from './testing/test-console.ts';

let test: TestConsole;
let browser: Browser;
beforeEach(async () => {
  test = await testConsole();
  browser = new Browser();
  await browser.follow(`${test.url}/sign-in`);
});
afterEach(() => test.stop());

describe('the pages', () => {
  it.each(['/', '/risks', '/risks/rsk_1?tab=a', '/ledger/demo.main/records/a%2Fb', '/x/'])(
    'are served at %s, with a fresh nonce and a policy that allows nothing else',
    async (path) => {
      const [one, other] = [await browser.ask(test.url, path), await browser.ask(test.url, path)];
      expect(one.status).toBe(200);
      expect(one.headers).toMatchObject({ 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' });
      const [, nonce = ''] = /content="([^"]+)"/.exec(one.body) ?? [];
      expect(one.headers['content-security-policy']).toBe(
        `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'`,
      );
      expect(other.body).not.toBe(one.body);
    },
  );

  it('are sent with the names of what they ask for first, which without a session is who is signed in', async () => {
    const preload = (path: string) => `<${path}>; rel=preload; as=fetch; crossorigin`;
    const page = await browser.ask(test.url, '/risks');
    expect(page.headers['link']).toBe(`${preload('/session')}, ${preload('/mine')}`);
    const stranger = await new Browser().ask(test.url, '/risks');
    expect(stranger.headers['link']).toBe(preload('/session'));
  });

  it('have immutable compressed files, and others that are revalidated', async () => {
    const headers = { 'accept-encoding': 'br' };
    const hashed = await browser.ask(test.url, '/assets/index-4f3a.js', { headers });
    expect(hashed.headers).toMatchObject({
      'cache-control': 'public, max-age=31536000, immutable',
      'content-encoding': 'br',
      'content-type': 'text/javascript; charset=utf-8',
    });
    const icon = await browser.ask(test.url, '/favicon.svg');
    expect(icon.headers['cache-control']).toBe('no-cache');
    const again = await browser.ask(test.url, '/favicon.svg', { headers: { 'if-none-match': icon.headers.etag! } });
    expect(again.status).toBe(304);
  });

  it('save the page that is one file: its own script does not run under the policy of the console', async () => {
    const page = await browser.ask(test.url, '/verify.html');
    expect(page.headers['content-disposition']).toBe('attachment; filename="verify.html"');
    expect((await browser.ask(test.url, '/favicon.svg')).headers['content-disposition']).toBeUndefined();
  });

  it.each(['/assets/gone.js', '/assets/../main.js', '/api', '/admin/x'])('are not served at %s', async (path) =>
    expect((await browser.ask(test.url, path)).status).toBe(404),
  );

  it('refuse changes', async () => expect((await browser.change(test.url, '/risks')).status).toBe(405));
});

describe('the overview', () => {
  it('shows readiness with its reason, rates from the second request on, and backlogs', async () => {
    let requests = 100;
    const items = [{ what: 'outbox', description: 'Records on their way', count: 2, oldestAt: null }];
    test.answer = (request, response) => {
      if (request.url === '/health/ready') response.writeHead(503).end('{"status":"unhealthy","reason":"no database"}');
      else if (request.url === '/admin/v1/whoami') response.end(WHOAMI);
      else if (request.url === '/admin/v1/waiting')
        response.end(JSON.stringify({ items: [...items, { what: 'jobs' }] }));
      else
        response.end(
          `http_requests_total{service="a",route="/api/risks",method="GET",status="2xx"} ${requests}\n` +
            `http_requests_total{service="a",route="/api/risks",method="GET",status="5xx"} ${requests / 10}\n` +
            'http_requests_total{service="a",route="/metrics",method="GET",status="2xx"} 5000\n' +
            'risk_anchors_waiting{service="a"} 7\nprocess_secret{service="a"} 1\nbroken line\n',
        );
    };
    const overview = async () => JSON.parse((await browser.ask(test.url, '/overview')).body) as object;
    const state = {
      id: 'risk-partner',
      ready: false,
      checks: { status: 'unhealthy', reason: 'no database' },
      gauges: { risk_anchors_waiting: 7 },
    };
    const waiting = [{ id: 'risk-partner', items }];
    expect(await overview()).toEqual({ surfaces: [state], waiting });
    requests = 200;
    test.clock.advance(10_000);
    expect(await overview()).toEqual({ surfaces: [{ ...state, requestsPerSecond: 11, errorsPerSecond: 1 }], waiting });
  });

  it('shows null for an unreachable surface', async () => {
    await browser.ask(test.url, '/overview');
    test.answer = (request) => request.socket.destroy();
    test.clock.advance(10_000);
    const answer = await browser.ask(test.url, '/overview');
    expect(JSON.parse(answer.body)).toEqual({
      surfaces: [{ id: 'risk-partner', ready: null, checks: {}, gauges: {} }],
      waiting: [{ id: 'risk-partner', items: null }],
    });
  });
});

describe('readiness', () => {
  it('names unreachable services, and stays once reached', async () => {
    expect(await test.ready()).toEqual({
      ok: true,
      body: {
        status: 'degraded',
        reason: 'ledger-peer admin: cannot be reached',
        checks: {
          provider: 'reached',
          'risk-partner api': 'reached',
          'risk-partner admin': 'reached',
          'case-gate api': 'reached',
          'ledger-peer api': 'reached',
          'ledger-peer admin': 'cannot be reached',
        },
      },
    });
    test.surface.close();
    test.surface.closeAllConnections();
    expect(await test.ready()).toMatchObject({ body: { status: 'degraded', checks: { provider: 'reached' } } });
    test.clock.advance(5_001);
    expect(await test.ready()).toMatchObject({
      ok: true,
      body: { checks: { 'case-gate api': 'cannot be reached (ECONNREFUSED)' } },
    });
  });
});
