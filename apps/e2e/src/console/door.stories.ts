import { describe, expect, it } from '@jest/globals';
import type { Page, Route } from 'playwright-core';
import encodeQR from 'qr';
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
  const onTablet = (work: (page: Page) => Promise<void>): Promise<void> =>
    stack().visit(undefined, '/door', async (page) => {
      await enter(page, {});
      await page.getByLabel('Subject').waitFor();
      await work(page);
    });

  /** Fills in the form of a tablet and sends it. */
  async function enter(page: Page, { key = stack().dev.demo.keys['gate']!, at = venue() }): Promise<void> {
    await page.getByLabel('Venue').fill(at);
    await page.getByLabel('Gate key').fill(key);
    await page.keyboard.press('Enter');
  }

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

    it('takes an answer away after fifteen seconds, and at the first character of the next code', async () => {
      await stack().visitAlone(undefined, '/door', async (page) => {
        await page.clock.install();
        await page.goto('/door');
        await enter(page, {});
        await page.route(GATE, (route) => route.fulfill({ json: allow('subj_story', venue()) }));
        const ready = page.getByText('Ready for the next person.');
        expect(await verdict(page)).toContain('ALLOW');
        await page.clock.fastForward(14_000);
        expect(await ready.count()).toBe(0);
        await page.clock.fastForward(1_100);
        await ready.waitFor();
        expect(await verdict(page)).toContain('ALLOW');
        await page.keyboard.type('s');
        await ready.waitFor();
      });
    }, 60_000);

    it('offers the venues to whoever may list them, and the last one after its key was forgotten', async () => {
      await stack().visit('operator', '/door', async (page) => {
        await page.locator(`datalist option[value="${venue()}"]`).waitFor({ state: 'attached' });
        expect(await page.locator('datalist option[value="ferry-pier"]').count()).toBe(0);
        expect(await looksOf(page, stack(), 'door-post')).toEqual([]);
        await enter(page, {});
        await page.getByLabel('Subject').waitFor();
        await page.getByRole('button', { name: 'Forget the key' }).click();
        expect(await page.getByLabel('Venue').inputValue()).toBe(venue());
        expect(await page.getByLabel('Gate key').inputValue()).toBe('');
      });
      await stack().visit(undefined, '/door', async (page) => {
        await page.getByLabel('Venue').waitFor();
        expect(await page.locator('datalist option').count()).toBe(0);
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

    it('denies a code that names no subject in another word than a person, and a key that has ended meanwhile', async () => {
      await onTablet(async (page) => {
        const text = await verdict(page, 'somebody');
        expect(text).toContain('NOT_A_SUBJECT');
        expect(text).toContain('Not a code of a person.');
        // Not the word of a person who may not enter.
        expect(text).not.toContain('DENY');
        expect(await looksOf(page, stack(), 'door-again')).toEqual([]);
        // Which code it is about.
        expect(text).toContain('somebody');
        await page.route(GATE, (route) => route.fulfill({ status: 401, json: { code: 'UNAUTHENTICATED' } }));
        expect(await verdict(page)).toContain('KEY_REFUSED');
      });
    }, 60_000);

    it('tries key and venue before it opens', async () => {
      await stack().visit(undefined, '/door', async (page) => {
        await page.getByRole('button', { name: 'Open the door page' }).click();
        await page.getByText('A gate key starts with gk_ and has 46 characters.').waitFor();
        await page.getByText('Letters, digits, hyphens and underscores only.').waitFor();
        await page.locator(':focus').and(page.getByLabel('Venue')).waitFor();
        await enter(page, { key: `gk_${'x'.repeat(43)}` });
        await page.getByText('The gate does not know this key, or the key has ended.').waitFor();
        await enter(page, { at: 'no-such-hall' });
        await page.getByText('There is no such venue in the environment of this key.').waitFor();
        await page.route('**/v1/gate/venues/*', (route) => route.abort('internetdisconnected'));
        await enter(page, {});
        await page.getByText('The service cannot be reached.').waitFor();
        expect(await looksOf(page, stack(), 'door-refused')).toEqual([]);
        await page.unroute('**/v1/gate/venues/*');
        await enter(page, {});
        await page.getByLabel('Subject').waitFor();
      });
    }, 60_000);

    it('keeps key and venue for a reload only if that is wanted, until they are forgotten', async () => {
      await stack().visit(undefined, '/door', async (page) => {
        await page.getByLabel('Keep both until this tab is closed').check();
        await enter(page, {});
        await page.getByLabel('Subject').waitFor();
        await page.reload();
        await page.getByLabel('Subject').waitFor();
        await page.getByRole('button', { name: 'Forget the key' }).click();
        await page.getByLabel('Gate key').waitFor();
        await page.reload();
        await page.getByLabel('Gate key').waitFor();
        expect(await page.evaluate('sessionStorage.length')).toBe(0);
      });
    }, 60_000);

    it('is a kiosk without menu, and a reload keeps it', async () => {
      await stack().visit(undefined, '/door', async (page) => {
        await page.getByLabel('Keep both until this tab is closed').check();
        await enter(page, {});
        const menu = page.getByRole('navigation', { name: 'Parts of the console' });
        expect(await menu.count()).toBe(1);
        await page.getByRole('button', { name: 'Full screen' }).click();
        await page.getByRole('button', { name: 'Show the menu' }).waitFor();
        expect(await menu.count()).toBe(0);
        await page.reload();
        await page.getByRole('button', { name: 'Show the menu' }).click();
        await page.getByRole('button', { name: 'Full screen' }).waitFor();
        expect(await menu.count()).toBe(1);
        await page.getByRole('button', { name: 'Forget the key' }).click();
      });
    }, 60_000);

    it('keeps the verdict within its panel on every screen, either way round', async () => {
      await onTablet(async (page) => {
        await page.route(GATE, (route) => route.fulfill({ json: allow('subj_story', venue()) }));
        for (const [width, height] of SCREENS) {
          await page.setViewportSize({ width, height });
          await verdict(page);
          expect([width, height, await page.evaluate(FAULTS_OF_VERDICT)]).toEqual([width, height, []]);
        }
      });
    }, 90_000);

    it('reads a code with the camera where the browser has no detector of its own', async () => {
      await stack().visit(undefined, '/door', async (page) => {
        await page.addInitScript(cameraThatShows('subj_scanned'));
        await page.reload();
        await enter(page, {});
        await page.getByRole('button', { name: 'Scan a code' }).click();
        const panel = page.locator('[data-verdict="deny"]');
        await panel.waitFor();
        expect(await panel.textContent()).toContain('subj_scanned');
        expect(await page.evaluate('document.activeElement.placeholder')).toBe('subj_…');
      });
    }, 60_000);
  });
}

const SCREENS = [
  [320, 568],
  [568, 320],
  [390, 844],
  [768, 1024],
  [820, 1180],
  [1024, 768],
  [1180, 820],
  [1440, 900],
  [1920, 1080],
] as const;

/** What of the verdict is outside its panel, or beside the window. */
const FAULTS_OF_VERDICT = `(() => {
  const panel = document.querySelector('[data-verdict]');
  const box = panel.getBoundingClientRect();
  const outside = [...panel.children].filter((child) => {
    const range = document.createRange();
    range.selectNodeContents(child);
    const { left, right } = range.getBoundingClientRect();
    return left < box.left || right > box.right;
  });
  const isWide = document.documentElement.scrollWidth > innerWidth;
  return [...outside.map(({ textContent }) => textContent), ...(isWide ? ['the page scrolls sideways'] : [])];
})()`;

/** A script that gives pages a camera whose image is a QR code, and no detector. */
const cameraThatShows = (text: string): string => `{
  delete globalThis.BarcodeDetector;
  const rows = ${JSON.stringify(encodeQR(text, 'raw', { border: 4 }))};
  navigator.mediaDevices.getUserMedia = async () => {
    const canvas = document.createElement('canvas');
    canvas.width = canvas.height = 480;
    const context = canvas.getContext('2d');
    const size = 480 / rows.length;
    const draw = () => {
      context.fillStyle = '#ddd';
      context.fillRect(0, 0, 480, 480);
      context.fillStyle = '#222';
      rows.forEach((row, y) => row.forEach((dark, x) => dark && context.fillRect(x * size, y * size, size + 1, size + 1)));
      requestAnimationFrame(draw);
    };
    draw();
    return canvas.captureStream(10);
  };
}`;
