import { describe, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { askedBy } from './page-looks.ts';
import type { ConsoleStack } from './start-stack.ts';

/** More stops than any page has; a focus trap would exceed it. */
const MOST_STOPS = 160;

/** Presses Tab until the control has the focus. Throws where it is never reached. */
async function reach(page: Page, target: Locator): Promise<void> {
  await target.first().waitFor();
  for (let stops = 0; stops < MOST_STOPS; stops += 1) {
    if (await target.first().evaluate((element) => element === element.ownerDocument.activeElement)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab never reaches ${String(target)}.`);
}

async function press(page: Page, target: Locator, key = 'Enter'): Promise<void> {
  await reach(page, target);
  await page.keyboard.press(key);
}

async function type(page: Page, target: Locator, text: string): Promise<void> {
  await reach(page, target);
  await page.keyboard.type(text);
}

/** Moves through an open listbox by arrow keys and selects the option of this name. */
async function choose(page: Page, name: string): Promise<void> {
  const wanted = page.getByRole('option', { name, exact: true });
  await wanted.waitFor();
  for (let stops = 0; stops < MOST_STOPS; stops += 1) {
    if ((await wanted.getAttribute('data-combobox-selected')) === 'true') return page.keyboard.press('Enter');
    await page.keyboard.press('ArrowDown');
  }
  throw new Error(`Arrows never reach ${name}.`);
}

/** The main stories again, with the keyboard only. */
export function keyboardStories(stack: () => ConsoleStack): void {
  /** A window in which a user signed in by keyboard. */
  const by = (role: string, path: string, work: (page: Page) => Promise<void>): Promise<void> =>
    stack().visitAlone(undefined, `/sign-in?returnTo=${encodeURIComponent(path)}`, async (page) => {
      const { subject } = stack().dev.demo.people.find((one) => one.role === role)!;
      await press(page, page.locator(`button[value="${subject}"]`));
      await page.waitForURL((at) => at.origin === stack().url);
      await work(page);
    });
  const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });

  describe('by keyboard alone', () => {
    it('a network is created, a key minted, a record found and its proof shown; the channel is audited', async () => {
      const networkId = `keys-${Date.now()}`;
      await by('operator', '/home', async (page) => {
        await press(page, page.getByRole('link', { name: 'Networks and keys' }));
        await press(page, button(page, 'New network'));
        await type(page, page.getByRole('textbox', { name: 'Id' }), networkId);
        await page.keyboard.press('Enter');
        await page.getByRole('heading', { level: 1, name: networkId }).waitFor();
        await press(page, button(page, 'Mint a key'));
        await type(page, page.getByRole('textbox', { name: 'Label' }), 'By keyboard');
        await page.keyboard.press('Enter');
        const shown = page.getByRole('dialog', { name: /^Key/ }).locator('code', { hasText: /^ingest_/ });
        const key = (await shown.first().textContent()) ?? '';
        await press(page, button(page, 'I have copied it'));
        const sent = await fetch(`${stack().dev.surfaces['ingest-gateway']!.url}/${networkId}`, {
          method: 'POST',
          headers: { 'X-Api-Key': key, 'content-type': 'application/json' },
          body: '{"id":"by-keyboard","type":"story.order","data":{}}',
          signal: AbortSignal.timeout(20_000),
        });
        expect(sent.status).toBe(200);
        await press(page, page.getByRole('link', { name: 'Data view' }));
        await type(page, page.getByLabel(/^Event id, or request id/), sent.headers.get('x-request-id') ?? '');
        await page.keyboard.press('Enter');
        await press(page, page.getByRole('table', { name: 'Events' }).getByRole('link'));
        await press(page, page.getByRole('table', { name: 'Records' }).getByRole('link', { name: 'by-keyboard' }));
        await page.getByText('Checked in this browser').waitFor();
        expect(await page.getByText('Fails', { exact: true }).count()).toBe(0);
        await page.goto(`/ledger/${networkId}.main`);
        await press(page, button(page, 'Audit the channel'));
        await page.getByText('The one record is as it was signed.').waitFor();
      });
    }, 180_000);

    it('a case is opened, given evidence, decided and sealed, and its subject revoked', async () => {
      const subject = `subj_keys_${Date.now()}`;
      const { adminUrl, url } = stack().dev.surfaces['case-gate']!;
      const rules = {
        rules: [{ when: { '>=': [{ var: 'attachment_count' }, 1] }, decision: 'approve', reason_codes: ['COMPLETE'] }],
        default: { decision: 'refer', reason_codes: ['INCOMPLETE'] },
      };
      await askedBy(stack().dev.adminToken, `${adminUrl}/admin/v1/policies`, {
        method: 'POST',
        body: JSON.stringify({ policy_version: 'keys-1', status: 'active', rules }),
      });
      const decision = async () => {
        const body = JSON.stringify({ subject_ref: subject, venue_id: stack().dev.demo.venueId });
        const answer = await askedBy(stack().dev.demo.keys['gate']!, `${url}/v1/gate/check`, { method: 'POST', body });
        return (answer.json as { decision: string }).decision;
      };
      await by('operator', '/cases/live/queue/new', async (page) => {
        await type(page, page.getByLabel('Subject'), subject);
        await type(page, page.getByRole('combobox', { name: 'Venues' }), stack().dev.demo.venueId);
        await page.keyboard.press('Enter');
        await press(page, button(page, 'Open the case'));
        await press(page, button(page, 'Attach'));
        const dialog = page.getByRole('dialog');
        await type(page, dialog.getByLabel('Reference'), 'vault/keys');
        await type(page, dialog.getByLabel('SHA-256'), 'b'.repeat(64));
        await type(page, dialog.getByLabel('Media type'), 'application/pdf');
        await page.keyboard.press('Enter');
        await dialog.waitFor({ state: 'detached' });
        await press(page, page.getByRole('combobox', { name: 'Policy version' }));
        await choose(page, 'keys-1');
        await press(page, button(page, 'Decide by the rules'));
        await press(page, button(page, 'Seal'));
        await press(page, dialog.getByRole('button', { name: 'Seal' }));
        await dialog.waitFor({ state: 'detached' });
        expect(await decision()).toBe('allow');
        await page.goto(`/cases/live/subjects/${subject}`);
        await press(page, button(page, 'Revoke'));
        await type(page, page.getByLabel('Reason'), 'Told by keyboard');
        await type(page, page.getByLabel(`Type ${subject} to confirm`), subject);
        await page.keyboard.press('Enter');
        await dialog.waitFor({ state: 'detached' });
        expect(await decision()).toBe('deny');
      });
    }, 180_000);

    it('the door is asked, and Verify receives a file', async () => {
      await stack().visit(undefined, '/door', async (page) => {
        await type(page, page.getByLabel('Venue'), stack().dev.demo.venueId);
        await type(page, page.getByLabel('Gate key'), stack().dev.demo.keys['gate']!);
        await page.keyboard.press('Enter');
        await type(page, page.getByLabel('Subject'), 'subj_nobody_at_all');
        await page.keyboard.press('Enter');
        await page.locator('[data-verdict="deny"]').waitFor();
        await page.goto('/verify');
        await type(page, page.getByLabel('Key of the log'), stack().dev.ledger.verifierKey);
        const choosing = page.waitForEvent('filechooser');
        await press(page, page.locator('input[type=file]'));
        await (await choosing).setFiles({ name: 'note.json', mimeType: '', buffer: Buffer.from('{"a":1}') });
        await page.getByText('note.json is no proof').waitFor();
      });
    }, 60_000);
  });
}
