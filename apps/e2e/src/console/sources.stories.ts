import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import type { Locator, Page } from 'playwright-core';
import { looksOf } from './page-looks.ts';
import { rowAction } from './row-action.ts';
import type { ConsoleStack } from './start-stack.ts';
import { SECRETS, sourcesOf, type RefusedRow } from './story-sources.ts';

/** Sources of webhooks from creation to deletion, with deliveries signed by GitHub's library. */
export function sourcesStories(stack: () => ConsoleStack): void {
  const networkId = `story-hooks-${Date.now()}`;
  const { gateway, admin, deliver, newSource, refusedOf } = sourcesOf(stack, networkId);
  const [oldSecret, newSecret] = [SECRETS.old, SECRETS.new];

  const within = (role: string, work: (page: Page) => Promise<void>): Promise<void> =>
    stack().visit(role, `/networks/${networkId}`, work);

  describe('a source of webhooks in the console', () => {
    it('is created, tested, given another secret without losing a delivery, inspected and deleted', async () => {
      await admin('/networks', { method: 'POST', body: JSON.stringify({ networkId }) });
      await within('operator', async (page) => {
        const dialog = page.getByRole('dialog');
        const table = page.getByRole('table', { name: 'Sources of webhooks' });
        const open = (action: string) => rowAction(table, action);
        await page.getByRole('button', { name: 'New source' }).first().click();
        await dialog.getByLabel('Name').fill('GitHub of acme');
        await dialog.getByLabel('Signing secret').fill('short');
        await dialog.getByRole('button', { name: 'Create source' }).click();
        const secret = dialog.locator(':focus').and(dialog.getByLabel('Signing secret'));
        await secret.waitFor();
        await secret.fill(oldSecret);
        expect(await looksOf(page, stack(), 'source-new')).toEqual([]);
        await dialog.getByRole('button', { name: 'Create source' }).click();
        await dialog.waitFor({ state: 'detached' });
        const address = await table.getByRole('link', { name: 'Deliveries of “GitHub of acme”' }).getAttribute('href');
        const path = `/hooks/${/src_[\w-]{22}/.exec(address ?? '')?.[0] ?? ''}`;
        expect((await table.locator('code').first().textContent()) ?? '').toContain(gateway().url);
        expect((await deliver(path, oldSecret)).status).toBe(200);

        await open('Test');
        await dialog.getByRole('button', { name: 'Send a test delivery' }).click();
        await page.getByText('The test delivery was written').waitFor();
        await dialog.waitFor({ state: 'detached' });

        await open('Secrets');
        expect(await dialog.getByRole('button', { name: 'End the secret first' }).isDisabled()).toBe(true);
        await dialog.getByLabel('Name of the new secret').fill('second');
        await dialog.getByLabel('New signing secret').fill(newSecret);
        await dialog.getByRole('button', { name: 'Add the secret' }).click();
        await dialog.getByText(/^What is signed with it is accepted .* Next: set it at the sender/).waitFor();
        expect(await looksOf(page, stack(), 'source-secret-added')).toEqual([]);
        for (const secret of [oldSecret, newSecret]) expect((await deliver(path, secret)).status).toBe(200);
        await dialog.getByRole('button', { name: 'Close' }).last().click();
        await dialog.waitFor({ state: 'detached' });
        await open('Secrets');
        await dialog.getByText('second', { exact: true }).waitFor();
        expect(await looksOf(page, stack(), 'source-secrets')).toEqual([]);
        await dialog.getByRole('button', { name: 'End the secret first' }).click();
        const confirm = dialog.getByRole('button', { name: 'End the secret', exact: true });
        expect(await confirm.isDisabled()).toBe(true);
        await dialog.getByLabel('The sender signs with another secret').check();
        await confirm.click();
        await confirm.waitFor({ state: 'detached' });
        await dialog.getByText('The secret “first” was ended').waitFor();
        await dialog.getByRole('button', { name: 'Close' }).last().click();
        await dialog.waitFor({ state: 'detached' });
        expect([(await deliver(path, oldSecret)).status, (await deliver(path, newSecret)).status]).toEqual([401, 200]);
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
        await table.getByRole('link', { name: 'Deliveries of “GitHub of acme”' }).click();
        await page
          .getByRole('table', { name: 'Refused deliveries' })
          .getByText('Signature of another secret')
          .waitFor();
        await page.getByText('All outcomes').click();
        const listed = page.getByRole('table', { name: 'Deliveries', exact: true });
        await listed.getByText('refused').first().waitFor();
        const rows = await listed.getByRole('row').allTextContents();
        expect(rows.filter((text) => text.includes('Written'))).toHaveLength(5);
        expect(await looksOf(page, stack(), 'source-outcomes')).toEqual([]);
        const events = listed.getByRole('link', { name: 'Event' });
        const newest = await events.first().getAttribute('href');
        await listed.getByRole('button', { name: 'When' }).click();
        await page.waitForURL(/[?&]sort=at(&|$)/);
        await until(async () => (await events.last().getAttribute('href')) === newest);

        await page.getByRole('button', { name: 'More actions' }).click();
        await page.getByRole('menuitem', { name: 'Pause' }).click();
        await dialog.getByRole('button', { name: 'Pause the source' }).click();
        await page.getByText('Paused').first().waitFor();
        expect((await deliver(path, newSecret)).status).toBe(404);
        await page.getByRole('button', { name: 'More actions' }).click();
        await page.getByRole('menuitem', { name: 'Resume' }).click();
        await dialog.getByRole('button', { name: 'Resume the source' }).click();
        await page.getByText('Enabled').first().waitFor();
        expect((await deliver(path, newSecret)).status).toBe(200);

        await page.goto(`/networks/${networkId}`);
        await open('Delete');
        const remove = page.getByRole('dialog').filter({ hasText: 'Delete the source' });
        const action = remove.getByRole('button', { name: 'Delete the source' });
        expect(await action.isDisabled()).toBe(true);
        await remove.getByLabel('Type GitHub of acme to confirm').fill('GitHub of acme');
        await action.click();
        await page.getByText('No source yet').waitFor();
        expect((await deliver(path, newSecret)).status).toBe(404);
      });
    }, 240_000);

    it('that refuses a delivery tells why, is edited, and takes it again: in seven clicks from the first page', async () => {
      const source = await newSource({ name: 'Releases only', allowedTypes: ['release'], keepRefusedHours: 24 });
      const deliveryId = randomUUID();
      const body = JSON.stringify({ ref: 'refs/heads/main', password: 'geheim' });
      const again = () => deliver(source.path, oldSecret, { deliveryId, body });
      expect([(await again()).status, (await again()).status]).toEqual([403, 403]);
      await refusedOf(source, 2);
      let clicks = 0;
      await stack().visit('operator', '/home', async (page) => {
        const click = async (what: Locator) => {
          clicks += 1;
          await what.click();
        };
        await click(
          page.getByRole('navigation', { name: 'Parts of the console' }).getByRole('link', { name: 'Data view' }),
        );
        await click(page.getByRole('link', { name: 'Refused deliveries' }));
        const row = page.getByRole('row').filter({ hasText: 'Releases only' }).first();
        await row.waitFor();
        expect(await looksOf(page, stack(), 'refused-all')).toEqual([]);
        await click(row.getByRole('link', { name: 'Type not allowed' }));
        await page.getByRole('heading', { level: 1, name: 'Type not allowed' }).waitFor();
        await page.getByText('Its type is not among those that this source may deliver.').waitFor();
        await page.getByText(deliveryId).waitFor();
        expect(await looksOf(page, stack(), 'refused-one')).toEqual([]);
        await click(page.getByRole('button', { name: 'Edit the source' }));
        const dialog = page.getByRole('dialog');
        await click(dialog.getByLabel('It may deliver every type'));
        expect(await looksOf(page, stack(), 'source-edit')).toEqual([]);
        await click(dialog.getByRole('button', { name: 'Save' }));
        await dialog.waitFor({ state: 'detached' });
        await click(page.getByRole('button', { name: 'Process again' }));
        await page.getByText('The delivery was written').waitFor();
        await page.getByText('Mended', { exact: true }).waitFor();
        await page.getByText(/^It was processed again .*: its record was written\. There is nothing left/).waitFor();
        expect(await page.getByText(/^(?:Allow the type at|Edit) th/).count()).toBe(0);
        expect(await looksOf(page, stack(), 'refused-mended')).toEqual([]);
        expect(clicks).toBe(7);
        await page.getByRole('link', { name: 'Its event (committed)' }).click();
        await page.getByRole('table', { name: 'Records' }).getByRole('link').first().waitFor();
        await page.goto(source.page);
        await page
          .getByRole('img', { name: /^Deliveries of the last 24 hours: Accepted 1/ })
          .waitFor({ timeout: 70_000 });
        await page.getByText('Same failures').click();
        const groups = page.getByRole('table', { name: 'The same failures' });
        await groups.getByText('Type not allowed').waitFor();
        expect(await groups.getByRole('cell').nth(1).textContent()).toBe('2');
        expect(await looksOf(page, stack(), 'source-same')).toEqual([]);
        await page.getByText('14 days').click();
        await page.getByRole('img', { name: /^Deliveries of the last 14 days/ }).waitFor();
        await page.reload();
        await page.getByRole('table', { name: 'The same failures' }).waitFor();
        await page.goto(`${source.page}?reason=type-not-allowed&deliveryId=${deliveryId}`);
        await page.getByText('2 in total').waitFor();
        expect(await looksOf(page, stack(), 'source-refused')).toEqual([]);
      });
      const [second, first] = await refusedOf(source, 2);
      const mended = [first, second].find((one) => one!['outcome'] === 'written')!;
      const event = await admin(`/events/${String(mended['eventId'])}`);
      expect(event.json).toMatchObject({ status: 'committed', types: ['push'] });
      const [record] = (event.json as { records: { id: string; channel: string }[] }).records;
      const written = await admin(`/ledger/channels/${record!.channel}/records/${record!.id}`);
      expect(written.json).toMatchObject({ data: { ref: 'refs/heads/main' } });
      expect(JSON.stringify(written.json)).not.toContain('geheim');
      const repeated = await again();
      expect([repeated.status, repeated.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
    }, 240_000);

    it('has its refused deliveries in the live tail of the data view', async () => {
      const source = await newSource({ name: 'Watched' });
      await stack().visit('operator', `/events?live=1&networkId=${networkId}`, async (page) => {
        await page.getByText('Watching').waitFor();
        expect((await deliver(source.path, newSecret)).status).toBe(401);
        const row = page.getByRole('row').filter({ hasText: 'Signature of another secret' });
        await row.getByText('of Watched').waitFor({ timeout: 30_000 });
        expect(await looksOf(page, stack(), 'events-live-refused')).toEqual([]);
        await row.getByRole('link').click();
        await page.getByRole('heading', { level: 1, name: 'Signature of another secret' }).waitFor();
      });
    }, 90_000);

    it('leads from a delivery, found by the id of its sender, to its record, its event, and back', async () => {
      const source = await newSource({ name: 'Both ways', secrets: [{ id: 'k1', value: newSecret }] });
      const deliveryId = randomUUID();
      expect((await deliver(source.path, newSecret, { deliveryId })).status).toBe(200);
      await stack().visit('operator', `${source.page}?deliveryId=${deliveryId}`, async (page) => {
        await page.getByRole('link', { name: 'Look for it among accepted ones' }).click();
        await page.waitForURL(`**show=all&deliveryId=${deliveryId}`);
        const row = page.getByRole('table', { name: 'Deliveries', exact: true }).getByRole('row').nth(1);
        await row.getByText('written').waitFor();
        expect(await looksOf(page, stack(), 'delivery-by-id')).toEqual([]);
        await row.getByRole('link').first().click();
        await page.getByRole('link', { name: 'Its event' }).click();
        await page.waitForURL('**/events?recordId=*');
        await page.getByRole('table', { name: 'Events' }).getByRole('link').first().click();
        await page.getByRole('link', { name: 'Its delivery' }).click();
        await page.waitForURL(`**${source.page}?show=all&from=*`);
        await row.getByText('written').waitFor();
      });
    }, 90_000);

    it('offers a viewer its deliveries and no change', async () => {
      const source = await newSource({ name: 'Looked at', keepRefusedHours: 1 });
      await deliver(source.path, newSecret);
      const [{ refusedId }] = (await refusedOf(source)) as [RefusedRow];
      await within('viewer', async (page) => {
        const table = page.getByRole('table', { name: 'Sources of webhooks' });
        await table.getByText('Looked at').waitFor();
        for (const change of ['New source', /^Actions of/])
          expect(await page.getByRole('button', { name: change }).count()).toBe(0);
        await table.getByRole('link', { name: 'Deliveries of “Looked at”' }).click();
        await page.getByRole('table', { name: 'Refused deliveries' }).getByRole('link').first().click();
        await page.getByText('Compare the secret at both ends').waitFor();
        for (const change of ['Edit the source', 'Secrets', 'Process again', 'Show headers and body'])
          expect(await page.getByRole('button', { name: change }).count()).toBe(0);
        for (const path of [`/refused/${refusedId}/kept`, `/refused/export?format=csv`]) {
          const address = `/admin/ingest-gateway/admin/v1${source.admin}${path}`;
          expect((await page.request.get(address)).status()).toBe(403);
        }
      });
    }, 90_000);
  });
}
