import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findProgram, foldersOf } from '@sealgate/local-services';
import { launch, type Browser, type Page } from 'puppeteer-core';
import type { ConsoleStack } from './start-stack.ts';

const firefox = ['firefox-esr', 'firefox']
  .map((name) => findProgram(name, foldersOf(process.env['PATH'])))
  .find(Boolean);

/** What outsiders and stewards use, in Firefox by WebDriver BiDi; skipped visibly where there is none. */
export function firefoxStories(stack: () => ConsoleStack): void {
  if (firefox === undefined) {
    process.stderr.write('SKIPPED: the stories in Firefox need firefox-esr or firefox on the PATH.\n');
    it.skip('in Firefox: there is none on the PATH', () => undefined);
    return;
  }
  describe('in Firefox', () => {
    let browser: Browser;
    let folder: string;
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'sealgate-firefox-'));
      browser = await launch({ browser: 'firefox', executablePath: firefox, headless: true });
    }, 60_000);
    afterAll(async () => {
      await browser.close();
      rmSync(folder, { recursive: true, force: true });
    });

    /** The proof of the newest record of the demo that a checkpoint covers, as a file. */
    async function proofFile(): Promise<string> {
      const { adminToken, surfaces, demo } = stack().dev;
      const ask = async (path: string): Promise<string> => {
        const url = `${surfaces['ingest-gateway']!.adminUrl}/admin/v1/ledger/channels/${demo.channel}${path}`;
        const answer = await fetch(url, { headers: { Authorization: `Bearer ${adminToken}` } });
        expect([path, answer.status]).toEqual([path, 200]);
        return answer.text();
      };
      const { items } = JSON.parse(await ask('/records?limit=1')) as { items: { id: string }[] };
      const file = join(folder, 'proof.json');
      writeFileSync(file, await ask(`/records/${encodeURIComponent(items[0]!.id)}/proof`));
      return file;
    }

    /** Opens a path in a new window; what the page throws fails the story. */
    async function visit(path: string, work: (page: Page) => Promise<void>): Promise<void> {
      const page = await browser.newPage();
      const thrown: unknown[] = [];
      page.on('pageerror', (error) => thrown.push(error));
      page.setDefaultTimeout(20_000);
      await page.goto(`${stack().url}${path}`);
      await work(page);
      await page.close();
      expect(thrown).toEqual([]);
    }

    it('Verify checks a proof with the published keys', async () => {
      const file = await proofFile();
      await visit('/verify', async (page) => {
        const field = await page.waitForSelector('input[type=file]');
        await field!.uploadFile(file);
        await page.locator('::-p-text(published keys)').click();
        await page.locator('::-p-text(Verified.)').wait();
      });
    }, 60_000);

    it('the door says no, with the reason, and waits for the next person', async () => {
      await visit('/door', async (page) => {
        await page.locator('input[name=venue]').fill(stack().dev.demo.venueId);
        await page.locator('input[name=gate-key]').fill(stack().dev.demo.keys['gate']!);
        await page.keyboard.press('Enter');
        const waits = 'document.activeElement.placeholder?.startsWith("subj_") === true';
        await page.waitForFunction(waits);
        await page.keyboard.type('subj_nobody_knows');
        await page.keyboard.press('Enter');
        await page.waitForSelector('[data-verdict="deny"]');
        await page.locator('::-p-text(SUBJECT_UNKNOWN)').wait();
        await page.locator('::-p-text(Next person)').click();
        await page.waitForFunction(waits);
      });
    }, 60_000);
  });
}
