import { describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { looksOf } from './page-looks.ts';
import type { ConsoleStack } from './start-stack.ts';

/** Networks, keys, the data view and the ledger, as an operator goes through them. */
export function ledgerStories(stack: () => ConsoleStack): void {
  const as = async (role: string, path: string, work: (page: Page) => Promise<void>): Promise<void> => {
    const page = await stack().signIn(role, path);
    try {
      await work(page);
    } finally {
      await page.context().close();
    }
  };

  /** What a second client, with the machine's token, reads of the gateway's admin listener. */
  const read = async (path: string): Promise<Buffer> => {
    const { adminUrl } = stack().dev.surfaces['ingest-gateway']!;
    const headers = { authorization: `Bearer ${stack().dev.adminToken}` };
    const answer = await fetch(`${adminUrl}/admin/v1${path}`, { headers, signal: AbortSignal.timeout(20_000) });
    expect(answer.status).toBe(200);
    return Buffer.from(await answer.arrayBuffer());
  };

  describe('the ledger in the console', () => {
    it('takes a network, a key and a record, and shows that its proof holds', async () => {
      await as('operator', '/networks', async (page) => {
        await page.getByRole('button', { name: 'New network' }).first().click();
        await page.getByRole('textbox', { name: 'Id' }).fill('story-net');
        await page.getByRole('button', { name: 'Make network' }).click();
        await page.getByRole('heading', { level: 1, name: 'story-net' }).waitFor();
        await page.getByRole('button', { name: 'Mint a key' }).first().click();
        await page.getByRole('textbox', { name: 'Label' }).fill('Story key');
        await page.getByRole('button', { name: 'Mint the key' }).click();
        const key =
          (await page
            .getByRole('dialog', { name: /^Key/ })
            .locator('code', { hasText: /^ingest_/ })
            .first()
            .textContent()) ?? '';
        const { url } = stack().dev.surfaces['ingest-gateway']!;
        expect(await page.getByRole('dialog', { name: /^Key/ }).textContent()).toContain(`curl -sS ${url}/story-net`);
        await page.getByRole('button', { name: 'I have copied it' }).click();
        const sent = await fetch(`${stack().dev.surfaces['ingest-gateway']!.url}/story-net`, {
          method: 'POST',
          headers: { 'X-Api-Key': key, 'content-type': 'application/json' },
          body: JSON.stringify({ id: 'story-1', type: 'story.order', data: { total: 12 } }),
          signal: AbortSignal.timeout(20_000),
        });
        expect(sent.status).toBeLessThan(300);
        expect(await looksOf(page, stack(), 'network')).toEqual([]);
        await page.goto('/events?networkId=story-net');
        await page.getByText('story.order').first().waitFor();
        expect(await looksOf(page, stack(), 'events')).toEqual([]);
        await read('/ledger/channels/story-net.main/records/story-1/proof');
        await page.goto('/ledger/story-net.main/story-1');
        await page.getByText('Checked in this browser').waitFor();
        expect(await page.getByText('Fails', { exact: true }).count()).toBe(0);
        expect(
          await page
            .getByRole('list', { name: /^The proof/ })
            .getByText('Holds', { exact: true })
            .count(),
        ).toBe(5);
        expect(await looksOf(page, stack(), 'record')).toEqual([]);
      });
    }, 180_000);

    it('takes a source that signs in a way of its own, sends a test delivery and shows what became of it', async () => {
      await as('operator', '/networks/demo', async (page) => {
        await page.getByRole('button', { name: 'New source' }).first().click();
        const form = page.getByRole('dialog', { name: 'New source' });
        await form.getByLabel('Name').fill('Own system');
        await form.getByRole('combobox', { name: 'Who sends' }).click();
        await page.getByRole('option', { name: 'Another HMAC' }).click();
        await form.getByLabel('Header of the signature').fill('X-Own-Signature');
        await form.getByLabel('Where the id of a delivery stands').fill('/id');
        await form.getByLabel('Signing secret').fill('forty characters of a secret, or some more');
        await form.getByRole('button', { name: 'Make source' }).click();
        await page.getByText('Own system').first().waitFor();
        expect(await looksOf(page, stack(), 'sources')).toEqual([]);
        expect(JSON.parse((await read('/networks/demo/sources')).toString())).toMatchObject({
          items: [{ name: 'Own system', scheme: 'hmac', idFrom: '/id', signature: { header: 'x-own-signature' } }],
        });
        await page.getByRole('button', { name: 'Test', exact: true }).click();
        await page.getByRole('button', { name: 'Send a test delivery' }).click();
        await page.getByText('The test delivery was written').waitFor();
        await page.getByRole('button', { name: 'Deliveries' }).click();
        await page
          .getByRole('dialog', { name: /^Deliveries/ })
          .getByText('written')
          .waitFor();
      });
    }, 120_000);

    it('shows a viewer the networks and offers no change', async () => {
      await as('viewer', '/networks', async (page) => {
        await page.getByRole('heading', { level: 1 }).waitFor();
        expect(await page.getByRole('button', { name: 'New network' }).count()).toBe(0);
        expect(await looksOf(page, stack(), 'networks-viewer')).toEqual([]);
      });
    }, 120_000);
  });
}
