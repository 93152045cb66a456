import { describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { askedBy, looksOf } from './page-looks.ts';
import type { ConsoleStack } from './start-stack.ts';

/** One search over everything that is theirs. */
export function findStories(stack: () => ConsoleStack): void {
  const surface = (name: string) => stack().dev.surfaces[name]!;
  const page = (name: string) => `/risks/${stack().dev.demo.orgId}/${name}`;
  const make = async (title: string, score: number) => {
    const body = JSON.stringify({ title, category: 'found', inherent: { likelihood: 1, impact: score } });
    const asked = await askedBy(stack().dev.demo.keys['owner']!, `${surface('risk-partner').url}/api/risks`, {
      method: 'POST',
      body,
    });
    expect(asked.status).toBe(201);
  };

  describe('the search over everything', () => {
    const found = (window: Page) => window.getByRole('listbox', { name: 'Found' });

    it('opens by Ctrl+K and /, and leads to a risk by keyboard alone', async () => {
      const title = `Reached by search ${Date.now()}`;
      await make(title, 2);
      await stack().visit('owner', '/home', async (window) => {
        await window.getByRole('heading', { level: 1 }).waitFor();
        await window.keyboard.press('Control+k');
        await window.getByRole('combobox', { name: 'Search everything' }).waitFor();
        await window.keyboard.press('Escape');
        await window.getByRole('dialog').waitFor({ state: 'detached' });
        await window.keyboard.press('/');
        await window.getByRole('combobox', { name: 'Search everything' }).waitFor();
        await window.keyboard.type('people');
        await found(window).getByRole('group', { name: 'Pages' }).getByRole('option', { name: 'People' }).waitFor();
        await window.getByRole('combobox', { name: 'Search everything' }).fill(title);
        await found(window).getByRole('group', { name: 'Risks' }).getByRole('option', { name: title }).waitFor();
        expect(await looksOf(window, stack(), 'find')).toEqual([]);
        await window.keyboard.press('ArrowDown');
        await window.keyboard.press('ArrowUp');
        await window.keyboard.press('Enter');
        await window.getByRole('heading', { level: 1, name: title }).waitFor();
      });
    }, 90_000);

    it('asks only what is theirs, and leaves out what is down', async () => {
      await stack().visit('owner', page('register'), async (window) => {
        await window.getByRole('table', { name: 'Risk register' }).waitFor();
        const asked: string[] = [];
        window.on('request', (request) => asked.push(new URL(request.url()).pathname));
        await window.route('**/api/risk-partner/api/controls?*', (route) => route.abort());
        await window.keyboard.press('Control+k');
        await window.getByRole('combobox', { name: 'Search everything' }).fill('regist');
        await found(window).getByRole('option', { name: 'Register' }).waitFor();
        await window.getByText(/found, at most five of a kind$/).waitFor();
        expect(asked.filter((path) => path.startsWith('/admin/'))).toEqual([]);
        expect(asked).toContain('/api/risk-partner/api/controls');
        expect(await window.getByRole('alert').count()).toBe(0);
        window.removeAllListeners('request');
      });
      await stack().visit('reviewer', '/cases/live/queue', async (window) => {
        await window.getByRole('heading', { level: 1, name: 'Queue' }).waitFor();
        const asked = new Set<string>();
        window.on('request', (request) => asked.add(new URL(request.url()).pathname));
        await window.keyboard.press('Control+k');
        await window.getByRole('combobox', { name: 'Search everything' }).fill('subj_');
        await window.getByText(/found/).waitFor();
        const surfaces = [...asked].filter((path) => /^\/(api|admin)\//.test(path));
        expect(surfaces.toSorted()).toEqual(['/admin/case-gate/admin/v1/cases', '/admin/case-gate/admin/v1/policies']);
        window.removeAllListeners('request');
      });
    }, 90_000);

    it('keeps the letters that are typed while it is loaded, and sends no more of a key than its prefix', async () => {
      const key = stack().dev.demo.keys['gate']!;
      await stack().visit('operator', '/home', async (window) => {
        await window.getByRole('heading', { level: 1 }).waitFor();
        let load = (): void => undefined;
        const typed = new Promise<void>((done) => (load = done));
        await window.route('**/find-dialog*', async (route) => {
          await typed;
          await route.continue();
        });
        await window.keyboard.press('Control+k');
        await window.keyboard.type('netwx');
        await window.keyboard.press('Backspace');
        load();
        const box = window.getByRole('combobox', { name: 'Search everything' });
        await box.waitFor();
        await window.waitForFunction('document.activeElement.getAttribute("role") === "combobox"');
        await window.keyboard.type('orks');
        expect(await box.inputValue()).toBe('networks');
        await found(window).getByRole('option').first().waitFor();
        const asked: string[] = [];
        window.on('request', (request) => asked.push(request.url()));
        await box.fill(key);
        await found(window).getByRole('group', { name: 'Gate keys' }).getByRole('option').first().waitFor();
        window.removeAllListeners('request');
        expect(asked.filter((url) => url.includes(key.slice(0, 12))).length).toBeGreaterThan(0);
        expect(asked.filter((url) => url.includes(key.slice(0, 13)))).toEqual([]);
      });
    }, 60_000);

    it('ends a kind of which there is more with the way to all of it', async () => {
      const words = `crowd ${Date.now()}`;
      for (const n of [1, 2, 3, 4, 5, 6]) await make(`Risk ${n} of a ${words}`, 1);
      await stack().visit('owner', '/home', async (window) => {
        await window.getByRole('heading', { level: 1 }).waitFor();
        await window.keyboard.press('Control+k');
        await window.getByRole('combobox', { name: 'Search everything' }).fill(words);
        const options = found(window).getByRole('group', { name: 'Risks' }).getByRole('option');
        await options.filter({ hasText: `Show all: risks with “${words}”` }).waitFor();
        expect(await options.count()).toBe(6);
        await window.getByText('5 found, at most five of a kind').waitFor();
        expect(await looksOf(window, stack(), 'find-more')).toEqual([]);
        await window.keyboard.press('ArrowUp');
        await window.keyboard.press('Enter');
        await window.waitForURL(/\/register\?q=crowd/);
        const rows = window.getByRole('table', { name: 'Risk register' }).getByRole('row');
        await rows.nth(6).waitFor();
        expect(await rows.count()).toBe(7);
      });
    }, 90_000);

    it('never shows an answer to earlier words', async () => {
      await make('Early bird', 1);
      await make('Late riser', 1);
      await stack().visit('owner', page('register'), async (window) => {
        await window.getByRole('table', { name: 'Risk register' }).waitFor();
        await window.route('**/api/risk-partner/api/risks?*q=Early*', async (route) => {
          await new Promise((done) => setTimeout(done, 2_500));
          await route.continue();
        });
        await window.keyboard.press('Control+k');
        const box = window.getByRole('combobox', { name: 'Search everything' });
        await Promise.all([window.waitForRequest('**/risks?*q=Early*'), box.fill('Early bird')]);
        await box.fill('Late riser');
        await found(window).getByRole('option', { name: 'Late riser' }).first().waitFor();
        await new Promise((done) => setTimeout(done, 3_000));
        expect(await found(window).getByRole('option', { name: 'Early bird' }).count()).toBe(0);
      });
    }, 90_000);

    it('finds the own keys of a member by their prefix', async () => {
      const keys = await askedBy(stack().dev.demo.keys['owner']!, `${surface('risk-partner').url}/api/api-keys`);
      const key = (keys.json as { label: string; keyPrefix: string }[]).find(({ label }) => label === 'Demo');
      await stack().visit('owner', '/home', async (window) => {
        await window.getByRole('heading', { level: 1 }).waitFor();
        await window.keyboard.press('Control+k');
        await window.getByRole('combobox', { name: 'Search everything' }).fill(key!.keyPrefix);
        const group = found(window).getByRole('group', { name: 'Your keys' });
        await group.getByRole('option', { name: key!.label }).first().waitFor();
        await window.keyboard.press('Enter');
        await window.waitForURL(`**${page('keys')}`);
      });
    }, 60_000);

    it('finds events, records and keys of an operator by their ids', async () => {
      const events = await askedBy(
        stack().dev.adminToken,
        `${surface('ingest-gateway').adminUrl}/admin/v1/events?kind=write&status=committed&limit=1`,
      );
      const [event] = (events.json as { items: { eventId: string; records: { id: string }[] }[] }).items;
      const networkId = stack().dev.demo.networkId;
      const keys = await askedBy(
        stack().dev.adminToken,
        `${surface('ingest-gateway').adminUrl}/admin/v1/networks/${networkId}/keys?limit=1`,
      );
      const [key] = (keys.json as { items: { label: string; keyPrefix: string }[] }).items;
      await stack().visit('operator', '/home', async (window) => {
        await window.getByRole('heading', { level: 1 }).waitFor();
        await window.keyboard.press('Control+k');
        const box = window.getByRole('combobox', { name: 'Search everything' });
        await box.fill(key!.keyPrefix);
        await found(window).getByRole('group', { name: 'Keys', exact: true }).getByRole('option').first().waitFor();
        await box.fill(event!.records[0]!.id);
        await found(window).getByRole('group', { name: 'Records' }).getByRole('option').first().waitFor();
        await box.fill(event!.eventId);
        await found(window).getByRole('group', { name: 'Events' }).getByRole('option').first().waitFor();
        expect(await looksOf(window, stack(), 'find-operator')).toEqual([]);
        await window.keyboard.press('Enter');
        await window.waitForURL(`**/events/${event!.eventId}`);
      });
    }, 90_000);
  });
}
