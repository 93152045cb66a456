import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { Browser } from './testing/browser.ts';
import { testConsole, type TestConsole } from './testing/test-console.ts';

const RISKS = '/api/risk-partner/api/risks';
const DOOR = '/api/case-gate/v1/gate/check';

let test: TestConsole;
let browser: Browser;
beforeEach(async () => {
  test = await testConsole();
  browser = new Browser();
  await browser.follow(`${test.url}/sign-in`);
});
afterEach(() => test.stop());

const codeOf = ({ body }: { body: string }) => (JSON.parse(body) as { code: string }).code;
const cookieOf = () => [...browser.jarOf(test.url)].map((pair) => pair.join('=')).join('; ');

describe('a typed key', () => {
  const key = `gk_${'k'.repeat(43)}`;

  it("goes to the gate on the door's path, without a session and in preference to one", async () => {
    const headers = { 'x-api-key': key };
    for (const who of [new Browser(), browser])
      expect((await who.change(test.url, DOOR, { headers, body: '{}' })).status).toBe(200);
    expect(test.seen.map(({ headers: seen }) => [seen.authorization, seen['x-api-key']])).toEqual([
      [`Bearer ${key}`, undefined],
      [`Bearer ${key}`, undefined],
    ]);
  });

  it("goes there for the door's own venue too", async () => {
    const path = '/api/case-gate/v1/gate/venues/hall-1';
    expect((await new Browser().ask(test.url, path, { headers: { 'x-api-key': key } })).status).toBe(200);
    expect(test.seen.map(({ headers: seen }) => [seen.authorization, seen['x-api-key']])).toEqual([
      [`Bearer ${key}`, undefined],
    ]);
  });

  it.each([
    '/api/case-gate/v1/gate/venues',
    '/api/case-gate/v1/gate/venues/hall-1/x',
    '/api/case-gate/v1/gate/venues/%68all-1',
    '/api/ledger-peer/api/assets',
    '/api/risk-partner/api/risks',
    '/api/case-gate/v1/cases',
    '/api/case-gate/v1/gate/check/',
    '/api/case-gate/v1/gate/%63heck',
    '/api/case-gate/v1/gate/check/../../cases',
    '/api/case-gate/access/v1/evaluation',
    '/API/case-gate/v1/gate/check',
  ])('of a stranger is forwarded to no other path: %s', async (path) => {
    for (const headers of [{ 'x-api-key': key }, { authorization: `Bearer ${key}` }, {}]) {
      const answer = await new Browser().change(test.url, path, { headers, body: '{}' });
      expect([401, 404, 405]).toContain(answer.status);
    }
    expect(test.seen).toEqual([]);
  });

  it('of a signed-in person is ignored on every other path', async () => {
    expect((await browser.change(test.url, RISKS, { headers: { 'x-api-key': key }, body: '{}' })).status).toBe(200);
    expect(test.seen[0]?.headers.authorization).toMatch(/^Bearer eyJ/);
  });

  it('gives access to nothing else', async () => {
    const stranger = new Browser();
    for (const path of ['/admin/risk-partner/admin/v1/orgs', '/overview']) {
      const answer = await stranger.ask(test.url, path, { headers: { 'x-api-key': key } });
      expect([answer.status, codeOf(answer)]).toEqual([401, 'UNAUTHENTICATED']);
    }
    expect((await stranger.ask(test.url, RISKS, { headers: { 'x-api-key': 'k'.repeat(513) } })).status).toBe(401);
    expect(test.seen).toEqual([]);
  });
});

describe('the published keys of a surface', () => {
  const path = '/api/risk-partner/.well-known/jwks.json';

  it('are there without a session, and are asked for without a credential', async () => {
    for (const who of [new Browser(), browser]) {
      const headers = { 'x-api-key': 'k', authorization: 'Bearer k' };
      expect((await who.ask(test.url, path, { headers })).status).toBe(200);
    }
    expect(test.seen.map(({ url, headers }) => [url, headers.authorization, headers['x-api-key']])).toEqual(
      Array.from({ length: 2 }, () => ['/.well-known/jwks.json', undefined, undefined]),
    );
  });

  it('are the only thing: no change, no other path, no admin listener', async () => {
    const stranger = new Browser();
    expect((await stranger.change(test.url, path, { body: '{}' })).status).toBe(403);
    for (const other of [
      '/api/risk-partner/.well-known/oauth-protected-resource',
      '/api/risk-partner/.well-known/jwks.json/x',
      '/api/risk-partner/x/.well-known/jwks.json',
      '/api/risk-partner/.well-known/%6awks.json',
      '/admin/risk-partner/.well-known/jwks.json',
    ])
      expect([other, (await stranger.ask(test.url, other)).status]).toEqual([other, 401]);
    expect(test.seen).toEqual([]);
  });
});

