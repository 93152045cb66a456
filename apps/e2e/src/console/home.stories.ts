import { describe, expect, it } from '@jest/globals';
import { askedBy, looksOf } from './page-looks.ts';
import type { ConsoleStack } from './start-stack.ts';

/** The menu and the title of the start page of each role. */
const THEIRS: Readonly<Record<string, { readonly menu: readonly string[]; readonly home: string }>> = {
  owner: { menu: ['Home', 'Risks', 'Verify', 'Public log'], home: 'Risks and evidence' },
  admin: { menu: ['Home', 'Risks', 'Verify', 'Public log'], home: 'Risks and evidence' },
  risk_manager: { menu: ['Home', 'Risks', 'Verify', 'Public log'], home: 'Risks and evidence' },
  auditor: { menu: ['Home', 'Risks', 'Verify', 'Public log'], home: 'Audit' },
  contributor: { menu: ['Home', 'Risks', 'Verify', 'Public log'], home: 'Asked of me' },
  viewer: {
    menu: [
      'Home',
      'Networks and keys',
      'Data view',
      'Ledger explorer',
      'Operations',
      'Risks',
      'Cases',
      'Door',
      'Verify',
      'Public log',
    ],
    home: 'Risks and evidence',
  },
  partner_read: { menu: ['Home', 'Verify', 'Public log'], home: 'Partner access' },
  reviewer: { menu: ['Home', 'Cases', 'Door', 'Verify', 'Public log'], home: 'Cases to review' },
  author: { menu: ['Home', 'Cases', 'Door', 'Verify', 'Public log'], home: 'Policies' },
  operator: {
    menu: [
      'Home',
      'Networks and keys',
      'Data view',
      'Ledger explorer',
      'Operations',
      'Cases',
      'Door',
      'Verify',
      'Public log',
    ],
    home: 'Services',
  },
};
const MAX_REQUESTS = 12;

