import { createHash, randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import type { Page } from 'playwright-core';
import { looksOf } from './page-looks.ts';
import type { ConsoleStack } from './start-stack.ts';

interface Saved {
  readonly receipt: { readonly id: string; readonly index: number; readonly salt: string };
  readonly proof: { readonly leafHash: string };
}

/** The page of a public log, as strangers use it. */
export function logStories(stack: () => ConsoleStack): void {
  describe('the public page of a log', () => {
    const id = `secret-${randomUUID()}`;
    let channel: string;
    let saved: Saved;
    const path = (query = '') => `/log/${channel}${query}`;
    const entryOf = (page: Page) => page.getByRole('region', { name: 'Entry' });

    beforeAll(async () => {
      const { surfaces, demo } = stack().dev;
      ({ channel } = demo);
      const { url } = surfaces['ledger-peer']!;
      const headers = { 'x-api-key': demo.keys['peer']!, 'content-type': 'application/json' };
      const body = JSON.stringify({ assets: [{ id, type: 'asset', data: { carrier: 'rhone-transports' } }] });
      const signal = AbortSignal.timeout(20_000);
      expect((await fetch(`${url}/api/assets`, { method: 'POST', headers, body, signal })).status).toBe(200);
      saved = (await (await fetch(`${url}/api/assets/${id}?proof=true`, { headers, signal })).json()) as Saved;
      const covered = async () =>
        (await fetch(`${stack().url}/api/ledger-peer/ledger/${channel}/entry?id=${id}`, { signal })).status === 200;
      await until(covered, { what: 'a checkpoint over the record', timeoutMs: 20_000 });
    }, 60_000);

    it('is found from Verify, and finds a record by its whole id alone, without a session', async () => {
      await stack().visitAlone(undefined, '/verify', async (page) => {
        const answers: string[] = [];
        page.on('response', (answer) => {
          if (answer.url().includes('/api/')) void answer.text().then((text) => answers.push(text));
        });
        await page.getByRole('link', { name: 'look a record up in a public log' }).click();
        await page
          .getByRole('table', { name: 'Public logs' })
          .getByRole('link', { name: channel, exact: true })
          .waitFor();
        expect(await page.getByRole('table').getByRole('link').count()).toBe(1);
        expect(await looksOf(page, stack(), 'log-list')).toEqual([]);
        await page.getByRole('link', { name: channel, exact: true }).click();
        await page.getByRole('heading', { level: 1, name: channel }).waitFor();
        await page.getByLabel('Record id').last().fill(id);
        await page.keyboard.press('Enter');
        await entryOf(page).getByText('Verified.', { exact: true }).waitFor();
        expect(await entryOf(page).getByText(saved.receipt.index.toLocaleString('en'), { exact: true }).count()).toBe(
          1,
        );
        expect(page.url()).toContain(`id=${id}`);
        // Neither content, salt, type nor owner reaches a stranger.
        for (const text of answers) expect(text).not.toMatch(/rhone-transports|salt|"owner"|"type"|"data"/);
        expect(answers.length).toBeGreaterThan(1);
        await page.getByRole('table', { name: 'Growth' }).waitFor({ state: 'attached' });
        await page.getByText('Witnesses').first().waitFor();
        expect(await looksOf(page, stack(), 'log')).toEqual([]);
      });
    }, 120_000);

    it('finds it by index and by leaf hash, and no part of an id', async () => {
      for (const query of [`?index=${saved.receipt.index}`, `?leafHash=${saved.proof.leafHash}`])
        await stack().visit(undefined, path(query), async (page) => {
          await entryOf(page).getByText('Verified.', { exact: true }).waitFor({ timeout: 10_000 });
          await entryOf(page).getByRole('button', { name: 'Copy the leaf hash' }).waitFor();
        });
      const other = createHash('sha256').update('other').digest('hex');
      for (const query of [`?id=${id.slice(0, 20)}`, '?index=99999999', `?leafHash=${other}`])
        await stack().visit(undefined, path(query), async (page) => {
          await entryOf(page).getByText('The log has no such entry').waitFor();
          if (query.startsWith('?id')) expect(await looksOf(page, stack(), 'log-nothing')).toEqual([]);
        });
      await stack().visit(undefined, path(), async (page) => {
        await page.getByRole('textbox', { name: 'Record id' }).waitFor();
        await page.getByRole('button', { name: 'Find', exact: true }).click();
        await page.getByText('Type what you look for.').waitFor();
      });
    }, 120_000);

    it('finds the log of a leaf hash among all that are public', async () => {
      await stack().visit(undefined, '/log', async (page) => {
        const search = async (hash: string) => {
          await page.getByLabel('Leaf hash').fill(hash);
          await page.keyboard.press('Enter');
        };
        await search('ab');
        await page.getByText('A leaf hash has 64 hexadecimal digits.').waitFor();
        await search(createHash('sha256').update('other').digest('hex'));
        await page.getByText('No public log has an entry with this hash.').waitFor();
        await search(saved.proof.leafHash.toUpperCase());
        await entryOf(page).getByText('Verified.', { exact: true }).waitFor();
        expect(new URL(page.url()).pathname).toBe(path());
      });
    }, 90_000);

    it('lists to an operator what else may be read', async () => {
      await stack().visit('operator', '/log', async (page) => {
        const own = page.getByRole('region', { name: 'Logs that you may read' });
        await own.getByRole('link', { name: 'demo.cases', exact: true }).click();
        await page.getByRole('heading', { level: 1, name: 'demo.cases' }).waitFor();
        expect(new URL(page.url()).pathname).toBe('/ledger/demo.cases');
      });
    }, 90_000);

    it('shows what was written from the own file of a visitor, and what somebody changed in it', async () => {
      await stack().visit(undefined, path(), async (page) => {
        const open = (text: string) =>
          page
            .locator('input[type=file]')
            .setInputFiles([{ name: 'proof.json', mimeType: 'application/json', buffer: Buffer.from(text) }]);
        await open(JSON.stringify(saved));
        await entryOf(page).getByText('Verified.', { exact: true }).waitFor();
        await entryOf(page).getByRole('region', { name: 'What was written' }).getByText('rhone-transports').waitFor();
        expect(await looksOf(page, stack(), 'log-own-file')).toEqual([]);
        await open(JSON.stringify({ ...saved, receipt: { ...saved.receipt, id: 'another' } }));
        await entryOf(page).getByText('Not verified.', { exact: true }).waitFor();
        await open('{"receipt": 1}');
        await page.getByRole('alert').waitFor();
      });
    }, 120_000);

    it('does not exist for a log that nobody named as public', async () => {
      await stack().visit(undefined, '/log/demo.cases', async (page) => {
        await page.getByText('demo.cases is not a public log').waitFor();
        expect(await page.getByRole('link', { name: 'Ledger explorer' }).count()).toBe(0);
        await page.getByRole('link', { name: 'All public logs' }).click();
        await page.getByRole('table', { name: 'Public logs' }).waitFor();
      });
      const asked = `${stack().url}/api/ledger-peer/ledger`;
      for (const rest of [
        '/demo.cases/entry?index=0',
        `/${channel}/tile/entries/000`,
        `/${channel}/records/${id}/proof`,
      ])
        expect((await fetch(`${asked}${rest}`, { signal: AbortSignal.timeout(20_000) })).status).toBe(401);
      await stack().visit('operator', `/ledger/${channel}`, async (page) => {
        await page.getByRole('link', { name: 'Public page' }).click();
        await page.getByRole('region', { name: 'Growth' }).waitFor();
      });
    }, 90_000);
  });
}
