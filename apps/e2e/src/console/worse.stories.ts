import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { askedBy, looksOf } from './page-looks.ts';
import type { ConsoleStack } from './start-stack.ts';

interface Rated {
  readonly score: number;
  readonly level: string;
}

interface Worse {
  readonly id: string;
  readonly refId: string;
  readonly current: Rated;
  readonly previous: Rated;
}

/** Of the demo: risks that rose within the quarter, with their ratings then and now. */
const ROSE: Readonly<Record<string, string>> = {
  'R-015': '6 Medium→20 Critical',
  'R-098': '8 Medium→20 Critical',
  'R-087': '12 High→20 Critical',
  'R-057': '9 Medium→15 High',
  'R-032': '4 Low→12 High',
  'R-075': '4 Low→12 High',
  'R-105': '3 Low→8 Medium',
};

/** Which risks got worse, as an owner asks it. */
export function worseStories(stack: () => ConsoleStack): void {
  const api = (path: string) => `${stack().dev.surfaces['risk-partner']!.url}/api${path}`;
  const owner = () => stack().dev.demo.keys['owner']!;
  const page = (name: string) => `/risks/${stack().dev.demo.orgId}/${name}`;

  describe('risks that got worse', () => {
    it.each(['owner', 'risk_manager'])(
      'in this quarter are one click from the home of %s, each with what it was',
      async (role) => {
        await stack().visit(role, '/home', async (window) => {
          const home = window.getByRole('table', { name: 'Got worse this quarter' });
          await home.getByRole('img', { name: 'then' }).first().waitFor();
          await window.getByText('Changed last', { exact: true }).click();
          await window.getByRole('table', { name: 'Changed last' }).waitFor();
          const figure = window.getByRole('link', { name: /^Worse this quarter/ });
          expect(await figure.textContent()).toBe('Worse this quarter7');
          await figure.click();
          const table = window.getByRole('table', { name: 'Risk register' });
          await table.getByRole('columnheader', { name: 'Then and now' }).waitFor();
          const rows = await table.locator('tbody tr').all();
          const shown = await Promise.all(
            rows.map(async (row) => [
              (await row.locator('[data-title="Risk"]').textContent())?.split(' · ')[0],
              await row.locator('[data-title="Then and now"]').textContent(),
            ]),
          );
          expect(Object.fromEntries(shown)).toEqual(ROSE);
          expect(shown.map(([, rating]) => Number(/→(\d+)/.exec(rating ?? '')?.[1]))).toEqual([
            20, 20, 20, 15, 12, 12, 8,
          ]);
          // A second client is told the same.
          const asked = new URL(window.url()).search;
          const { json } = await askedBy(owner(), api(`/risks${asked}`));
          const word = ({ score, level }: Rated) => `${score} ${level[0]?.toUpperCase()}${level.slice(1)}`;
          const told = (json as Worse[]).map(({ refId, previous, current }) => [
            refId,
            `${word(previous)}→${word(current)}`,
          ]);
          expect(told).toEqual(shown);
          expect(await looksOf(window, stack(), 'risks-worse')).toEqual([]);
        });
      },
      90_000,
    );

    it('are in a demo of which the months have the ratings of their risks', async () => {
      const { months } = (await askedBy(owner(), api('/trends?months=12'))).json as {
        months: { month: string; low: number; medium: number; high: number; critical: number }[];
      };
      const all = await fetch(api('/risks/export?format=jsonl'), { headers: { authorization: `Bearer ${owner()}` } });
      const made = (await all.text())
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as { status: string; createdAt: string })
        .filter(({ status }) => status !== 'closed' && status !== 'archived');
      // Of months that no other story writes in.
      for (const [at, { month, low, medium, high, critical }] of months.slice(0, -1).entries()) {
        const end = months[at + 1]!.month;
        const count = made.filter(({ createdAt }) => createdAt < end).length;
        expect([month, low + medium + high + critical]).toEqual([month, count]);
      }
    });

    it('are filtered by a period or a date in the address, and exported with what they were', async () => {
      await stack().visit('owner', page('register'), async (window) => {
        const since = window.getByRole('combobox', { name: 'Got worse since' });
        const total = window.getByRole('status', { name: 'Total' });
        const choose = async (name: string) => {
          await since.click();
          await window.getByRole('option', { name, exact: true }).click();
        };
        await choose('Start of this quarter');
        await total.getByText('7 rows', { exact: true }).waitFor();
        const quarter = new URL(window.url()).searchParams.get('worseSince')!;
        const begin = new Date(quarter);
        expect([begin.getMonth() % 3, begin.getDate(), begin.getHours()]).toEqual([0, 1, 0]);
        await choose('12 months ago');
        // With those of earlier quarters, without one that fell in this one.
        await total.getByText('9 rows', { exact: true }).waitFor();
        await window.goBack();
        await total.getByText('7 rows', { exact: true }).waitFor();
        expect(await since.inputValue()).toBe('Start of this quarter');
        await window.getByRole('button', { name: 'Export' }).click();
        const [download] = await Promise.all([
          window.waitForEvent('download'),
          window.getByRole('menuitem', { name: 'CSV' }).click(),
        ]);
        const [header, ...lines] = readFileSync(await download.path(), 'utf8')
          .trimEnd()
          .split('\r\n');
        expect([lines.length, header?.endsWith('previous.level,previous.until')]).toEqual([7, true]);
        await choose('A date');
        const date = window.getByLabel('Since', { exact: true });
        await date.fill('2001-02-03T04:05');
        await date.blur();
        await window.getByText('Nothing matches these filters').waitFor();
        expect(new URL(window.url()).searchParams.get('worseSince')).toBe(new Date(2001, 1, 3, 4, 5).toISOString());
        await window.reload();
        await date.waitFor();
        expect([await since.inputValue(), await date.inputValue()]).toEqual(['A date', '2001-02-03T04:05']);
        await window.getByRole('button', { name: 'Clear filters' }).click();
        await window.getByRole('columnheader', { name: 'Inherent' }).waitFor();
        expect([new URL(window.url()).search, await since.inputValue()]).toEqual(['', '']);
      });
    }, 90_000);

    it('show their ratings over time, and lead those who may read the audit to who changed them', async () => {
      const { json } = await askedBy(owner(), api('/risks?q=R-015'));
      const [{ id }] = json as [Worse];
      const audit = 'Who changed this risk';
      await stack().visit('owner', page(`register/${id}`), async (window) => {
        const history = window.getByRole('table', { name: 'Current rating over time' });
        await history.waitFor();
        const ratings = await history.locator('[data-title="Rating"]').allTextContents();
        expect(ratings).toEqual(['12 High→20 Critical', '6 Medium→12 High', '6 Mediumwhen it was made']);
        expect(await looksOf(window, stack(), 'risk-ratings')).toEqual([]);
        await window.getByRole('link', { name: audit }).click();
        const events = window.getByRole('table', { name: 'Audit' });
        await events.getByText('update risk').first().waitFor();
        expect(await events.locator('tbody tr').count()).toBe(2);
      });
      await stack().visit('risk_manager', page(`register/${id}`), async (window) => {
        await window.getByRole('table', { name: 'Current rating over time' }).waitFor();
        expect(await window.getByRole('link', { name: audit }).count()).toBe(0);
      });
    }, 90_000);
  });
}
