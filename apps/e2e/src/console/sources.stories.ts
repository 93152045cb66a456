import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { sign } from '@octokit/webhooks-methods';
import { until } from '@sealgate/testing';
import type { Page } from 'playwright-core';
import { askedBy, looksOf } from './page-looks.ts';
import type { ConsoleStack } from './start-stack.ts';

/** Sources of webhooks from creation to deletion, with deliveries signed by GitHub's library. */
export function sourcesStories(stack: () => ConsoleStack): void {
  const networkId = `story-hooks-${Date.now()}`;
  const gateway = () => stack().dev.surfaces['ingest-gateway']!;
  const admin = (path: string, init: RequestInit = {}) =>
    askedBy(stack().dev.adminToken, `${gateway().adminUrl}/admin/v1${path}`, init);
  const [oldSecret, newSecret] = ['the-secret-of-before-at-github', 'the-secret-from-now-on-at-github'];

  async function deliver(path: string, secret: string): Promise<number> {
    const body = JSON.stringify({ ref: 'refs/heads/main' });
    const headers = {
      'content-type': 'application/json',
      'x-github-event': 'push',
      'x-github-delivery': randomUUID(),
      'x-hub-signature-256': await sign(secret, body),
    };
    const signal = AbortSignal.timeout(20_000);
    return (await fetch(`${gateway().url}${path}`, { method: 'POST', headers, body, signal })).status;
  }

  const within = (role: string, work: (page: Page) => Promise<void>): Promise<void> =>
    stack().visit(role, `/networks/${networkId}`, work);

  describe('a source of webhooks in the console', () => {
    it('is created, tested, given another secret without losing a delivery, inspected and deleted', async () => {
      await admin('/networks', { method: 'POST', body: JSON.stringify({ networkId }) });
      await within('operator', async (page) => {
        const dialog = page.getByRole('dialog');
        const table = page.getByRole('table', { name: 'Sources of webhooks' });
        const open = (action: string) => table.getByRole('button', { name: action, exact: true }).click();
        await page.getByRole('button', { name: 'New source' }).first().click();
        await dialog.getByLabel('Name').fill('GitHub of acme');
        await dialog.getByLabel('Signing secret').fill(oldSecret);
        expect(await looksOf(page, stack(), 'source-new')).toEqual([]);
        await dialog.getByRole('button', { name: 'Create source' }).click();
        await dialog.waitFor({ state: 'detached' });
        const address = (await table.locator('code').first().textContent()) ?? '';
        const path = /\/hooks\/src_[\w-]{22}/.exec(address)?.[0] ?? '';
        expect(address).toContain(`${gateway().url}${path}`);
        expect(await deliver(path, oldSecret)).toBe(200);

        await open('Test');
        await dialog.getByRole('button', { name: 'Send a test delivery' }).click();
        await page.getByText('The test delivery was written').waitFor();
        await dialog.waitFor({ state: 'detached' });

        await open('Secrets');
        expect(await dialog.getByRole('button', { name: 'End it' }).isDisabled()).toBe(true);
        await dialog.getByLabel('Name of the new secret').fill('second');
        await dialog.getByLabel('New signing secret').fill(newSecret);
        await dialog.getByRole('button', { name: 'Add the secret' }).click();
        await dialog.waitFor({ state: 'detached' });
        for (const secret of [oldSecret, newSecret]) expect(await deliver(path, secret)).toBe(200);
        await open('Secrets');
        await dialog.getByText('second', { exact: true }).waitFor();
        expect(await looksOf(page, stack(), 'source-secrets')).toEqual([]);
        await dialog.getByRole('button', { name: 'End it' }).first().click();
        await dialog.waitFor({ state: 'detached' });
        expect([await deliver(path, oldSecret), await deliver(path, newSecret)]).toEqual([401, 200]);
        const [, sourceId = ''] = path.split('/hooks/');
        expect((await admin(`/networks/${networkId}/sources/${sourceId}`)).json).toMatchObject({
          secrets: [{ id: 'second' }],
        });
        expect(await page.content()).not.toContain(oldSecret);

        // Refusals are counted and written some seconds later.
        for (const list of ['deliveries', 'refused']) {
          const rows = async () =>
            JSON.stringify((await admin(`/networks/${networkId}/sources/${sourceId}/${list}`)).json);
          await until(async () => (await rows()).includes('UNAUTHENTICATED'), { timeoutMs: 60_000 });
        }
        await open('Deliveries');
        const listed = dialog.getByRole('table', { name: 'Deliveries', exact: true });
        for (const list of [listed, dialog.getByRole('table', { name: 'Refused deliveries' })])
          await list.getByText('UNAUTHENTICATED').first().waitFor();
        const rows = await listed.getByRole('row').allTextContents();
        expect(rows.filter((text) => text.includes('written'))).toHaveLength(5);
        expect(await looksOf(page, stack(), 'source-deliveries')).toEqual([]);
        await dialog.getByRole('button', { name: 'Close' }).click();
        await dialog.waitFor({ state: 'detached' });

        await open('Delete');
        const remove = page.getByRole('dialog').filter({ hasText: 'Delete the source' });
        const action = remove.getByRole('button', { name: 'Delete the source' });
        expect(await action.isDisabled()).toBe(true);
        await remove.getByLabel('Type GitHub of acme to confirm').fill('GitHub of acme');
        await action.click();
        await page.getByText('No source yet').waitFor();
        expect(await deliver(path, newSecret)).toBe(404);
      });
    }, 240_000);

    it('offers a viewer its deliveries and no change', async () => {
      const secrets = [{ id: 'k1', value: oldSecret }];
      const body = JSON.stringify({ name: 'Looked at', scheme: 'github', secrets });
      expect((await admin(`/networks/${networkId}/sources`, { method: 'POST', body })).status).toBe(201);
      await within('viewer', async (page) => {
        const table = page.getByRole('table', { name: 'Sources of webhooks' });
        await table.getByText('Looked at').waitFor();
        expect(await table.getByRole('button').allTextContents()).not.toContain('Secrets');
        for (const change of ['New source', 'Test', 'Secrets', 'Delete'])
          expect(await page.getByRole('button', { name: change, exact: true }).count()).toBe(0);
        await table.getByRole('button', { name: 'Deliveries' }).first().click();
        await page.getByRole('dialog').getByRole('heading').first().waitFor();
      });
    }, 90_000);
  });
}