/** The start page and the menu of each role. */
export function homeStories(stack: () => ConsoleStack): void {
  describe('a home for each person', () => {
    it.each(Object.entries(THEIRS))(
      'of %s is theirs: no red panel, and a menu of what they may do',
      async (role, { menu, home }) => {
        await stack().visit(role, '/home', async (page) => {
          // What the page before still asks is not counted.
          await page.waitForLoadState('networkidle');
          const asked: string[] = [];
          page.on('request', (request) => asked.push(new URL(request.url()).pathname));
          await page.reload();
          await page.getByRole('heading', { level: 1, name: home }).waitFor();
          await page.waitForLoadState('networkidle');
          const data = asked.filter((path) => !path.startsWith('/assets/'));
          const links = page.getByRole('navigation', { name: 'Parts of the console' }).getByRole('link');
          expect((await links.allTextContents()).map((text) => text.trim())).toEqual(menu);
          expect(await page.getByRole('alert').count()).toBe(0);
          expect(await page.getByText('Authentication is required').count()).toBe(0);
          expect(data.length).toBeLessThanOrEqual(MAX_REQUESTS);
          expect(await looksOf(page, stack(), `home-${role}`)).toEqual([]);
        });
      },
      120_000,
    );

    it('lets an auditor search first, and shows what changed since the last visit', async () => {
      await stack().visitAlone('auditor', '/home', async (page) => {
        await page.getByRole('heading', { name: 'Newest changes' }).waitFor();
        const box = page.getByRole('textbox', { name: 'Search evidence and risks' });
        await box.fill('quarter 2');
        await page.keyboard.press('Enter');
        await page
          .getByRole('table', { name: /^Evidence/ })
          .getByText('quarter 2')
          .first()
          .waitFor();
        expect(new URL(page.url()).search).toBe('?q=quarter%202');
        await page.goto('/home');
        await page.getByRole('link', { name: /Approved/ }).click();
        await page.getByRole('table', { name: /^Evidence/ }).waitFor();
        expect(new URL(page.url()).search).toBe('?state=approved');
        await page.goto('/home');
        await box.fill('returns centre');
        await page.getByRole('button', { name: 'Search risks' }).click();
        await page.getByRole('heading', { name: 'Risk register' }).waitFor();
        expect(new URL(page.url()).search).toBe('?q=returns%20centre');
        const rows = page.getByRole('table', { name: 'Risk register' }).getByRole('row');
        await rows.filter({ hasText: 'returns centre' }).first().waitFor();
        expect(await rows.filter({ hasText: 'Hamburg hub' }).count()).toBe(0);
        await page.goto('/home');
        await page.getByRole('heading', { name: 'Changed since your last visit' }).waitFor();
      });
    }, 60_000);

    it('says of which rows its numbers are to those who do not see all, once', async () => {
      const words = /^.*Numbers are of the rows that you may see:/;
      const register = `/risks/${stack().dev.demo.orgId}/register`;
      const told: readonly (readonly [role: string, path: string, times: number])[] = [
        ['auditor', '/home', 1],
        ['viewer', '/home', 1],
        ['auditor', register, 1],
        ['auditor', register.replace('register', 'evidence'), 1],
        ['auditor', register.replace('register', 'heat-map'), 1],
        ['auditor', register.replace('register', 'controls'), 0],
        ['owner', '/home', 0],
        ['owner', register, 0],
      ];
      for (const [role, path, times] of told)
        await stack().visit(role, path, async (page) => {
          await page.getByRole('heading', { level: 1 }).waitFor();
          await page.waitForLoadState('networkidle');
          expect([role, path, await page.getByText(words).count()]).toEqual([role, path, times]);
        });
      // A sensitive risk of another is counted for one and not for the other.
      const { url } = stack().dev.surfaces['risk-partner']!;
      const totalFor = async (role: string) => {
        const headers = { authorization: `Bearer ${stack().dev.demo.keys[role]!}` };
        return Number((await fetch(`${url}/api/risks?limit=1`, { headers })).headers.get('X-Total-Count'));
      };
      expect(await totalFor('auditor')).toBeLessThan(await totalFor('owner'));
    }, 60_000);

    it('draws no chart of a single month, and says since when there are numbers', async () => {
      await stack().visit('owner', '/home', async (page) => {
        const coverage = page.getByRole('region', { name: 'Coverage by framework' });
        await coverage
          .getByText(/^Counted since [A-Z][a-z]+ \d{4}; one month so far/)
          .first()
          .waitFor();
        expect(await coverage.getByRole('figure').count()).toBe(0);
        await coverage
          .getByText(/^\d+ of \d+ covered now$/)
          .first()
          .waitFor();
      });
    }, 60_000);

    it('draws the coverage of each framework over twelve months, of what the surface counts', async () => {
      const { url } = stack().dev.surfaces['risk-partner']!;
      const { json } = await askedBy(stack().dev.demo.keys['owner']!, `${url}/api/trends`);
      const { frameworks } = json as { frameworks: { name: string; months: Record<string, number>[] }[] };
      const { name, months } = frameworks[0]!;
      // As it was counted a month ago: the demo begins now.
      months.at(-2)!['gap'] = 3;
      for (const role of ['owner', 'risk_manager'])
        await stack().visit(role, '/verify', async (page) => {
          await page.route('**/api/trends', (route) => route.fulfill({ json }));
          await page.goto('/home');
          const table = page.getByRole('table', { name: `Coverage of ${name} over twelve months` });
          await table.waitFor({ state: 'attached' });
          expect(await table.getByRole('row').count()).toBe(13);
          const now = await table.getByRole('row').last().getByRole('cell').allTextContents();
          expect(now).toEqual(['covered', 'partial', 'gap'].map((state) => String(months.at(-1)![state])));
          const ending = page.getByRole('table', { name: 'Acceptances that run out' });
          const risk = await ending.getByRole('link').first().textContent();
          const asked = `${url}/api/risks?status=accepted&sort=acceptanceExpiresAt&limit=1`;
          const first = await askedBy(stack().dev.demo.keys['owner']!, asked);
          expect(first.json).toMatchObject([{ title: risk }]);
        });
    }, 60_000);

    it('has a page that is not theirs refused by the surface, and the session goes on', async () => {
      await stack().visit('contributor', '/networks', async (page) => {
        await page.getByText('Not for your role').first().waitFor();
        expect(await page.getByText('You are signed out').count()).toBe(0);
        expect(await page.getByText('Sign in again').count()).toBe(0);
      });
      await stack().visit('reviewer', '/cases/live/venues', async (page) => {
        await page.getByText('Not for your role').first().waitFor();
        const tabs = page.getByRole('navigation', { name: 'Pages of Cases' }).getByRole('link');
        expect(await tabs.allTextContents()).toEqual(['Queue', 'Policies']);
      });
      await stack().visit('author', '/cases', async (page) => {
        await page.getByRole('heading', { level: 1, name: 'Policies' }).waitFor();
        await page.getByRole('button', { name: 'New draft' }).waitFor();
      });
      // A second client, without the pages, is refused too.
      const { url } = stack().dev.surfaces['case-gate']!;
      const { adminUrl } = stack().dev.surfaces['case-gate']!;
      expect(url).not.toBe(adminUrl);
      const owner = stack().dev.demo.keys['owner']!;
      expect((await askedBy(owner, `${adminUrl}/admin/v1/whoami`)).status).toBe(401);
      const whoami = await askedBy(stack().dev.adminToken, `${adminUrl}/admin/v1/whoami`);
      expect(whoami.json).toMatchObject({ roles: ['operator'] });
    }, 120_000);
  });
}