describe('a public log', () => {
  it.each(['/ledger', '/ledger/demo.main/overview', '/ledger/demo.main/entry?id=a%2Fb'])(
    'is asked at %s without a session and without a credential',
    async (path) => {
      for (const who of [new Browser(), browser]) {
        const headers = { 'x-api-key': 'k', authorization: 'Bearer k' };
        expect((await who.ask(test.url, `/api/ledger-peer${path}`, { headers })).status).toBe(200);
      }
      expect(test.seen.map(({ url, headers }) => [url, headers.authorization, headers['x-api-key']])).toEqual(
        Array.from({ length: 2 }, () => [`/peer${path}`, undefined, undefined]),
      );
    },
  );

  it('is all that strangers reach: no change, no tile, no proof with a salt, no list of records', async () => {
    const stranger = new Browser();
    const entry = '/api/ledger-peer/ledger/demo.main/entry';
    expect((await stranger.change(test.url, entry, { body: '{}' })).status).toBe(403);
    for (const other of [
      '/api/ledger-peer/ledger/',
      '/api/ledger-peer/ledgers',
      '/api/ledger-peer/ledger/demo.main',
      '/api/ledger-peer/ledger/demo.main/checkpoint',
      '/api/ledger-peer/ledger/demo.main/tile/entries/000',
      '/api/ledger-peer/ledger/demo.main/records/entry/proof',
      '/api/ledger-peer/ledger/demo.main/e1/entry',
      '/api/ledger-peer/ledger/demo%2Emain/entry',
      '/api/ledger-peer/ledger/demo.main/entry/x',
      '/api/ledger-peer/api/assets/entry',
      '/api/ingest-gateway/ledger/demo.main/entry',
      '/admin/ledger-peer/ledger/demo.main/entry',
    ])
      expect([other, (await stranger.ask(test.url, other)).status]).toEqual([other, 401]);
    expect(test.seen).toEqual([]);
  });
});

describe('a listener that accepts no sign-in', () => {
  it('is read through the console, and never written to, whoever is signed in', async () => {
    expect((await browser.ask(test.url, '/api/case-gate/v1/cases')).status).toBe(200);
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const answer = await browser.change(test.url, '/api/case-gate/v1/cases', { method });
      expect([answer.status, codeOf(answer)]).toEqual([403, 'FORBIDDEN']);
    }
    expect(test.seen.map(({ method }) => method)).toEqual(['GET', ...Array<string>(4).fill('HEAD')]);
  });

  it('is UNAVAILABLE for a change, as for a read, while it is out of reach', async () => {
    const path = '/admin/ledger-peer/admin/v1/ledger/channels';
    for (const answer of [
      await browser.ask(test.url, path),
      await browser.change(test.url, path),
      await browser.change(test.url, path, { method: 'DELETE' }),
    ]) {
      expect([answer.status, codeOf(answer)]).toEqual([503, 'UNAVAILABLE']);
      expect(answer.headers['retry-after']).toBe('1');
    }
  });
});

