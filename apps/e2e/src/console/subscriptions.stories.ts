import { describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { askedBy, looksOf } from './page-looks.ts';
import type { ConsoleStack } from './start-stack.ts';

/** Operations, Subscriptions: who is sent the events of the ledger peer. */
export function subscriptionsStories(stack: () => ConsoleStack): void {
  const listed = async () => {
    const { adminUrl } = stack().dev.surfaces['ledger-peer']!;
    const answer = await askedBy(stack().dev.adminToken, `${adminUrl}/admin/v1/subscriptions`, {});
    return (answer.json as { items: { url: string; state: string; secrets: { id: string }[] }[] }).items;
  };

  describe('subscriptions', () => {
    it('are made with a secret that is shown once, paused, given another secret, and deleted', async () => {
      const url = `https://hooks-${Date.now()}.invalid/in`;
      const one = async () => (await listed()).find((row) => row.url === url);
      await stack().visit('operator', '/operations/subscriptions', async (page) => {
        const dialog = page.getByRole('dialog');
        const act = async (title: string) => {
          await page.getByRole('button', { name: `Actions of ${url}` }).click();
          await page.getByRole('menuitem', { name: title }).click();
        };
        await page.getByRole('button', { name: 'New subscription' }).first().click();
        await dialog.getByLabel('Address of the receiver').fill('https://127.0.0.1/');
        await dialog.getByRole('textbox', { name: 'Channel' }).fill('nowhere.main');
        await dialog.getByRole('button', { name: 'Make it' }).click();
        await dialog.getByRole('alert').first().waitFor();
        await dialog.getByLabel('Address of the receiver').fill(url);
        await dialog.getByRole('button', { name: 'Make it' }).click();
        await dialog.getByText('The mapping file of the ledger peer names the channels').waitFor();
        await dialog.getByRole('textbox', { name: 'Channel' }).fill('demo.main');
        await dialog.getByRole('button', { name: 'Make it' }).click();
        await dialog.getByText(/^whsec_/).waitFor();
        await dialog.getByRole('button', { name: 'I have copied it' }).click();
        await page.getByRole('button', { name: `Actions of ${url}` }).waitFor();
        expect(await page.getByText(/whsec_/).count()).toBe(0);
        expect(await looksOf(page, stack(), 'operations-subscriptions')).toEqual([]);

        await act('Pause');
        await dialog.getByRole('button', { name: 'Pause it' }).click();
        await until(async () => (await one())?.state === 'paused');

        await act('Secrets');
        await dialog.getByLabel('Name of the new secret').fill('next');
        await dialog.getByRole('button', { name: 'Add a secret' }).click();
        await dialog.getByText(/^whsec_/).waitFor();
        await page.keyboard.press('Escape');
        const asked = page.waitForEvent('dialog');
        const reloading = page.evaluate('location.reload()');
        const question = await asked;
        expect(question.type()).toBe('beforeunload');
        await question.dismiss();
        await reloading;
        await dialog.getByRole('button', { name: 'I have copied it' }).click();
        const [old] = (await one())!.secrets;
        await dialog.getByLabel('The receiver verifies with the secret that stays').check();
        await dialog.getByRole('button', { name: `End the secret ${old!.id}` }).click();
        await until(async () => (await one())?.secrets.map(({ id }) => id).join() === 'next');
        await dialog.getByRole('button', { name: 'Close' }).last().click();
        await dialog.waitFor({ state: 'detached' });
        expect(await page.evaluate('document.activeElement.ariaLabel')).toBe(`Actions of ${url}`);

        await act('Delete');
        await dialog.getByRole('button', { name: 'Delete the subscription' }).click();
        await until(async () => (await one()) === undefined);
      });
    }, 90_000);

    it('are not offered to those who only read', async () => {
      await stack().visit('viewer', '/operations/audit', async (page) => {
        await page.getByRole('link', { name: 'Witnesses' }).waitFor();
        expect(await page.getByRole('link', { name: 'Subscriptions' }).count()).toBe(0);
      });
    }, 60_000);
  });
}
