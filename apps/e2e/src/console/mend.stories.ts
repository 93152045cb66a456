import { createHmac } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import type { Page } from 'playwright-core';
import { looksOf } from './page-looks.ts';
import type { ConsoleStack } from './start-stack.ts';
import { SECRETS, sourcesOf, type RefusedRow, type StorySource } from './story-sources.ts';

const ACTS = ['Process again', /^Tolerate/, 'Edit the source', 'Secrets', 'Limits of the network'];

/** The acts on the page of a refused delivery. */
async function actsOn(page: Page): Promise<string[]> {
  const panel = page.getByRole('region', { name: 'Why it was refused, and what to do' });
  await panel.waitFor();
  const counts = await Promise.all(
    ACTS.flatMap((name) => ['button', 'link'].map((role) => panel.getByRole(role as 'button', { name }).count())),
  );
  return ACTS.flatMap((name, at) => (counts[2 * at]! + counts[2 * at + 1]! > 0 ? [String(name)] : []));
}

const variantOf = (page: Page, name: string) => page.getByRole('button', { name }).getAttribute('data-variant');

/** Refused deliveries of webhooks, and what can be done about each. */
export function mendStories(stack: () => ConsoleStack): void {
  const { gateway, admin, deliver, newSource, refusedOf } = sourcesOf(stack, `story-mend-${Date.now()}`);

  const newSkewed = (): Promise<StorySource> =>
    newSource({
      name: 'Skewed',
      scheme: 'hmac',
      signature: { header: 'x-signature', signed: '{timestamp}.{body}', timestampHeader: 'x-timestamp' },
      keepRefusedHours: 1,
    });

  async function deliverLate(source: StorySource, seconds: number): Promise<Response> {
    const timestamp = Math.floor(Date.now() / 1000) - seconds;
    const body = JSON.stringify({ a: 1, password: 'geheim' });
    const headers = {
      'content-type': 'application/json',
      'x-timestamp': String(timestamp),
      'x-signature': createHmac('sha256', SECRETS.old).update(`${timestamp}.${body}`).digest('hex'),
      'x-other-token': 'geheim',
    };
    return fetch(`${gateway().url}${source.path}`, { method: 'POST', headers, body });
  }

  describe('a refused delivery in the console', () => {
    it('with an old timestamp is accepted by a tolerance that is raised for it, and said to be until it is set back', async () => {
      const source = await newSkewed();
      expect((await deliverLate(source, 412)).status).toBe(401);
      const [{ refusedId }] = (await refusedOf(source)) as [RefusedRow];
      await stack().visit('operator', `${source.page}/${refusedId}`, async (page) => {
        await page.getByText(/its timestamp is 6 min 5\d s behind our clock\. This source tolerates 5 min\./).waitFor();
        await page.getByText('right, with a timestamp that is out of tolerance').waitFor();
        expect(await actsOn(page)).toEqual(['/^Tolerate/']);
        await page.getByRole('button', { name: 'Show headers and body' }).click();
        await page.getByText('Sensitive members that were removed: 1').waitFor();
        expect(await page.content()).not.toContain('geheim');
        expect(await looksOf(page, stack(), 'refused-kept')).toEqual([]);
        await page.getByRole('button', { name: 'Tolerate 7 min for a while' }).click();
        const dialog = page.getByRole('dialog');
        await dialog.getByText(/^Until it is set back to 5 min, every delivery/).waitFor();
        expect(await looksOf(page, stack(), 'refused-tolerate')).toEqual([]);
        await dialog.getByRole('button', { name: 'Raise the tolerance' }).click();
        await page.getByText(/^Now process it again/).waitFor();
        expect(await actsOn(page)).toEqual(['Process again']);
        expect(await looksOf(page, stack(), 'refused-tolerated')).toEqual([]);
        await page.getByRole('button', { name: 'Process again' }).click();
        await page.getByText('Mended', { exact: true }).waitFor();
        expect((await admin(source.admin)).json).toMatchObject({ toleranceSeconds: 420, usualToleranceSeconds: 300 });
        await page.goto(source.page);
        const note = page.getByRole('note').filter({ hasText: 'accepts timestamps up to 7 min off; usually 5 min' });
        await note.waitFor();
        expect(await looksOf(page, stack(), 'source-tolerance-raised')).toEqual([]);
        await note.getByRole('button', { name: 'Set it back to 5 min' }).click();
        await note.waitFor({ state: 'detached' });
      });
      expect((await admin(source.admin)).json).toMatchObject({
        toleranceSeconds: 300,
        usualToleranceSeconds: null,
        name: 'Skewed',
        keepRefusedHours: 1,
      });
      expect(await refusedOf(source)).toMatchObject([{ outcome: 'written' }]);
    }, 180_000);

    it('that no source tolerates is left to its sender', async () => {
      const source = await newSkewed();
      await deliverLate(source, 90_000);
      const [{ refusedId }] = (await refusedOf(source)) as [RefusedRow];
      await stack().visit('operator', `${source.page}/${refusedId}`, async (page) => {
        await page.getByText('its sender has to send it again, with a new timestamp').waitFor();
        expect(await actsOn(page)).toEqual([]);
        await page.getByText(/its timestamp is 25 h behind our clock/).waitFor();
      });
    }, 90_000);

    it('offers what can mend its reason and nothing else', async () => {
      const source = await newSource({ name: 'Two reasons', keepRefusedHours: 1 });
      expect((await deliver(source.path, SECRETS.old, { body: '{"a":' })).status).toBe(400);
      expect((await deliver(source.path, SECRETS.new)).status).toBe(401);
      const rows = await refusedOf(source, 2);
      const pageOf = (reason: string) =>
        `${source.page}/${rows.find((row) => row['reason'] === reason)?.refusedId ?? ''}`;
      await stack().visit('operator', pageOf('not-json'), async (page) => {
        await page.getByText('Tell the sender').waitFor();
        expect(await actsOn(page)).toEqual([]);
        await page.goto(pageOf('no-matching-secret'));
        expect(await actsOn(page)).toEqual(['Secrets']);
        expect(await variantOf(page, 'Secrets')).toBe('filled');
        // Another change of the source does not make its signature right.
        expect(
          (await admin(source.admin, { method: 'PATCH', body: JSON.stringify({ name: 'Two reasons, renamed' }) }))
            .status,
        ).toBe(200);
        await page.reload();
        expect(await actsOn(page)).toEqual(['Process again', 'Secrets']);
        expect(await variantOf(page, 'Secrets')).toBe('filled');
        expect(await variantOf(page, 'Process again')).toBe('default');
        await page.getByText('of none of the secrets', { exact: true }).waitFor();
        await page.getByRole('button', { name: 'Secrets' }).click();
        const dialog = page.getByRole('dialog');
        await dialog.getByLabel('Name of the new secret').fill('second');
        await dialog.getByLabel('New signing secret').fill(SECRETS.new);
        await dialog.getByRole('button', { name: 'Add the secret' }).click();
        await dialog.getByText(/^What is signed with it is accepted/).waitFor();
        await dialog.getByRole('button', { name: 'Close' }).last().click();
        await page.getByText(/^Now process it again/).waitFor();
        expect(await variantOf(page, 'Process again')).toBe('filled');
        let sent = 0;
        page.on('request', (request) => {
          if (request.url().endsWith('/process')) sent += 1;
        });
        await page.getByRole('button', { name: 'Process again' }).dblclick();
        await page.getByText('Mended', { exact: true }).waitFor();
        expect(sent).toBe(1);
      });
    }, 120_000);

    it('is counted on the start page under the name that lists have, which leads to the list of its kind', async () => {
      const source = await newSource({ name: 'Counted', allowedTypes: ['release'] });
      expect((await deliver(source.path, SECRETS.old)).status).toBe(403);
      await refusedOf(source);
      const activity = async () => JSON.stringify((await admin('/activity')).json);
      await until(async () => (await activity()).includes('type-not-allowed'), { timeoutMs: 90_000 });
      await stack().visit('operator', '/home', async (page) => {
        await page.getByRole('link', { name: 'Type not allowed' }).click();
        await page.waitForURL(/\/events\/refused\?reason=type-not-allowed&from=/);
        const table = page.getByRole('table', { name: 'Refused deliveries' });
        await table.getByText('Counted').first().waitFor();
        const rows = await table.getByRole('row').allTextContents();
        expect(rows.slice(1).filter((row) => !row.includes('Type not allowed'))).toEqual([]);
      });
    }, 150_000);
  });
}
