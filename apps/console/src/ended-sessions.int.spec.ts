import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { openRedis } from '@sealgate/storage';
import { describeWithRedis, throwawayRedis, until } from '@sealgate/testing';
import { Browser } from './testing/browser.ts';
import { testConsole, type TestConsole } from './testing/test-console.ts';

const RISKS = '/api/risk-partner/api/risks';
/** Needs no token, so that a copied cookie works at several replicas. */
const CASES = '/api/case-gate/v1/cases';

describeWithRedis('a session that was signed out, with Redis', () => {
  let redis: Awaited<ReturnType<typeof throwawayRedis>>;
  let test: TestConsole;
  beforeAll(async () => {
    redis = await throwawayRedis();
    test = await testConsole({ redisUrl: redis.url });
  }, 60_000);
  afterAll(async () => {
    await test.stop();
    await redis.stop();
  });

  const cookieOf = (browser: Browser) =>
    [...browser.jarOf(test.url)].map(([name, value]) => `${name}=${value}`).join('; ');
  const signedIn = async () => {
    const browser = new Browser();
    await browser.follow(`${test.url}/sign-in`);
    return browser;
  };
  const statusAt = async (origin: string, cookie: string, path = RISKS) =>
    (await new Browser().ask(origin, path, { headers: { cookie } })).status;

  it('is refused by another replica, although the provider still accepts it', async () => {
    const browser = await signedIn();
    const [there, cookie] = [await test.another(), cookieOf(browser)];
    await until(async () => (await statusAt(there, cookie)) === 200);
    // The provider never learns of it.
    test.provider.instead = ({ url }, response) => {
      if (url === '/token/revocation') response.writeHead(200).end();
      return url === '/token/revocation';
    };
    expect((await browser.change(test.url, '/sign-out')).status).toBe(200);
    expect(await statusAt(test.url, cookie)).toBe(401);
    test.clock.advance(2_000);
    expect(await statusAt(there, cookie)).toBe(401);
    test.provider.instead = undefined;
  });

  it('is refused after Redis lost its data, by replicas that knew of it, and by one that starts then', async () => {
    const [first, second] = [await signedIn(), await signedIn()];
    const [there, elsewhere] = [await test.another(), await test.another()];
    const [cookie, other] = [cookieOf(first), cookieOf(second)];
    expect(await statusAt(there, cookie, CASES)).toBe(200);
    expect(await statusAt(elsewhere, cookie, CASES)).toBe(200);
    expect((await first.change(test.url, '/sign-out')).status).toBe(200);
    test.clock.advance(10_000);
    expect(await statusAt(there, cookie, CASES)).toBe(401);
    const handle = openRedis({ url: redis.url, name: 'test', connectTimeoutMs: 1_000, commandTimeoutMs: 1_000 });
    // It may not be connected yet.
    await until(async () => (await handle.client.flushall().catch(() => undefined)) === 'OK');
    await handle.close();
    test.clock.advance(10_000);
    for (const origin of [test.url, there, elsewhere, await test.another()]) {
      expect(await statusAt(origin, cookie, CASES)).toBe(401);
      const seen = await new Browser().ask(origin, '/session', { headers: { cookie } });
      expect(JSON.parse(seen.body)).toMatchObject({ person: null });
    }
    expect(await statusAt(there, other, CASES)).toBe(200);
  }, 60_000);

  it('is told to the others once Redis is back, and by the provider until then', async () => {
    const [first, second] = [await signedIn(), await signedIn()];
    const there = await test.another();
    const [cookie, other] = [cookieOf(first), cookieOf(second)];
    await redis.stop();
    expect(await statusAt(there, cookie)).toBe(200);
    expect((await first.change(test.url, '/sign-out')).status).toBe(200);
    test.clock.advance(10_000);
    expect(await statusAt(there, cookie)).toBe(401);
    expect(await statusAt(there, other)).toBe(200);
    await redis.restart();
    const later = await test.another();
    await until(async () => (await statusAt(later, cookie)) === 401, { timeoutMs: 20_000 });
  }, 60_000);
});
