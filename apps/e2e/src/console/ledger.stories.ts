import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import { askedBy, looksOf } from './page-looks.ts';
import { rowAction } from './row-action.ts';
import type { ConsoleStack } from './start-stack.ts';

/** A witness of C2SP's examples, which has cosigned nothing here. */
const WITNESS = 'w1.example+11c8f4c8+BEtCePP28bkSi/ZxLF65+cydHDRh+AhwUc5Okowfb9iu';

/** Networks, keys, the data view and the ledger, as an operator uses them. */
export function ledgerStories(stack: () => ConsoleStack): void {
  /** Reads the gateway's admin listener as a second client, with the machine's token. */
  const read = async (path: string): Promise<Buffer> => {
    const { adminUrl } = stack().dev.surfaces['ingest-gateway']!;
    const headers = { authorization: `Bearer ${stack().dev.adminToken}` };
    const answer = await fetch(`${adminUrl}/admin/v1${path}`, { headers, signal: AbortSignal.timeout(20_000) });
    expect(answer.status).toBe(200);
    return Buffer.from(await answer.arrayBuffer());
  };

  const change = async (path: string, body: object): Promise<Record<string, unknown>> => {
    const { adminUrl } = stack().dev.surfaces['ingest-gateway']!;
    const { adminToken } = stack().dev;
    const { status, json } = await askedBy(adminToken, `${adminUrl}/admin/v1${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
    });
    expect(status).toBe(201);
    return json as Record<string, unknown>;
  };

  /** A network for one story. */
  const network = async (): Promise<string> => {
    const networkId = `story-${randomUUID().slice(0, 8)}`;
    await change('/networks', { networkId, name: 'A story', channels: ['main'] });
    return networkId;
  };

  const mint = async (networkId: string, label: string): Promise<string> =>
    String((await change(`/networks/${networkId}/keys`, { label }))['rawKey']);

  const send = (networkId: string, key: string, body: object): Promise<Response> =>
    fetch(`${stack().dev.surfaces['ingest-gateway']!.url}/${networkId}`, {
      method: 'POST',
      headers: { 'X-Api-Key': key, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(20_000),
    });
  const write = (networkId: string, key: string, id: string): Promise<Response> =>
    send(networkId, key, { id, type: 'story.order', data: { total: 12 } });

  describe('the ledger in the console', () => {
    it('creates a network, a key and a record, and shows that its proof is valid', async () => {
      await stack().visit('operator', '/networks', async (page) => {
        await page.getByRole('button', { name: 'New network' }).first().click();
        await page.getByRole('textbox', { name: 'Id' }).fill('story-net');
        await page.getByRole('button', { name: 'Create network' }).click();
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
        expect((await write('story-net', key, 'story-1')).status).toBeLessThan(300);
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
        const [saved] = await Promise.all([
          page.waitForEvent('download'),
          page.getByRole('link', { name: 'Save as tlog-proof' }).click(),
        ]);
        expect(saved.suggestedFilename()).toBe('story-1.tlog-proof');
        const file = readFileSync(await saved.path());
        expect(file.subarray(0, 23).toString()).toBe('c2sp.org/tlog-proof@v1\n');
        await page.goto('/verify');
        await page.getByText('Policy (tlog-policy)').waitFor({ state: 'attached' });
        const policy = Buffer.from(`log ${stack().dev.ledger.verifierKey}\nquorum none\n`);
        const drop = (...files: [string, Buffer][]) =>
          page
            .locator('input[type=file]')
            .setInputFiles(files.map(([name, buffer]) => ({ name, mimeType: '', buffer })));
        const verdict = page.locator('[data-kind="proof"] [role=status]');
        await page.getByRole('button', { name: 'published keys' }).click();
        await until(async () => (await page.locator('textarea').first().inputValue()) !== '');
        await drop(['story-1.tlog-proof', file], ['trusted.policy', policy]);
        expect(await verdict.textContent()).toContain('Record story-1 of type story.order is in');
        await page.getByText('Every checkpoint now needs the cosignatures').waitFor();
        const strict = Buffer.from(`witness w ${WITNESS}\nquorum w\n`);
        await drop(['story-1.tlog-proof', file], ['strict.policy', strict]);
        await verdict.getByText('Not verified.').waitFor();
      });
    }, 180_000);

    it('creates a source with its own signature form, sends a test delivery and shows its outcome', async () => {
      await stack().visit('operator', '/networks/demo', async (page) => {
        await page.getByRole('button', { name: 'New source' }).first().click();
        const form = page.getByRole('dialog', { name: 'New source' });
        await form.getByLabel('Name').fill('Own system');
        await form.getByRole('combobox', { name: 'Sender' }).click();
        await page.getByRole('option', { name: 'Another signature' }).click();
        await form.getByLabel('Signature header').fill('X-Own-Signature');
        await form.getByLabel('Location of the delivery id').fill('/id');
        await form.getByLabel('Signing secret').fill('forty characters of a secret, or some more');
        await form.getByRole('button', { name: 'Create source' }).click();
        await page.getByText('Own system').first().waitFor();
        expect(await looksOf(page, stack(), 'sources')).toEqual([]);
        expect(JSON.parse((await read('/networks/demo/sources')).toString())).toMatchObject({
          items: [
            { name: 'Own system', scheme: 'hmac', deliveryIdFrom: '/id', signature: { header: 'x-own-signature' } },
            { name: 'Balticline tracking', scheme: 'standard-webhooks' },
          ],
        });
        const sources = page.getByRole('table', { name: 'Sources of webhooks' });
        await rowAction(sources.getByRole('row').filter({ hasText: 'Own system' }), 'Test');
        await page.getByRole('button', { name: 'Send a test delivery' }).click();
        await page.getByText('The test delivery was written').waitFor();
        await sources.getByRole('link', { name: 'Deliveries of “Own system”' }).click();
        await page.getByText('All outcomes').click();
        await page.getByRole('table', { name: 'Deliveries', exact: true }).getByText('written').waitFor();
      });
    }, 120_000);

    it('rotates a key while both are valid, and revokes the old one', async () => {
      const networkId = await network();
      const old = await mint(networkId, 'Old');
      await stack().visit('operator', `/networks/${networkId}`, async (page) => {
        const row = page.getByRole('row').filter({ hasText: 'Old' }).first();
        await rowAction(row, 'Rotate');
        await page.getByRole('dialog').getByLabel('Label').fill('New');
        await page.getByRole('button', { name: 'Rotate the key' }).click();
        const shown = page.getByRole('dialog', { name: /^Key/ }).locator('code', { hasText: /^ingest_/ });
        const fresh = (await shown.first().textContent()) ?? '';
        await page.getByRole('button', { name: 'I have copied it' }).click();
        expect(await page.getByText(fresh).count()).toBe(0);
        expect([(await write(networkId, old, 'r-1')).status, (await write(networkId, fresh, 'r-2')).status]).toEqual([
          200, 200,
        ]);
        await rowAction(row, 'Revoke');
        await page.getByRole('dialog').getByRole('button', { name: 'Revoke the key' }).click();
        await page.getByRole('dialog').waitFor({ state: 'detached' });
        await row.getByText('Revoked').waitFor();
        expect([(await write(networkId, old, 'r-3')).status, (await write(networkId, fresh, 'r-4')).status]).toEqual([
          401, 200,
        ]);
      });
    }, 90_000);

    it('ends a key that leaked at once, with another in its place', async () => {
      const networkId = await network();
      const old = await mint(networkId, 'Leaked');
      await stack().visit('operator', `/networks/${networkId}`, async (page) => {
        const row = page.getByRole('row').filter({ hasText: 'Leaked' }).first();
        await rowAction(row, 'It leaked');
        await page.getByRole('button', { name: 'End it and mint another' }).click();
        const shown = page.getByRole('dialog', { name: /^Key/ }).locator('code', { hasText: /^ingest_/ });
        const fresh = (await shown.first().textContent()) ?? '';
        expect([(await write(networkId, old, 'l-1')).status, (await write(networkId, fresh, 'l-2')).status]).toEqual([
          401, 200,
        ]);
      });
    }, 60_000);

    it('takes over the expiry and the permissions of a key that is rotated', async () => {
      const networkId = await network();
      const path = `/networks/${networkId}/keys`;
      const expiresAt = new Date(Math.ceil(Date.now() / 60_000) * 60_000 + 86_400_000).toISOString();
      const { adminToken, surfaces } = stack().dev;
      const url = `${surfaces['ingest-gateway']!.adminUrl}/admin/v1${path}`;
      const body = JSON.stringify({ label: 'Contractor', expiresAt });
      expect((await askedBy(adminToken, url, { method: 'POST', body })).status).toBe(201);
      await stack().visit('operator', `/networks/${networkId}`, async (page) => {
        await rowAction(page.getByRole('row').filter({ hasText: 'Contractor' }).first(), 'Rotate');
        await page.getByRole('button', { name: 'Rotate the key' }).click();
        await page.getByRole('button', { name: 'I have copied it' }).waitFor();
        expect(await looksOf(page, stack(), 'key-shown')).toEqual([]);
        await page.getByRole('button', { name: 'I have copied it' }).click();
      });
      const { items } = (await askedBy(adminToken, url)).json as {
        items: { expiresAt: string; permissions: string[] | null }[];
      };
      const taken = { expiresAt, permissions: null };
      expect(items).toEqual([expect.objectContaining(taken), expect.objectContaining(taken)]);
    }, 60_000);

    it('shows events as they are written, and all of one with 100 records', async () => {
      const networkId = await network();
      const key = await mint(networkId, 'Tail');
      await stack().visit('operator', `/events?networkId=${networkId}&live=1`, async (page) => {
        await page.getByText('Watching').waitFor();
        const assets = Array.from({ length: 100 }, (_, n) => ({ id: `many-${n}`, type: 'story.many', data: { n } }));
        expect((await send(networkId, key, { assets })).status).toBe(200);
        const table = page.getByRole('table', { name: 'Events as they are written' });
        await table.getByText('and 97 more').waitFor();
        expect(await looksOf(page, stack(), 'events-live')).toEqual([]);
        await table.getByRole('link').first().click();
        await page.getByRole('table', { name: 'Records' }).getByText('many-99', { exact: true }).waitFor();
        expect(await page.getByRole('table', { name: 'Records' }).getByRole('link').count()).toBe(100);
        expect(await looksOf(page, stack(), 'event')).toEqual([]);
      });
    }, 120_000);

    it('audits a channel, and erases a record whose proof stays valid', async () => {
      const networkId = await network();
      const key = await mint(networkId, 'Erase');
      expect((await write(networkId, key, 'gone-1')).status).toBe(200);
      const path = `/ledger/channels/${networkId}.main`;
      await read(`${path}/records/gone-1/proof`);
      await stack().visit('operator', `/ledger/${networkId}.main`, async (page) => {
        await page.getByRole('button', { name: 'Audit the channel' }).click();
        await page.getByText('The one record is as it was signed.').waitFor();
        expect(new URL(page.url()).searchParams.get('audit')).toBeTruthy();
        expect(await looksOf(page, stack(), 'channel')).toEqual([]);
        await page.goto(`/ledger/${networkId}.main/gone-1`);
        await page.getByRole('button', { name: 'Erase its content' }).click();
        const erase = page.getByRole('button', { name: 'Erase permanently' });
        await page.getByLabel('Reason').fill('Asked for by its owner');
        await page.getByLabel('Type gone-1 to confirm').fill('gone-2');
        expect(await erase.isDisabled()).toBe(true);
        await page.getByLabel('Type gone-1 to confirm').fill('gone-1');
        await erase.click();
        await page.getByText('Salt and content are permanently deleted.').waitFor();
        await page
          .getByRole('list', { name: /^The proof/ })
          .getByText('erased')
          .waitFor();
        expect(await page.getByText('Fails', { exact: true }).count()).toBe(0);
        const record = JSON.parse(String(await read(`${path}/records/gone-1`))) as { erased: boolean };
        expect(record).toMatchObject({ erased: true });
        expect(JSON.parse(String(await read(`${path}/records/gone-1/proof`)))).toMatchObject({
          receipt: { salt: null, extra: null },
        });
        expect(await looksOf(page, stack(), 'record-erased')).toEqual([]);
      });
    }, 120_000);

    it('shows in red which part of a proof is invalid', async () => {
      const channel = stack().dev.demo.channel;
      const { items } = JSON.parse(String(await read(`/ledger/channels/${channel}/records?limit=1`))) as {
        items: { id: string }[];
      };
      await stack().visit('operator', '/home', async (page) => {
        await page.route('**/records/*/proof', async (route) => {
          const answer = await route.fetch();
          const changed = (await answer.text()).replace(/"leafHash":"./, (start) =>
            start.endsWith('0') ? start.replace(/0$/, '1') : start.replace(/.$/, '0'),
          );
          await route.fulfill({ response: answer, body: changed });
        });
        await page.goto(`/ledger/${channel}/${encodeURIComponent(items[0]!.id)}`);
        const drawing = page.getByRole('list', { name: /^The proof/ });
        await drawing.getByText('Fails', { exact: true }).first().waitFor();
        expect(await page.getByText('Not verified.').locator('..').textContent()).toContain('Failed: leaf, inclusion.');
        expect(await looksOf(page, stack(), 'record-forged')).toEqual([]);
      });
    }, 90_000);

    it('shows a viewer the networks and offers no change', async () => {
      await stack().visit('viewer', '/networks', async (page) => {
        await page.getByRole('heading', { level: 1 }).waitFor();
        expect(await page.getByRole('button', { name: 'New network' }).count()).toBe(0);
        expect(await looksOf(page, stack(), 'networks-viewer')).toEqual([]);
      });
    }, 120_000);
  });
}
