import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import type { Page } from 'playwright-core';
import { askedBy, looksOf } from './page-looks.ts';
import type { ConsoleStack } from './start-stack.ts';

const KEY = 'w1.example+11c8f4c8+BEtCePP28bkSi/ZxLF65+cydHDRh+AhwUc5Okowfb9iu';
const POLICY = `witness north ${KEY} https://witness.example/north\nquorum north\n`;

/** The part Operations: audit trails of all services, secrets, archive, losses, witnesses. */
export function operationsStories(stack: () => ConsoleStack): void {
  const admin = async (surface: string, path: string, init: RequestInit = {}) => {
    const { adminUrl } = stack().dev.surfaces[surface]!;
    return (await askedBy(stack().dev.adminToken, `${adminUrl}/admin/v1${path}`, init)).json as Record<string, unknown>;
  };
  /** Answers a read of the admin listeners in place of them: a stack of `npm start` loses nothing and has no witness. */
  const told = (page: Page, path: string, body: object) =>
    page.route(new RegExp(`/admin/v1/ledger/${path}(\\?|$)`), (route) => route.fulfill({ json: body }));
  const FIELDS = ['Export', 'Older export', 'Key set'] as const;
  const choose = (page: Page, field: (typeof FIELDS)[number], [name, text]: readonly [string, string]) =>
    page
      .getByRole('form', { name: 'Check a file' })
      .locator('input[type=file]')
      .nth(FIELDS.indexOf(field))
      .setInputFiles({ name, mimeType: '', buffer: Buffer.from(text) });

  describe('operations', () => {
    it.each(['risk-partner', 'case-gate', 'ledger-peer', 'ingest-gateway'])(
      'shows the audit of %s as a second client reads it',
      async (surface) => {
        const { items } = await admin(surface, '/audit?limit=50');
        await stack().visit('operator', `/operations/audit?by=${surface}`, async (page) => {
          const shown = (items as { action: string }[]).length;
          if (shown === 0) return page.getByText('Nothing happened yet').waitFor();
          await page.getByRole('table', { name: 'Audit' }).waitFor();
          expect(await page.getByRole('table', { name: 'Audit' }).locator('tbody tr').count()).toBe(shown);
        });
      },
      60_000,
    );

    it('opens the audit where something happened last, and keeps the choice of a service in the address', async () => {
      await admin('risk-partner', '/orgs', { method: 'POST', body: JSON.stringify({ name: 'The newest' }) });
      await stack().visit('operator', '/operations', async (page) => {
        await page.waitForURL('**/operations/audit?by=risk-partner');
        await page.getByRole('table', { name: 'Audit' }).getByText('Create organisation').first().waitFor();
        await page.getByRole('combobox', { name: 'Service' }).click();
        await page.getByRole('option', { name: 'Ingest gateway' }).click();
        await page.waitForURL('**/operations/audit?by=ingest-gateway');
        // The tabs follow the address in a render of its own.
        await page.locator('a[href*="by=ingest-gateway"]', { hasText: 'Archive' }).click();
        await page.waitForURL('**/operations/archive?by=ingest-gateway');
        await page.goto('/operations/audit?action=network.create');
        await page.waitForURL('**/operations/audit?action=network.create&by=ingest-gateway');
        // By words, and by a code that is typed.
        expect(await page.getByRole('combobox', { name: 'Action' }).inputValue()).toBe('Create network');
        await page.getByRole('combobox', { name: 'Action' }).fill('revoke k');
        await page.getByRole('option', { name: 'Revoke key' }).click();
        await page.waitForURL(/action=key\.revoke/);
        // The address is ahead of the box, which would write over what is typed meanwhile.
        await until(async () => (await page.getByRole('combobox', { name: 'Action' }).inputValue()) === 'Revoke key');
        await page.getByRole('combobox', { name: 'Action' }).fill('thing.paint');
        await page.getByRole('option').filter({ hasText: 'thing.paint' }).click();
        await page.waitForURL(/action=thing\.paint/);
        await page.getByText('Nothing matches these filters').waitFor();
      });
    }, 90_000);

    it('filters the audit, saves its signed export, and finds what was changed or removed in one', async () => {
      const id = `story-audit-${Date.now()}`;
      const body = JSON.stringify({ networkId: id, name: 'A story', channels: ['main'] });
      await admin('ingest-gateway', '/networks', { method: 'POST', body });
      await stack().visit('operator', '/operations/audit?by=ingest-gateway', async (page) => {
        await page.getByLabel('Which (id)').fill(id);
        await page.keyboard.press('Enter');
        await page.waitForURL(/resourceId=story-audit/);
        const rows = page.getByRole('table', { name: 'Audit' }).locator('tbody tr');
        await until(async () => (await rows.count()) === 1);
        expect(await rows.textContent()).toContain('Create network');
        expect(await looksOf(page, stack(), 'operations-audit')).toEqual([]);
        // The network of the demo was created a minute ago: an export leaves out younger events.
        const isSettled = async (): Promise<boolean> => {
          await page.waitForTimeout(1_000);
          return JSON.stringify(await admin('ingest-gateway', '/audit/export')).includes('network.create');
        };
        await until(isSettled, { timeoutMs: 90_000, what: 'an exported event' });
        const [saved] = await Promise.all([
          page.waitForEvent('download'),
          page.getByRole('button', { name: 'Save the signed export' }).click(),
        ]);
        expect(saved.suggestedFilename()).toMatch(/^ingest-gateway-audit-until-\d{4}-\d\d-\d\d\.ndjson$/);
        await page.getByText('Verified.', { exact: true }).waitFor();
        const text = readFileSync(await saved.path(), 'utf8');
        expect(text).toContain('"action":"network.create"');
        await page.reload();
        await page.getByRole('button', { name: 'Check a file' }).click();
        await choose(page, 'Export', ['whole.ndjson', text]);
        await page.getByRole('button', { name: 'Check', exact: true }).click();
        await page.getByText('Verified.', { exact: true }).waitFor();
        expect(await looksOf(page, stack(), 'operations-audit-check')).toEqual([]);
        await choose(page, 'Older export', ['older.ndjson', text]);
        await page.getByRole('button', { name: 'Check', exact: true }).click();
        await page.getByText(/events of the earlier export are unchanged/).waitFor();
        await choose(page, 'Export', ['changed.ndjson', text.replace('network.create', 'network.delete')]);
        await page.getByRole('button', { name: 'Check', exact: true }).click();
        await page.getByText('Not verified.', { exact: true }).waitFor();
        await page.getByText('The page was changed after it was hashed.').waitFor();
        await choose(page, 'Key set', ['keys.json', 'x']);
        await page.getByRole('button', { name: 'Check', exact: true }).click();
        await page.getByText('keys.json is no key set.').waitFor();
      });
    }, 150_000);

    it('cancels an export, and says what a refusal of it was', async () => {
      await stack().visit('operator', '/operations/audit?by=ingest-gateway', async (page) => {
        let release = (): void => undefined;
        const held = new Promise<void>((done) => (release = done));
        await page.route(/\/audit\/export/, async (route) => {
          await held;
          await route.abort().catch(() => undefined);
        });
        await page.getByRole('button', { name: 'Save the signed export' }).click();
        await page.getByRole('button', { name: 'Cancel the export' }).click();
        await page.getByText('The export was cancelled. No file was saved.').waitFor();
        release();
        await page.unrouteAll({ behavior: 'ignoreErrors' });
        const problem = { title: 'The service is overloaded', status: 503, code: 'OVERLOADED', detail: 'Try again.' };
        await page.route(/\/audit\/export/, (route) =>
          route.fulfill({ status: 503, contentType: 'application/problem+json', body: JSON.stringify(problem) }),
        );
        await page.getByRole('button', { name: 'Save the signed export' }).click();
        await page.getByRole('alert').getByText('OVERLOADED').first().waitFor();
      });
    }, 90_000);

    it('shows the state of the secrets of every service', async () => {
      await stack().visit('operator', '/operations/secrets', async (page) => {
        for (const title of ['Risk partner', 'Case gate', 'Ledger peer', 'Ingest gateway']) {
          await page
            .getByRole('table', { name: `Server secrets of ${title}` })
            .getByText('In use')
            .waitFor();
        }
        expect(await page.content()).not.toContain(stack().dev.adminToken);
        expect(await looksOf(page, stack(), 'operations-secrets')).toEqual([]);
      });
    }, 90_000);

    it('archives records after the channel was typed, and tells how far a channel is archived', async () => {
      const { channel } = stack().dev.demo;
      await stack().visit('operator', '/operations/archive?by=ledger-peer', async (page) => {
        await page.getByRole('button', { name: `Archive records of ${channel}` }).click();
        const dialog = page.getByRole('dialog');
        await dialog.getByText('By index').click();
        await dialog.getByLabel('First index to keep').fill('1');
        const archive = dialog.getByRole('button', { name: 'Archive' });
        expect(await archive.isDisabled()).toBe(true);
        await dialog.getByLabel(`Type ${channel} to confirm`).fill(channel);
        expect(await looksOf(page, stack(), 'operations-archive')).toEqual([]);
        await archive.click();
        // Fewer than a tile of records: nothing is moved, and the service says why where it may not be.
        await dialog
          .getByText(/Nothing was moved|owned by|archive/i)
          .last()
          .waitFor();
        await dialog
          .getByRole('button', { name: /Close|Cancel/ })
          .last()
          .click();
        await told(page, 'channels', {
          items: [{ channel, size: 9_000, signed: 9_000, signedUntil: null, unsignedSince: null, archived: 512 }],
          nextCursor: null,
        });
        const moved = [4_096, 8_192].map((archived) => ({ channel, size: 9_000, archived, until: 8_192 }));
        await page.route(/\/archive$/, (route) => route.fulfill({ json: moved.shift() ?? {} }));
        await page.goto('/operations/archive?by=ledger-peer');
        await page.getByText('0 to 511').waitFor();
        await page.getByRole('button', { name: `Archive records of ${channel}` }).click();
        await dialog.getByLabel('Days').fill('400');
        await dialog.getByLabel(`Type ${channel} to confirm`).fill(channel);
        await archive.click();
        await dialog.getByText('Records 0 to 8,191 are in the archive.').waitFor();
        expect(moved).toEqual([]);
      });
    }, 120_000);

    it('shows losses: what is missing, and what was declared', async () => {
      await stack().visit('operator', '/operations/losses', async (page) => {
        await page.getByText('No channel has lost records').waitFor();
        const at = '2030-01-02T03:04:05.678Z';
        const lost = [{ epoch: 0, lostFrom: 2, lostUntil: 4, checkpoint: 'note', surviving: null }];
        const none = { problem: null, lost: [], foundAt: null, sharedAt: null, declaration: null };
        const declaration = { lost, reason: 'Disk of db-1 lost.', actor: 'admin:01234567', at };
        await told(page, 'losses', {
          items: [
            { ...none, channel: 'acme.lost', status: 'lost', problem: 'It is behind.', lost, foundAt: at, epoch: 0 },
            { ...none, channel: 'acme.told', status: 'whole', epoch: 1, declaration },
          ],
          nextCursor: null,
        });
        await page.reload();
        await page.getByText('Accepts no records').waitFor();
        await page.getByText('npx sealgate ledger recover acme.lost').waitFor();
        await page.getByText('Declared, goes on in epoch 1').waitFor();
        await page.getByText('Disk of db-1 lost.').waitFor();
        expect(await page.getByText('Entries 2 to 3 of the first log').count()).toBe(2);
        expect(await looksOf(page, stack(), 'operations-losses')).toEqual([]);
      });
    }, 90_000);

    it('shows the policies of witnesses, and verifies which of them cosigned', async () => {
      await stack().visit('operator', '/operations/witnesses', async (page) => {
        await page.getByText('No witnesses here').waitFor();
        await told(page, 'witnesses', {
          policies: [
            { channel: null, policy: POLICY },
            { channel: stack().dev.demo.channel, policy: 'quorum none' },
          ],
        });
        await page.reload();
        await page
          .getByRole('table', { name: 'Witnesses of all channels' })
          .getByText('north', { exact: true })
          .waitFor();
        const channels = page.getByRole('table', { name: 'Cosigned checkpoints' });
        await channels.getByText('No quorum').first().waitFor();
        await channels
          .getByText(/north: has not cosigned/)
          .first()
          .waitFor();
        const own = channels.locator('tr', { hasText: stack().dev.demo.channel });
        await own.getByText('Quorum', { exact: true }).waitFor();
        expect(await looksOf(page, stack(), 'operations-witnesses')).toEqual([]);
      });
    }, 90_000);

    it('offers a viewer no change, and is for nobody without an admin listener', async () => {
      await stack().visit('viewer', '/operations/archive', async (page) => {
        await page.getByRole('table', { name: 'Channels' }).waitFor();
        expect(await page.getByRole('button', { name: /^Archive/ }).count()).toBe(0);
      });
      await stack().visit('owner', '/home', async (page) => {
        await page.getByRole('heading', { level: 1 }).waitFor();
        expect(await page.getByRole('link', { name: 'Operations' }).count()).toBe(0);
        await page.goto('/operations/audit');
        await page.getByText('No service shows you its audit').waitFor();
      });
    }, 90_000);
  });
}
