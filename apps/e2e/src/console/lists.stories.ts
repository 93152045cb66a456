import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { askedBy, looksOf } from './page-looks.ts';
import type { ConsoleStack } from './start-stack.ts';

/** Lists that are searched, ordered and exported, and records that name others. */
export function listsStories(stack: () => ConsoleStack): void {
  const owner = () => stack().dev.demo.keys['owner']!;
  const api = (path: string) => `${stack().dev.surfaces['risk-partner']!.url}/api${path}`;
  const page = (name: string) => `/risks/${stack().dev.demo.orgId}/${name}`;
  const post = async (path: string, body: object) => {
    const { status, json } = await askedBy(owner(), api(path), { method: 'POST', body: JSON.stringify(body) });
    expect({ path, status }).toEqual({ path, status: 201 });
    return json as { readonly id: string };
  };
  const queryOf = (address: string) => Object.fromEntries(new URL(address).searchParams);

  describe('a list', () => {
    const word = `findable${Date.now()}`;

    it('is searched and ordered by keyboard, with both in the address, and tells its total', async () => {
      for (const [at, score] of [3, 1, 4].entries())
        await post('/risks', {
          title: `${word} number ${at}`,
          category: 'found',
          inherent: { likelihood: 1, impact: score },
        });
      await stack().visit('owner', page('register'), async (window) => {
        const table = window.getByRole('table', { name: 'Risk register' });
        await table.waitFor();
        await window.getByRole('searchbox', { name: 'Search', exact: true }).fill(`number ${word.toUpperCase()}`);
        await window.getByText('3 rows', { exact: true }).waitFor();
        expect(queryOf(window.url())).toEqual({ q: `number ${word.toUpperCase()}` });
        const head = window.getByRole('columnheader', { name: 'Current' });
        expect(await head.getAttribute('aria-sort')).toBe('none');
        await head.getByRole('button').focus();
        await window.keyboard.press('Enter');
        await window.waitForURL('**sort=-currentScore*');
        await window.locator('th[aria-sort="descending"]').filter({ hasText: 'Current' }).waitFor();
        await table.getByRole('row').nth(1).getByText('number 2').waitFor();
        const shown = async () => (await table.getByRole('link').allTextContents()).map((text) => text.at(-1));
        expect(await shown()).toEqual(['2', '0', '1']);
        await window.keyboard.press('Enter');
        await window.waitForURL('**sort=currentScore*');
        await table.getByRole('row').nth(1).getByText('number 1').waitFor();
        expect(await shown()).toEqual(['1', '0', '2']);
        // A second client is answered in the same order.
        const asked = await askedBy(owner(), api(`/risks?q=${word}&sort=currentScore`));
        expect((asked.json as { title: string }[]).map(({ title }) => title.at(-1))).toEqual(['1', '0', '2']);
        expect(await looksOf(window, stack(), 'list-searched')).toEqual([]);
        await window.reload();
        await window.getByText('3 rows', { exact: true }).waitFor();
        expect(await shown()).toEqual(['1', '0', '2']);
        await window.goBack();
        await window.waitForURL('**sort=-currentScore*');
        await window.getByRole('searchbox', { name: 'Search', exact: true }).fill(`${word} nowhere`);
        await window.getByText('Nothing matches these words').waitFor();
        expect(await looksOf(window, stack(), 'list-nothing-found')).toEqual([]);
        await window.getByRole('button', { name: 'Clear the search' }).last().click();
        await table.waitFor();
        expect(queryOf(window.url())).toEqual({ sort: '-currentScore' });
      });
    }, 120_000);

    it('is exported with its search and order, as the service exports it; an export is cancelled, and one fails', async () => {
      await stack().visit('owner', page(`register?q=${word}&sort=-currentScore`), async (window) => {
        await window.getByText('3 rows', { exact: true }).waitFor();
        const exported = async (format: string) => {
          await window.getByRole('button', { name: 'Export' }).click();
          await window.getByRole('menuitem', { name: format }).click();
        };
        const [download] = await Promise.all([window.waitForEvent('download'), exported('CSV')]);
        expect(download.suggestedFilename()).toBe('risks.csv');
        await window.getByText('Saved risks.csv: 3 rows').waitFor();
        const asked = api(`/risks/export?format=csv&q=${word}&sort=-currentScore`);
        const theirs = await fetch(asked, { headers: { authorization: `Bearer ${owner()}` } });
        expect(readFileSync(await download.path(), 'utf8')).toBe(await theirs.text());
        await window.route('**/risks/export?*', () => new Promise(() => undefined));
        await exported('JSON Lines');
        await window.getByText(/^Exporting: 0 rows of 3/).waitFor();
        expect(await looksOf(window, stack(), 'list-exporting')).toEqual([]);
        await window.getByRole('button', { name: 'Cancel the export' }).click();
        await window.getByText('The export was cancelled. No file was saved.').waitFor();
        await window.unrouteAll({ behavior: 'ignoreErrors' });
        await window.route('**/risks/export?*', (route) => route.abort());
        await exported('CSV');
        await window.getByRole('alert').getByText('No file was saved.').waitFor();
      });
      // A viewer may not export, and is not offered it.
      await stack().visit('contributor', page('register'), async (window) => {
        await window.getByRole('table', { name: 'Risk register' }).waitFor();
        expect(await window.getByRole('button', { name: 'Export' }).count()).toBe(0);
      });
    }, 120_000);

    it.each([
      ['owner', 'register', 'Risk register'],
      ['owner', 'evidence/list', 'Evidence'],
      ['owner', 'controls', 'Controls'],
      ['owner', 'assets', 'Assets'],
      ['owner', 'policies', 'Policies'],
      ['owner', 'people', 'People'],
      ['owner', 'audit', 'Audit'],
      ['operator', '/cases/live/queue', 'Cases'],
      ['operator', '/cases/live/subjects', 'Subjects'],
      ['operator', '/cases/live/venues', 'Venues'],
      ['operator', '/cases/live/decisions', 'Gate decisions'],
      ['operator', '/cases/live/gate-keys', 'Gate keys'],
      ['operator', '/events', 'Events'],
    ])(
      'of the %s at %s has one line a row: fifty are two screens',
      async (role, path, name) => {
        await stack().visit(role, path.startsWith('/') ? path : page(path), async (window) => {
          const table = window.getByRole('table', { name, exact: true });
          await table.getByRole('row').nth(1).waitFor();
          const heights = await table
            .locator('tbody tr')
            .evaluateAll((rows) => rows.map((row) => row.getBoundingClientRect().height));
          expect(Math.max(...heights)).toBeLessThanOrEqual(36);
        });
      },
      60_000,
    );

    it('shows the whole of what it cuts off on hover, and cuts nothing off on a small screen', async () => {
      const title = `${word} ${'of many words '.repeat(9)}`.trim();
      await post('/risks', { title, category: 'found', inherent: { likelihood: 1, impact: 1 } });
      await stack().visit('owner', page(`register?q=${encodeURIComponent(title.slice(0, 60))}`), async (window) => {
        await window.getByText('1 row', { exact: true }).waitFor();
        const cells = window.getByRole('table', { name: 'Risk register' }).getByRole('cell');
        await cells.first().hover();
        expect(await cells.first().getAttribute('title')).toBe(title);
        await cells.nth(1).hover();
        expect(await cells.nth(1).getAttribute('title')).toBe('');
        await window.setViewportSize({ width: 390, height: 900 });
        const isCut = await cells.first().evaluate((cell) => cell.scrollWidth > cell.clientWidth);
        expect(isCut).toBe(false);
        await window.setViewportSize({ width: 1440, height: 900 });
      });
    }, 60_000);

    it('comes before its filters on a small screen: they are behind a button that counts them', async () => {
      await stack().visit('owner', page('register?status=assessed&level=low'), async (window) => {
        const filters = window.getByRole('search', { name: 'Filters' });
        await filters.getByRole('combobox', { name: 'Status' }).waitFor();
        expect(await filters.getByRole('button', { name: /^Filters/ }).count()).toBe(0);
        await window.setViewportSize({ width: 390, height: 900 });
        const opener = filters.getByRole('button', { name: 'Filters (2)', exact: true });
        await opener.waitFor();
        expect(await opener.getAttribute('aria-expanded')).toBe('false');
        expect(await filters.getByRole('combobox').count()).toBe(0);
        await opener.click();
        await filters.getByRole('button', { name: 'Clear filters' }).click();
        await filters.getByRole('button', { name: 'Filters', exact: true }).waitFor();
        expect(queryOf(window.url())).toEqual({});
        await filters.getByRole('combobox', { name: 'Status' }).click();
        await window.getByRole('option', { name: 'Accepted' }).click();
        await filters.getByRole('button', { name: 'Filters (1)', exact: true }).waitFor();
        expect(await looksOf(window, stack(), 'list-filters')).toEqual([]);
      });
      await stack().visit('operator', '/cases/live/policies/demo-1', async (window) => {
        await window.setViewportSize({ width: 390, height: 900 });
        const rules = window.getByRole('table', { name: 'Rules' });
        await rules.waitFor();
        const { x, width } = (await rules.boundingBox())!;
        expect(x + width).toBeLessThanOrEqual(390);
        await window.setViewportSize({ width: 1440, height: 900 });
      });
    }, 60_000);

    it.each([
      ['/cases/live/queue', 'Cases'],
      ['/cases/live/subjects', 'Subjects'],
      ['/cases/live/venues', 'Venues'],
      ['/cases/live/policies', 'Policy versions'],
      ['/cases/live/decisions', 'Gate decisions'],
      ['/networks', 'Networks'],
      ['/events', 'Events'],
    ])(
      'of an operator at %s is ordered and exported',
      async (path, name) => {
        await stack().visit('operator', path, async (window) => {
          const table = window.getByRole('table', { name, exact: true });
          await table.waitFor();
          await window
            .getByRole('status', { name: 'Total' })
            .first()
            .getByText(/rows?$/)
            .waitFor();
          const head = table
            .getByRole('columnheader')
            .filter({ has: window.getByRole('button') })
            .last();
          await head.getByRole('button').click();
          await window.waitForURL('**sort=*');
          await head.and(window.locator('[aria-sort="ascending"], [aria-sort="descending"]')).waitFor();
          expect(await window.getByRole('alert').count()).toBe(0);
          await window.getByRole('button', { name: 'Export' }).click();
          const [download] = await Promise.all([
            window.waitForEvent('download'),
            window.getByRole('menuitem', { name: 'JSON Lines' }).click(),
          ]);
          const lines = readFileSync(await download.path(), 'utf8')
            .trimEnd()
            .split('\n');
          expect(lines.every((line) => typeof JSON.parse(line) === 'object')).toBe(true);
          expect(await looksOf(window, stack(), `list-${name.toLowerCase().replaceAll(' ', '-')}`)).toEqual([]);
        });
      },
      120_000,
    );

    it('of the audit is filtered by who and what', async () => {
      await stack().visit('owner', page('audit'), async (window) => {
        await window.getByRole('table', { name: 'Audit' }).waitFor();
        await window.getByRole('combobox', { name: 'Action' }).fill('risk.create');
        await window.getByRole('option', { name: 'Create risk' }).click();
        await window.waitForURL('**action=risk.create*');
        await window.waitForLoadState('networkidle');
        expect(await looksOf(window, stack(), 'audit-filtered')).toEqual([]);
      });
    }, 90_000);
  });

  describe('records', () => {
    it('name others by title with the id behind a button, and are chosen by title in forms', async () => {
      const title = `Named control ${Date.now()}`;
      const control = await post('/controls', { title });
      await post('/evidence', { title: 'Shows that it works', kind: 'link', controlIds: [control.id] });
      const risk = await post('/risks', {
        title: 'Names others',
        category: 'found',
        inherent: { likelihood: 1, impact: 1 },
      });
      await stack().visit('owner', page(`register/${risk.id}`), async (window) => {
        await window.getByRole('button', { name: 'Edit' }).click();
        await window.getByRole('combobox', { name: 'Controls' }).fill(title);
        await window.getByRole('option', { name: title }).click();
        await window.keyboard.press('Escape');
        expect(await looksOf(window, stack(), 'record-picker')).toEqual([]);
        await window.getByRole('button', { name: 'Save' }).click();
        const link = window.getByRole('link', { name: title });
        await link.waitFor();
        await window.getByRole('button', { name: `Copy the id of ${title}` }).waitFor();
        expect(await looksOf(window, stack(), 'record-names')).toEqual([]);
        expect((await askedBy(owner(), api(`/risks/${risk.id}`))).json).toMatchObject({ controlIds: [control.id] });
        await link.click();
        const evidence = window.getByRole('table', { name: 'Its evidence' });
        await evidence.getByRole('link', { name: 'Shows that it works' }).waitFor();
        await window.getByRole('link', { name: 'All its evidence (1)' }).click();
        await window.waitForURL(`**/evidence/list?controlId=${control.id}`);
        await window
          .getByRole('table', { name: 'Evidence' })
          .getByRole('link', { name: 'Shows that it works' })
          .waitFor();
        await window.goBack();
        const risks = window.getByRole('table', { name: 'Its risks' });
        await risks.getByRole('link', { name: 'Names others' }).waitFor();
        await window.getByText('No asset names this control').waitFor();
        expect(await looksOf(window, stack(), 'control-links')).toEqual([]);
        await window.getByRole('link', { name: 'All its risks (1)' }).click();
        await window.waitForURL(`**/register?controlId=${control.id}`);
        const register = window.getByRole('table', { name: 'Risk register' });
        await register.getByRole('link', { name: 'Names others' }).waitFor();
        expect(await register.getByRole('row').count()).toBe(2);
        // A second client is told the same.
        const named = await askedBy(owner(), api(`/risks?controlId=${control.id}`));
        expect((named.json as { id: string }[]).map(({ id }) => id)).toEqual([risk.id]);
      });
    }, 120_000);
  });
}