describe('the slots of the forwarder', () => {
  /** Sends requests and disconnects while they wait; resolves once they are gone. */
  const aborted = async (times: number, path: string, headers: Record<string, string>, isUnderWay: () => boolean) => {
    const sent = Array.from({ length: times }, () => {
      const outgoing = httpRequest(`${test.url}${path}`, { headers, agent: false });
      outgoing.on('error', () => undefined);
      outgoing.end();
      return outgoing;
    });
    await until(isUnderWay);
    await new Promise((resolve) => setTimeout(resolve, 100));
    for (const outgoing of sent) outgoing.destroy();
  };
  const ORGS = '/admin/risk-partner/admin/v1/orgs';
  /** Sends so many requests at once in one connection. */
  const pipelined = (times: number) => {
    const socket = connect(Number(new URL(test.url).port), '127.0.0.1').on('error', () => undefined);
    socket.write([`GET ${RISKS} HTTP/1.1`, 'Host: t', `Cookie: ${cookieOf()}`, '', ''].join('\r\n').repeat(times));
    return socket;
  };
  /** Waits until so many requests are answered at once. */
  const untilFree = async (slots: number) => {
    test.answer = (_, response) => void response.end('{}');
    await until(async () => {
      const answers = await Promise.all(Array.from({ length: slots }, () => browser.ask(test.url, RISKS)));
      return answers.every(({ status }) => status === 200);
    });
  };

  it('are free again after requests that were aborted while a token was fetched', async () => {
    const held: (() => void)[] = [];
    test.provider.instead = ({ url }, response) => {
      if (url === '/token') held.push(() => response.writeHead(500).end());
      return url === '/token';
    };
    for (let round = 0; round < 3; round += 1) {
      await aborted(60, ORGS, { cookie: cookieOf() }, () => held.length > round);
      held.at(-1)!();
      await until(() => test.counted.filter((one) => one.startsWith('provider')).length > round);
    }
    test.provider.instead = undefined;
    expect((await browser.ask(test.url, ORGS)).status).toBe(200);
    expect((await browser.ask(test.url, RISKS)).status).toBe(200);
  });

  it('are free again after requests that were aborted while the surface worked', async () => {
    let begun = 0;
    test.answer = () => void (begun += 1);
    for (let round = 1; round <= 3; round += 1)
      await aborted(60, RISKS, { cookie: cookieOf() }, () => begun >= 60 * round);
    test.answer = (_, response) => void response.end('{}');
    await until(async () => (await browser.ask(test.url, RISKS)).status === 200);
  });

  it('are free again after requests in one connection, whose responses never had their turn', async () => {
    let begun = 0;
    let answered = 0;
    test.answer = (_, response) => {
      begun += 1;
      // The first of each connection keeps the others from their turn.
      if (begun % 8 !== 1) response.end('{}', () => (answered += 1));
    };
    for (let round = 1; round <= 10; round += 1) {
      const socket = pipelined(8);
      await until(() => answered >= 7 * round);
      await new Promise((resolve) => setTimeout(resolve, 50));
      socket.destroy();
    }
    await untilFree(60);
  });

  it('are free again after large answers to a client that did not read, whatever was sent of them', async () => {
    const body = 'x'.repeat(150_000);
    test.answer = (_, response) => void response.writeHead(200, { 'Content-Length': body.length }).end(body);
    for (let round = 0; round < 80; round += 1) {
      const socket = pipelined(4).pause();
      await new Promise((resolve) => setTimeout(resolve, round % 40));
      socket.resetAndDestroy();
    }
    await untilFree(64);
  });

  it('are shared: one person or address that holds many leaves room for others', async () => {
    const waiting: (() => void)[] = [];
    test.answer = (_, response) => void waiting.push(() => response.end('{}'));
    const hold = (headers: Record<string, string>, path: string, method: string) =>
      Array.from({ length: 64 }, () => {
        const outgoing = httpRequest(`${test.url}${path}`, { method, headers, agent: false });
        outgoing.on('error', () => undefined).end();
        return outgoing;
      });
    const key = { 'x-api-key': `gk_${'k'.repeat(43)}`, origin: test.url, 'x-sealgate-console': '1' };
    const sent = [...hold({ cookie: cookieOf() }, '/api/case-gate/v1/cases', 'GET'), ...hold(key, DOOR, 'POST')];
    await until(() => waiting.length === 128);
    for (const answer of [
      await browser.ask(test.url, '/api/case-gate/v1/cases'),
      await new Browser().change(test.url, DOOR, { headers: key }),
    ]) {
      expect([answer.status, codeOf(answer)]).toEqual([429, 'RATE_LIMITED']);
      expect(answer.headers['retry-after']).toBe('1');
    }
    test.answer = (_, response) => void response.end('{}');
    // Another session of the same person has the same share; another person has their own, as other surfaces have.
    const again = new Browser();
    await again.follow(`${test.url}/sign-in`);
    expect((await again.ask(test.url, '/api/case-gate/v1/cases')).status).toBe(429);
    test.provider.subject = 'bob';
    const bob = new Browser();
    await bob.follow(`${test.url}/sign-in`);
    expect((await bob.ask(test.url, '/api/case-gate/v1/cases')).status).toBe(200);
    expect((await browser.ask(test.url, RISKS)).status).toBe(200);
    for (const answer of waiting) answer();
    for (const outgoing of sent) outgoing.destroy();
  });
});
