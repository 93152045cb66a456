import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { looksOf } from './page-looks.ts';
import type { ConsoleStack } from './start-stack.ts';

interface Init {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface Session {
  readonly person: { readonly subject: string } | null;
}

/** The result of a script run in the page. */
const asked = (page: Page, path: string, init: Init = {}): Promise<{ status: number; text: string }> =>
  page.evaluate(
    async ([url, options]) => {
      const response = await fetch(url, options);
      return { status: response.status, text: await response.text() };
    },
    [path, init] as const,
  );

const sessionIn = async (page: Page): Promise<Session> => JSON.parse((await asked(page, '/session')).text) as Session;

/** A page of another origin on this machine. */
async function otherSite(html: string): Promise<{ readonly url: string; readonly close: () => void }> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(html);
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  return { url: `http://localhost:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

/** Sign-in, sign-out, and attacks on them. */
export function signInStories(stack: () => ConsoleStack): void {
  describe('signing in', () => {
    it.each(['operator', 'owner', 'risk_manager', 'auditor', 'contributor', 'viewer', 'reviewer', 'author'])(
      'as %s leads back to the requested page, and out again',
      async (role) => {
        await stack().visitAlone(role, '/verify', async (page) => {
          expect(new URL(page.url()).pathname).toBe('/verify');
          const person = stack().dev.demo.people.find((one) => one.role === role);
          expect(await sessionIn(page)).toMatchObject({ person: { subject: person?.subject } });
          const out = await asked(page, '/sign-out', { method: 'POST', headers: { 'X-Sealgate-Console': '1' } });
          expect(out.status).toBe(200);
          expect((JSON.parse(out.text) as { endSessionUrl?: string }).endSessionUrl ?? '').toMatch(/^$|^http/);
          expect(await sessionIn(page)).toMatchObject({ person: null });
        });
      },
      60_000,
    );

    it('tells by keyboard who is signed in, and signs them out', async () => {
      await stack().visitAlone('operator', '/verify', async (page) => {
        const who = page.getByRole('button', { name: 'Operator (demo)' });
        const out = page.getByRole('button', { name: 'Sign out' });
        await who.focus();
        await page.keyboard.press('Enter');
        await out.waitFor();
        await page.getByText(/^Signed in by http/).waitFor();
        await page.getByText('Case gate, administration').waitFor();
        expect(await page.locator('#who').getByText('operator', { exact: true }).count()).toBe(4);
        expect(await looksOf(page, stack(), 'who-is-signed-in')).toEqual([]);
        await page.keyboard.press('Escape');
        await out.waitFor({ state: 'hidden' });
        expect(await page.locator(':focus').textContent()).toBe('Operator (demo)');
        await page.keyboard.press('Enter');
        await page.keyboard.press('Tab');
        await page.keyboard.press('Enter');
        await page.waitForURL((at) => at.pathname !== '/verify');
        await page.goto('/verify');
        await page.getByRole('link', { name: 'Sign in', exact: true }).waitFor();
        expect(await sessionIn(page)).toMatchObject({ person: null });
      });
    }, 60_000);

    it('tells roles in an organisation, and cuts no name on a small screen', async () => {
      await stack().visit('risk_manager', '/verify', async (page) => {
        await page.setViewportSize({ width: 390, height: 800 });
        const who = page.getByRole('button', { name: 'Risk manager (demo)' });
        expect(await who.innerText()).toBe('');
        await who.click();
        const panel = page.locator('#who');
        await panel.getByText('Nordlicht Logistik (demo)').waitFor();
        await panel.getByText('risk manager', { exact: true }).waitFor();
        expect(await panel.getByText('administration').count()).toBe(0);
        await page.setViewportSize({ width: 1440, height: 900 });
        expect(await who.innerText()).toBe('Risk manager (demo)');
      });
    }, 60_000);

    it('gives an operator the admin listeners, a viewer read access, and others none', async () => {
      const networks = '/admin/ingest-gateway/admin/v1/networks';
      const change = { method: 'POST', headers: { 'X-Sealgate-Console': '1', 'content-type': 'application/json' } };
      const status = async (role: string, init: Init) =>
        (await stack().visit(role, '/', (page) => asked(page, networks, init))).status;
      expect(await status('operator', {})).toBe(200);
      // Authorised, and refused only for its shape.
      expect(await status('operator', { ...change, body: '{}' })).toBe(400);
      expect(await status('viewer', {})).toBe(200);
      expect(await status('viewer', { ...change, body: '{}' })).toBe(403);
      expect(await status('contributor', {})).toBe(401);
    }, 120_000);
  });

  describe('the sign-in pages', () => {
    it('of the provider and of a refusal have no visual or accessibility fault', async () => {
      await stack().visitAlone(undefined, '/sign-in?returnTo=/risks', async (page) => {
        expect(await looksOf(page, stack(), 'provider-pick')).toEqual([]);
        for (const [name, path] of [
          ['about', '/'],
          ['over', '/sign-in/nobody-began-this'],
          ['refused', '/auth?client_id=nobody'],
          ['sign-out', '/session/end'],
        ] as const) {
          await page.goto(`${stack().dev.oidc.issuer}${path}`);
          expect(await looksOf(page, stack(), `provider-${name}`)).toEqual([]);
        }
        await page.goto('/signed-in?code=x&state=y');
        expect(await looksOf(page, stack(), 'sign-in-refused')).toEqual([]);
        await page.goto('/risks');
        await page.getByRole('heading', { name: 'Sign in to Sealgate' }).waitFor();
        expect(await looksOf(page, stack(), 'signed-out')).toEqual([]);
      });
    }, 120_000);

    it('are shown again for a session cookie changed in any part, without other effects', async () => {
      await stack().visitAlone('owner', '/verify', async (page) => {
        // The provider's cookies are sent too: cookies are not separated by port.
        const cookies = await page.context().cookies(stack().url);
        const { name, value } = cookies.find((each) => each.name.includes('sealgate-session'))!;
        for (const at of [0, Math.floor(value.length / 2), value.length - 2]) {
          const changed = value.slice(0, at) + (value[at] === 'A' ? 'B' : 'A') + value.slice(at + 1);
          await page.context().addCookies([{ name, value: changed, url: stack().url }]);
          expect(await sessionIn(page)).toMatchObject({ person: null });
          expect((await asked(page, '/api/risk-partner/api/risks')).status).toBe(401);
        }
        await page.goto('/risks');
        await page.getByRole('heading', { name: 'Sign in to Sealgate' }).waitFor();
        await page.context().addCookies([{ name, value, url: stack().url }]);
        expect(await sessionIn(page)).toMatchObject({ person: { subject: 'demo-owner' } });
      });
    }, 60_000);
  });

  describe('a hostile script in the page', () => {
    it('finds no token: not in storage, cookies, the document, or any answer', async () => {
      const texts: string[] = [];
      await stack().visitAlone('owner', '/', async (page) => {
        page.on('response', (response) => {
          texts.push(JSON.stringify(response.headers()));
          void response.text().then(
            (text) => texts.push(text),
            () => undefined, // Redirects have no body.
          );
        });
        await page.goto('/');
        for (const path of [
          '/session',
          '/mine',
          '/overview',
          '/api/risk-partner/api/whoami',
          '/api/risk-partner/api/risks',
        ])
          texts.push((await asked(page, path)).text);
        const kept: unknown = await page.evaluate(`JSON.stringify([
          document.cookie, { ...localStorage }, { ...sessionStorage }, document.documentElement.outerHTML,
          Object.keys(globalThis).map((name) => String(globalThis[name])), history.state, window.name,
          performance.getEntries().map(({ name }) => name),
        ])`);
        // No storage that outlives the page is used.
        expect(
          await page.evaluate(
            `Promise.all([caches.keys(), indexedDB.databases(), navigator.serviceWorker.getRegistrations()])`,
          ),
        ).toEqual([[], [], []]);
        expect(await page.evaluate('document.cookie')).toBe('');
        const found = [...texts, String(kept)].filter((text) =>
          /eyJ[\w-]{10,}\.[\w-]+\.[\w-]+|refresh_token|access_token/.test(text),
        );
        expect(found).toEqual([]);
      });
    }, 60_000);

    it('cannot inject content through the console, or send its session elsewhere', async () => {
      await stack().visitAlone('owner', '/', async (page) => {
        expect((await asked(page, '/api/risk-partner/api/risks', { method: 'OPTIONS' })).status).toBe(405);
        // The page's CSP allows requests to no other origin.
        await expect(page.evaluate((url) => fetch(url), stack().dev.oidc.issuer)).rejects.toThrow(/Failed to fetch/);
        expect((await asked(page, '/api/risk-partner/..%2f..%2fsession')).status).toBe(404);
      });
    }, 60_000);
  });

  describe('a page of another site', () => {
    it('reads nothing, changes nothing and frames nothing with the session of a signed-in user', async () => {
      const { url } = stack();
      const target = `${url}/admin/ingest-gateway/admin/v1/networks`;
      const site = await otherSite(`<form method="post" action="${url}/sign-out"><input name="a"></form>`);
      try {
        await stack().visitAlone('operator', '/', async (page) => {
          const evil = await page.context().newPage();
          await evil.goto(site.url);
          const results = await evil.evaluate(
            async ([address, session]) => {
              const outcome = (promise: Promise<Response>) =>
                promise.then(
                  (response) => `${response.type} ${response.status}`,
                  () => 'refused',
                );
              return Promise.all([
                outcome(fetch(session, { credentials: 'include' })),
                outcome(fetch(address, { credentials: 'include' })),
                outcome(
                  fetch(address, {
                    method: 'POST',
                    credentials: 'include',
                    headers: { 'X-Sealgate-Console': '1', 'content-type': 'application/json' },
                    body: '{"networkId":"evil","name":"evil","channels":["main"]}',
                  }),
                ),
                outcome(
                  fetch(address, {
                    method: 'POST',
                    mode: 'no-cors',
                    credentials: 'include',
                    body: '{"networkId":"evil","name":"evil","channels":["main"]}',
                  }),
                ),
              ]);
            },
            [target, `${url}/session`] as const,
          );
          expect(results.slice(0, 3)).toEqual(['refused', 'refused', 'refused']);
          // A form reaches the server and is refused there.
          await Promise.all([evil.waitForURL(`${url}/sign-out`), evil.evaluate('document.forms[0].submit()')]);
          expect(await evil.textContent('body')).toContain('ORIGIN_NOT_ALLOWED');
          const framing = await page.context().newPage();
          await framing.goto(site.url);
          await framing.evaluate(
            `new Promise((resolve) => {
            const frame = document.createElement('iframe');
            frame.addEventListener('load', resolve);
            frame.src = ${JSON.stringify(url)};
            document.body.append(frame);
          })`,
          );
          expect(framing.frames().some((frame) => frame.url().startsWith(url))).toBe(false);
          expect(await sessionIn(page)).toMatchObject({ person: { subject: 'demo-operator' } });
          const networks = await asked(page, '/admin/ingest-gateway/admin/v1/networks/evil');
          expect(networks.status).toBe(404);
        });
      } finally {
        site.close();
      }
    }, 60_000);
  });
}
