import { request as httpRequest, type IncomingMessage } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { Browser } from './testing/browser.ts';
import { testConsole, type TestConsole } from './testing/test-console.ts';

const TAIL = '/admin/risk-partner/admin/v1/events/tail';
const OTHER = '/api/case-gate/v1/cases';
const CHANGE = '/api/risk-partner/api/risks';

let test: TestConsole;
let browser: Browser;
/** Streams of the surface that are still open there, by path. */
let atSurface: string[];

beforeEach(async () => {
  test = await testConsole();
  browser = new Browser();
  atSurface = [];
  await browser.follow(`${test.url}/sign-in`);
  test.answer = (_request, response, { url }) => {
    atSurface.push(url);
    response.on('close', () => atSurface.splice(atSurface.indexOf(url), 1));
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': ok\n\n');
  };
});
afterEach(() => test.stop());

const cookieOf = (who: Browser) => [...who.jarOf(test.url)].map((pair) => pair.join('=')).join('; ');
/** Sends a request; `state` follows it. */
const begin = (path: string, { origin = test.url, who = browser, method = 'GET' } = {}) => {
  const seen = { state: 'sent', status: 0 };
  const changes = method === 'GET' ? {} : { origin: test.url, 'x-sealgate-console': '1' };
  const headers = { cookie: cookieOf(who), ...changes };
  const outgoing = httpRequest(`${origin}${path}`, { method, headers, agent: false }, (incoming: IncomingMessage) => {
    Object.assign(seen, { state: 'open', status: incoming.statusCode });
    incoming.on('error', () => (seen.state = 'cut'));
    incoming.on('end', () => (seen.state = 'complete'));
    incoming.resume();
  });
  outgoing.on('error', () => (seen.state = 'cut')).end();
  return seen;
};
const opened = async (path: string, options: Parameters<typeof begin>[1] = {}) => {
  const seen = begin(path, options);
  await until(() => seen.state !== 'sent');
  expect(seen).toEqual({ state: 'open', status: 200 });
  return seen;
};

describe('a stream that was opened before its session ended', () => {
  it('is cut at once by signing out, for the surface as well, and frees its slot', async () => {
    const streams = [await opened(TAIL), await opened(OTHER)];
    const again = new Browser();
    await again.follow(`${test.url}/sign-in`);
    const other = await opened(TAIL, { who: again });
    expect((await browser.change(test.url, '/sign-out')).status).toBe(200);
    await until(() => streams.every(({ state }) => state === 'cut') && atSurface.length === 1);
    expect(other.state).toBe('open');
    expect(test.counted.filter((one) => one.endsWith(' cut')).sort()).toEqual(['case-gate cut', 'risk-partner cut']);
  });

  it('is cut at another replica too, without any request of that session there', async () => {
    const stream = await opened(TAIL, { origin: await test.another() });
    expect((await browser.change(test.url, '/sign-out')).status).toBe(200);
    test.tick();
    expect(stream.state).toBe('open');
    test.clock.advance(10_000);
    await until(() => (test.tick(), stream.state === 'cut'));
    await until(() => atSurface.length === 0);
  });

  it('is cut once a request shows that the provider has ended the session', async () => {
    const there = await test.another();
    const stream = await opened(OTHER, { origin: there });
    const headers = { cookie: cookieOf(browser) };
    expect((await browser.change(test.url, '/sign-out')).status).toBe(200);
    test.clock.advance(10_000);
    expect((await new Browser().ask(there, OTHER, { headers })).status).toBe(401);
    await until(() => stream.state === 'cut');
  });

  it('is cut at the maximum lifetime of the session', async () => {
    const stream = await opened(TAIL);
    test.clock.advance(43_200_000);
    await until(() => (test.tick(), stream.state === 'cut'));
  });

  it('goes on while the session does, with one question to the provider in ten seconds', async () => {
    const stream = await opened(TAIL);
    const asked = () => test.provider.asked.filter((path) => path === '/token/introspection').length;
    const before = asked();
    for (let second = 0; second < 60; second += 5) {
      test.clock.advance(5_000);
      test.tick();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(stream.state).toBe('open');
    expect(asked() - before).toBeLessThanOrEqual(6);
    expect(asked()).toBeGreaterThan(before);
  });
});

describe('a request that the surface has not answered yet', () => {
  it('is refused, and never sent, if its session was signed out while its token was fetched', async () => {
    const cookie = cookieOf(browser);
    const held: (() => void)[] = [];
    const token = JSON.stringify({ access_token: 't', token_type: 'bearer', expires_in: 600 });
    test.provider.instead = ({ url }, response) => {
      const answer = () => response.writeHead(200, { 'content-type': 'application/json' }).end(token);
      if (url === '/token') held.push(answer);
      return url === '/token';
    };
    const waiting = [begin(TAIL), begin('/admin/risk-partner/admin/v1/orgs', { method: 'POST' })];
    await until(() => held.length === 1);
    const signingOut = browser.change(test.url, '/sign-out');
    await until(async () => (await new Browser().ask(test.url, OTHER, { headers: { cookie } })).status === 401);
    for (const answer of held) answer();
    await until(() => waiting.every(({ state }) => state === 'complete'));
    expect(waiting.map(({ status }) => status)).toEqual([401, 401]);
    expect(test.seen).toEqual([]);
    expect((await signingOut).status).toBe(200);
  });

  it('is cut by signing out if it reads, and answered if it changes something', async () => {
    const held: (() => void)[] = [];
    test.answer = (_request, response) => void held.push(() => response.end('{}'));
    const read = begin(CHANGE);
    const change = begin(CHANGE, { method: 'POST' });
    await until(() => held.length === 2);
    expect((await browser.change(test.url, '/sign-out')).status).toBe(200);
    await until(() => read.state === 'cut');
    test.tick();
    expect(change.state).toBe('sent');
    for (const answer of held) answer();
    await until(() => change.state === 'complete');
    expect(change.status).toBe(200);
  });
});
