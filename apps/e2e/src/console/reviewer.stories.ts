import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { askedBy, looksOf } from './page-looks.ts';
import type { ConsoleStack } from './start-stack.ts';

/** A reviewer's day: from what waits to what is sealed. */
export function reviewerStories(stack: () => ConsoleStack): void {
  const gate = () => stack().dev.surfaces['case-gate']!;
  const asked = async (path: string) =>
    (await askedBy(stack().dev.adminToken, `${gate().adminUrl}/admin/v1${path}`)).json;
  const statusOf = async (id: string) => ((await asked(`/cases/${id}`)) as { status: string }).status;
  const file = Buffer.from('A passport, as the vault has it.');
  const sha256 = createHash('sha256').update(file).digest('hex');

  /** A case with attachments, by the key of the demo. */
  const newCase = async (reference: string, attachments: readonly object[]) => {
    const post = async (path: string, body: object) => {
      const init = { method: 'POST', headers: { 'idempotency-key': reference }, body: JSON.stringify(body) };
      const { status, json } = await askedBy(stack().dev.demo.keys['gate']!, `${gate().url}/v1/cases${path}`, init);
      expect([path, status]).toEqual([path, 201]);
      return json as { readonly case_id: string };
    };
    const subject = `subj_reviewed_${Date.now()}`;
    const order = { subject_ref: subject, venue_ids: ['*'], external_ref: reference };
    const { case_id: id } = await post('', order);
    await post(`/${id}/attachments`, { attachments });
    return { id, subject };
  };
  const attached = (ref: string, label: string, digest = sha256) => ({
    kind: 'vault_ref',
    ref,
    label,
    sha256: digest,
    media_type: 'application/pdf',
    size_bytes: file.length,
  });
  /** Other stories have other versions. */
  const byDemoRules = async (page: Page): Promise<void> => {
    await page.getByRole('combobox', { name: 'Policy version' }).click();
    await page.getByRole('option', { name: 'demo-1', exact: true }).click();
    await page.getByRole('table', { name: 'Result of each rule' }).waitFor();
  };
  /** A decided case is decided again only under active versions that have not decided it. */
  const offersOthers = async (page: Page, used: string): Promise<void> => {
    const { items } = (await asked('/policies?environment=live&limit=200')) as {
      items: { policy_version: string; status: string }[];
    };
    const left = items.filter(({ status, policy_version }) => status === 'active' && policy_version !== used);
    const again = page.getByRole('region', { name: 'Decide again' });
    if (left.length === 0) return expect(await again.count()).toBe(0);
    await again.getByRole('combobox', { name: 'Policy version' }).click();
    const options = await page.getByRole('option').allTextContents();
    expect(options.toSorted()).toEqual(left.map(({ policy_version }) => policy_version).toSorted());
    await page.keyboard.press('Escape');
  };
  const focused = (page: Page) => page.evaluate<string | null>('document.activeElement.getAttribute("aria-label")');
  const isInView = async (page: Page, name: string) => {
    const box = await page.getByRole('button', { name, exact: true }).boundingBox();
    return box !== null && box.y >= 0 && box.y + box.height <= 900;
  };

  describe('a reviewer', () => {
    it('is led from the outcome of a case to its seal, and on to the queue, without looking for either', async () => {
      const { id, subject } = await newCase(`outcome-${Date.now()}`, [attached('vault/1', 'passport')]);
      await stack().visit('reviewer', `/cases/live/queue/${id}`, async (page) => {
        const outcome = page.getByRole('region', { name: 'Outcome' });
        await byDemoRules(page);
        const decide = page.getByRole('button', { name: 'Decide by the rules' });
        await decide.scrollIntoViewIfNeeded();
        expect(await outcome.count()).toBe(0);
        await decide.click();
        await outcome.getByText('Decided: Approve').waitFor();
        await page.waitForFunction('document.activeElement.getAttribute("aria-label") === "Outcome"');
        expect(await isInView(page, 'Seal')).toBe(true);
        expect(await statusOf(id)).toBe('decided');
        expect(await looksOf(page, stack(), 'cases-decided')).toEqual([]);
        // The next act by keyboard is to seal.
        await outcome.focus();
        await page.keyboard.press('Tab');
        await page.keyboard.press('Enter');
        await page.getByRole('dialog').getByRole('button', { name: 'Seal' }).click();
        await outcome.getByText(/^Under demo-1, sealed/).waitFor();
        await page.waitForFunction('document.activeElement.getAttribute("aria-label") === "Outcome"');
        expect(await focused(page)).toBe('Outcome');
        expect(await statusOf(id)).toBe('sealed');
        await offersOthers(page, 'demo-1');
        await outcome.getByRole('link', { name: 'To the next case in the queue' }).click();
        await page.getByRole('heading', { level: 1, name: 'Queue' }).waitFor();
        await page.goto(`/cases/live/queue/${id}`);
        // Whoever comes later reads the outcome, and keeps the focus where it was.
        await outcome.getByText('Decided: Approve').waitFor();
        expect(await focused(page)).toBeNull();
        await page.getByRole('link', { name: subject }).click();
        await page.getByRole('heading', { level: 1, name: subject }).waitFor();
        await page.getByText('Eligible', { exact: true }).waitFor();
        await page.getByRole('table', { name: 'History' }).waitFor();
        expect(await page.getByRole('button', { name: 'Suspend' }).count()).toBe(0);
        expect(await looksOf(page, stack(), 'cases-subject-reviewer')).toEqual([]);
      });
    }, 120_000);

    it('stays where they are when the rules refer a case: nothing is to be sealed', async () => {
      const { id } = await newCase(`referred-${Date.now()}`, [attached('vault/2', 'driving licence')]);
      await stack().visit('reviewer', `/cases/live/queue/${id}`, async (page) => {
        await byDemoRules(page);
        // A person has to name the outcome, so that is offered first.
        await page.getByText('The rules refer this case:').waitFor();
        await page.getByRole('button', { name: 'Record this outcome' }).waitFor();
        expect(await page.getByRole('button', { name: 'Decide by the rules' }).count()).toBe(0);
        await page.getByRole('radiogroup', { name: 'How to decide' }).getByText('By the rules').click();
        await page.getByRole('button', { name: 'Decide by the rules' }).click();
        await page.getByText('The case stays in review: name an outcome to decide it.').waitFor();
        await page.getByRole('region', { name: 'Timeline' }).getByText('Case referred').waitFor();
        expect(await page.getByRole('region', { name: 'Outcome' }).count()).toBe(0);
        await page.getByRole('link', { name: /^subj_reviewed_/ }).click();
        await page.getByText('Pending', { exact: true }).waitFor();
      });
    }, 60_000);

    it('finds on the start page how many decisions are to be sealed, and the list of them', async () => {
      const { states } = (await asked('/case-counts')) as { states: { status: string; count: number }[] };
      const count = states.find(({ status }) => status === 'decided')!.count;
      expect(count).toBeGreaterThan(0);
      await stack().visit('reviewer', '/home', async (page) => {
        const card = page.getByRole('link', { name: `Decided, to be sealed ${count}` });
        await card.waitFor();
        const table = page.getByRole('table', { name: 'Decided, to be sealed' });
        await table.getByRole('link').first().waitFor();
        await card.click();
        await page.waitForURL('**/cases/live/queue?status=decided');
        const listed = page.getByRole('table', { name: 'Cases', exact: true });
        await listed.getByRole('row').nth(1).waitFor();
        const shown = new Set(await listed.locator('td[data-title="Status"]').allTextContents());
        expect(shown).toEqual(new Set(['Decided']));
      });
    }, 60_000);

    it('opens attachments that have a safe address, and sees whether a file is what was attached', async () => {
      const { id } = await newCase(`attached-${Date.now()}`, [
        attached('https://vault.example.com/files/7', 'passport'),
        attached('javascript:alert(1)', 'work permit', 'a'.repeat(64)),
      ]);
      await stack().visit('reviewer', `/cases/live/queue/${id}`, async (page) => {
        const table = page.getByRole('table', { name: 'Attachments' });
        const link = table.getByRole('link');
        await link.waitFor();
        expect(await link.count()).toBe(1);
        expect(await link.evaluate((anchor) => [anchor.outerHTML.match(/href="([^"]*)"/)?.[1]])).toEqual([
          'https://vault.example.com/files/7',
        ]);
        expect(await link.getAttribute('rel')).toBe('noopener noreferrer');
        expect(await link.getAttribute('target')).toBe('_blank');
        await table.getByText('javascript:alert(1)').waitFor();
        const compare = page.getByRole('region', { name: 'Compare a file' });
        await compare.getByLabel('File').setInputFiles({ name: 'scan.pdf', mimeType: 'application/pdf', buffer: file });
        await compare.getByText(/scan\.pdf.* is .*passport/).waitFor();
        const other = { name: 'other.pdf', mimeType: 'application/pdf', buffer: Buffer.from('Another.') };
        await compare.getByLabel('File').setInputFiles(other);
        await compare.getByText(/other\.pdf.* is none of these attachments/).waitFor();
        expect(await looksOf(page, stack(), 'cases-attachments')).toEqual([]);
      });
    }, 60_000);
  });
}
