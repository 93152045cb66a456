import { describe, expect, it } from '@jest/globals';
import { askedBy, looksOf } from './page-looks.ts';
import { rowAction } from './row-action.ts';
import type { ConsoleStack } from './start-stack.ts';

interface Risk {
  readonly id: string;
  readonly title: string;
  readonly description: string | null;
  readonly category: string;
  readonly version: number;
}

/** What each role is offered: the pages in the navigation, and whether a risk can be created. */
const OFFERED: Readonly<Record<string, { readonly pages: readonly string[]; readonly makes: boolean }>> = {
  owner: { pages: ['Policies', 'My keys', 'People', 'Audit'], makes: true },
  risk_manager: { pages: ['Policies', 'My keys', 'People'], makes: true },
  auditor: { pages: ['Policies', 'My keys', 'People', 'Audit'], makes: false },
  contributor: { pages: ['Policies', 'My keys', 'People'], makes: false },
  viewer: { pages: ['Policies', 'My keys', 'People'], makes: false },
};
const FOR_ALL = ['Register', 'Heat map', 'Controls', 'Evidence', 'Coverage', 'Assets'];

/** The part Risks: the data of an organisation, and the rights of each role. */
export function risksStories(stack: () => ConsoleStack): void {
  const risks = () => `${stack().dev.surfaces['risk-partner']!.url}/api/risks`;
  const owner = () => stack().dev.demo.keys['owner']!;
  const page = (name: string) => `/risks/${stack().dev.demo.orgId}/${name}`;
  const read = async (id: string) => (await askedBy(owner(), `${risks()}/${id}`)).json as Risk;
  const make = async (title: string) => {
    const body = JSON.stringify({ title, category: 'story', inherent: { likelihood: 2, impact: 3 } });
    return (await askedBy(owner(), risks(), { method: 'POST', body })).json as Risk;
  };

  describe('risks', () => {
    it.each(Object.entries(OFFERED))(
      'offer %s the rights of the role, and nothing else',
      async (role, { pages, makes }) => {
        await stack().visit(role, '/risks', async (window) => {
          const tabs = window.getByRole('navigation', { name: 'Pages of Risks' }).getByRole('link');
          await tabs.first().waitFor();
          expect(await tabs.allTextContents()).toEqual([...FOR_ALL, ...pages]);
          await window.getByRole('heading', { name: 'Risk register' }).waitFor();
          expect(await window.getByRole('link', { name: 'New risk' }).count()).toBe(makes ? 1 : 0);
        });
      },
      60_000,
    );

    it('are created by keyboard only, and seen by a second client', async () => {
      await stack().visit('owner', page('register/new'), async (window) => {
        await window.getByLabel('Title').focus();
        await window.keyboard.type('Typed by keyboard');
        for (const [label, text] of [
          ['Category', 'story'],
          ['Likelihood', '3'],
        ] as const) {
          await window.getByLabel(label).first().focus();
          await window.keyboard.type(text);
        }
        // A listbox, opened and selected by arrow keys.
        await window.getByRole('combobox', { name: 'Likelihood' }).first().focus();
        await window.keyboard.press('ArrowDown');
        await window.keyboard.press('Enter');
        await window.getByRole('combobox', { name: 'Impact' }).first().focus();
        await window.keyboard.press('ArrowDown');
        await window.keyboard.press('Enter');
        await window.getByRole('button', { name: 'Create' }).focus();
        await window.keyboard.press('Enter');
        await window.getByRole('heading', { name: 'Typed by keyboard' }).waitFor();
        const id = new URL(window.url()).pathname.split('/').at(-1)!;
        expect(await read(id)).toMatchObject({ title: 'Typed by keyboard', category: 'story' });
      });
    }, 60_000);

    it('lose no input on a write conflict: both versions are shown, and one is chosen', async () => {
      const { id } = await make('Two people at once');
      await stack().visit('owner', page(`register/${id}`), async (window) => {
        await window.getByRole('button', { name: 'Edit' }).click();
        await window.getByLabel('Title').fill('Mine');
        await window.getByLabel('Description').fill('Only I wrote this.');
        const theirs = await askedBy(owner(), `${risks()}/${id}`, {
          method: 'PATCH',
          headers: { 'if-match': '"1"' },
          body: JSON.stringify({ title: 'Theirs', category: 'changed by them' }),
        });
        expect(theirs.status).toBe(200);
        await window.getByRole('button', { name: 'Save' }).click();
        await window.getByRole('heading', { name: 'Somebody saved this while you were typing' }).waitFor();
        expect(await looksOf(window, stack(), 'risks-conflict')).toEqual([]);
        const go = window.getByRole('button', { name: 'Continue with this' });
        expect(await go.isDisabled()).toBe(true);
        await window.getByRole('radiogroup', { name: 'Title' }).getByLabel('Yours').check();
        await go.click();
        expect(await window.getByLabel('Title').inputValue()).toBe('Mine');
        await window.getByRole('button', { name: 'Save' }).click();
        await window.getByRole('heading', { name: 'Mine' }).waitFor();
      });
      expect(await read(id)).toMatchObject({
        title: 'Mine',
        description: 'Only I wrote this.',
        category: 'changed by them',
        version: 3,
      });
    }, 90_000);

    it('keep the input when the session ends during an edit', async () => {
      const { id } = await make('A session ends');
      await stack().visitAlone('owner', page(`register/${id}`), async (window) => {
        await window.getByRole('button', { name: 'Edit' }).click();
        await window.getByLabel('Title').fill('Still here');
        await window.context().clearCookies();
        await window.getByRole('button', { name: 'Save' }).click();
        await window.getByText('You are signed out').waitFor();
        expect(await window.getByLabel('Title').inputValue()).toBe('Still here');
      });
    }, 60_000);

    it('report a service that is down, slow, or rate limiting', async () => {
      await stack().visit('owner', page('register'), async (window) => {
        await window.getByRole('table', { name: 'Risk register' }).waitFor();
        const refuse = (status: number, code: string, headers = {}) =>
          window.route('**/api/risk-partner/api/controls*', (route) =>
            route.fulfill({
              status,
              headers: { 'content-type': 'application/problem+json', 'x-request-id': 'req_story', ...headers },
              body: JSON.stringify({ type: 'about:blank', title: `Title of ${code}`, status, code }),
            }),
          );
        await refuse(429, 'RATE_LIMITED', { 'retry-after': '30' });
        await window.getByRole('link', { name: 'Controls' }).click();
        await window.getByText('Title of RATE_LIMITED').waitFor();
        expect(await window.getByRole('button', { name: /Try again in \d+ s/ }).isDisabled()).toBe(true);
        await window.getByText('req_story').waitFor();
      });
    }, 60_000);

    it('have all their pages in sight on a small screen, and axes with names on the heat map', async () => {
      await stack().visit('owner', `/risks/${stack().dev.demo.orgId}/heat-map`, async (page) => {
        await page.setViewportSize({ width: 390, height: 800 });
        const tabs = page.getByRole('navigation', { name: 'Pages of Risks' }).getByRole('link');
        await tabs.first().waitFor();
        const boxes = await Promise.all((await tabs.all()).map((tab) => tab.boundingBox()));
        expect(boxes.length).toBe(10);
        expect(boxes.filter((box) => box === null || box.x < 0 || box.x + box.width > 390)).toEqual([]);
        for (const axis of ['Likelihood →', 'Impact →']) await page.getByText(axis).waitFor();
        await page.setViewportSize({ width: 1440, height: 900 });
      });
    }, 60_000);

    it.each([
      ...['register', 'heat-map?cell=2x3', 'controls', 'evidence', 'coverage'],
      ...['assets', 'policies', 'keys', 'people', 'audit'],
    ])(
      'have no visual or accessibility fault at %s, light and dark, at 390 and 1440 px',
      async (name) => {
        await stack().visit('owner', page(name), async (window) => {
          await window.getByRole('heading', { level: 1 }).waitFor();
          await window.waitForLoadState('networkidle');
          expect(await looksOf(window, stack(), `risks-${name.split('?')[0]}`)).toEqual([]);
        });
      },
      120_000,
    );

    it('mint a key that is shown once and works, and revoke it', async () => {
      await stack().visit('owner', page('keys'), async (window) => {
        await window.getByRole('button', { name: 'New key' }).click();
        await window.getByLabel('Label').fill('story key');
        await window.getByRole('button', { name: 'Create key' }).click();
        const key = await window.getByRole('dialog').locator('code').filter({ hasText: /^svc_/ }).first().textContent();
        expect((await askedBy(key ?? '', `${risks()}?limit=1`)).status).toBe(200);
        await window.getByRole('button', { name: 'I have copied it' }).click();
        expect(await window.getByText(key ?? '').count()).toBe(0);
        const row = window.getByRole('row').filter({ hasText: 'story key' }).first();
        await rowAction(row, 'It leaked');
        await window.getByRole('button', { name: 'End it and create another' }).click();
        const next = await window
          .getByRole('dialog')
          .locator('code')
          .filter({ hasText: /^svc_/ })
          .first()
          .textContent();
        const statuses = [key, next].map(async (one) => (await askedBy(one ?? '', `${risks()}?limit=1`)).status);
        expect(await Promise.all(statuses)).toEqual([401, 200]);
        await window.getByRole('button', { name: 'I have copied it' }).click();
        await rowAction(row, 'Revoke');
        await window.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
        await window.getByRole('dialog').waitFor({ state: 'detached' });
        expect((await askedBy(next ?? '', `${risks()}?limit=1`)).status).toBe(401);
      });
    }, 60_000);
  });
}
