import { describe, expect, it } from '@jest/globals';
import type { Page, Route } from 'playwright-core';
import { looksOf } from './page-looks.ts';
import type { ConsoleStack } from './start-stack.ts';

const GATE = '**/api/case-gate/v1/gate/check';

const allow = (subject: string, venue: string): object => ({
  decision: 'allow',
  allow: true,
  decision_id: 'gd_story',
  subject_ref: subject,
  venue_id: venue,
  policy_version: 'v1',
  reason_codes: ['ELIGIBLE'],
  ledger_record_id: null,
  fail_closed: false,
  evaluated_at: new Date().toISOString(),
  valid_until: null,
});

/** The part Door: ALLOW or DENY, without a sign-in; any doubt is DENY. */
export function doorStories(stack: () => ConsoleStack): void {
  const venue = () => stack().dev.demo.venueId;

  /** Runs `work` on a tablet with a key entered. */
  const onTablet = (work: (page: Page) => Promise<void>, key?: string): Promise<void> =>
    stack().visit(undefined, '/door', async (page) => {
      await page.getByLabel('Venue').fill(venue());
      await page.getByLabel('Gate key').fill(key ?? stack().dev.demo.keys['gate']!);
      await page.keyboard.press('Enter');
      await page.getByLabel('Subject').waitFor();
      await work(page);
    });

  /** Enters a subject and returns the verdict on the page. */
  async function verdict(page: Page, subject = 'subj_story'): Promise<string> {
    await page.getByLabel('Subject').fill(subject);
    await page.keyboard.press('Enter');
    const panel = page.locator('[data-verdict="allow"], [data-verdict="deny"]');
    await panel.waitFor();
    return (await panel.textContent()) ?? '';
  }

  const refusals: readonly (readonly [string, (route: Route) => Promise<void>, string])[] = [
    ['there is no network', (route) => route.abort('internetdisconnected'), 'NO_NETWORK'],
    ['the answer is slow', () => new Promise(() => undefined), 'TOO_SLOW'],
    ['the service fails', (route) => route.fulfill({ status: 500, body: 'no' }), 'BAD_ANSWER'],
    [
      'the answer is cut off',
      (route) => route.fulfill({ contentType: 'application/json', body: '{"decision":"allow"' }),
      'BAD_ANSWER',
    ],
    ['the answer is for another subject', (route) => route.fulfill({ json: allow('subj_other', 'x') }), 'BAD_ANSWER'],
    [
      'an allow has a status of its own',
      (route) => route.fulfill({ status: 203, json: allow('subj_story', 'x') }),
      'BAD_ANSWER',
    ],
  ];

  describe('the door', () => {
    it('asks the gate without a sign-in, and says no with the reason', async () => {
      await onTablet(async (page) => {
        const text = await verdict(page, 'subj_nobody_knows');
        expect(text).toContain('DENY');
        expect(text).toContain('SUBJECT_UNKNOWN');
        expect(await looksOf(page, stack(), 'door-deny')).toEqual([]);
        await page.reload();
        await page.getByLabel('Gate key').waitFor();
        expect(await page.getByLabel('Gate key').inputValue()).toBe('');
        expect(await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])')).not.toContain(
          'gk_',
        );
      });
    }, 90_000);

    it('shows a large ALLOW for an allow of this very check, and clears it', async () => {
      await onTablet(async (page) => {
        await page.route(GATE, (route) => route.fulfill({ json: allow('subj_story', venue()) }));
        expect(await verdict(page)).toContain('ALLOW');
        expect(await looksOf(page, stack(), 'door-allow')).toEqual([]);
        await page.getByRole('button', { name: 'Next person' }).click();
        await page.getByText('Ready for the next person.').waitFor();
      });
    }, 60_000);

    it.each(refusals)(
      'shows DENY where %s',
      async (_, answer, code) => {
        await onTablet(async (page) => {
          await page.route(GATE, answer);
          const text = await verdict(page);
          expect(text).toContain('DENY');
          expect(text).not.toContain('ALLOW');
          expect(text).toContain(code);
        });
      },
      60_000,
    );

    it('judges scan after scan, whatever was tapped in between', async () => {
      const asked: string[] = [];
      await onTablet(async (page) => {
        await page.route(GATE, (route) => {
          const { subject_ref: subject } = route.request().postDataJSON() as { subject_ref: string };
          asked.push(subject);
          return route.fulfill({ json: allow(subject, venue()) });
        });
        // A scanner is a keyboard: it types into whatever has the focus, and ends with Enter.
        const scan = async (subject: string) => {
          await page.keyboard.type(subject);
          await page.keyboard.press('Enter');
          await page.locator('[data-verdict="allow"]').waitFor();
          expect(asked.at(-1)).toBe(subject);
        };
        await scan('subj_first');
        await scan('subj_second');
        await page.getByRole('button', { name: 'Next person' }).click();
        await page.getByText('Ready for the next person.').waitFor();
        expect(await page.evaluate('document.activeElement.placeholder')).toBe('subj_…');
        await scan('subj_third');
        await page.getByRole('heading', { level: 1 }).click();
        await scan('subj_fourth');
        await page.getByRole('button', { name: 'Check' }).focus();
        await scan('subj_fifth');
        await page.getByRole('button', { name: 'Next person' }).focus();
        await page.keyboard.press('Enter');
        await page.getByText('Ready for the next person.').waitFor();
        await scan('subj_sixth');
        expect(asked).toHaveLength(6);
      });
    }, 60_000);

    it('shows DENY for an invalid key, and for a code that names no subject', async () => {
      const noKey = `gk_${'x'.repeat(43)}`;
      await onTablet(async (page) => {
        expect(await verdict(page)).toContain('KEY_REFUSED');
        expect(await verdict(page, 'somebody')).toContain('NOT_A_SUBJECT');
      }, noKey);
    }, 60_000);
  });
}
