import { describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { askedBy, looksOf } from './page-looks.ts';
import { rowAction } from './row-action.ts';
import type { ConsoleStack } from './start-stack.ts';

const LONG = 'W'.repeat(10_000);
const HEBREW = 'הזמנות של אקמי!';
/** Unicode override: the characters after it run from right to left, to the end of the paragraph. */
const TURNED = 'a\u202eb';

/** Cases that the demo lacks: two organisations, codes before a camera, very long words, right-to-left names. */
export function unusualStories(stack: () => ConsoleStack): void {
  const surface = (name: string) => stack().dev.surfaces[name]!;
  const admin = async (name: string, path: string, body: object, method = 'POST'): Promise<Record<string, unknown>> => {
    const url = `${surface(name).adminUrl}/admin/v1${path}`;
    const { status, json } = await askedBy(stack().dev.adminToken, url, { method, body: JSON.stringify(body) });
    expect({ path, status }).toEqual({ path, status: method === 'POST' ? 201 : 200 });
    return json as Record<string, unknown>;
  };

  describe('a person with two organisations', () => {
    it('switches between them, each with its own rows and rights, and is refused a foreign one', async () => {
      const name = `${HEBREW} ${Date.now()}`;
      const { id: orgId } = await admin('risk-partner', '/orgs', { name });
      const person = { name: 'Owner elsewhere', kind: 'human', roles: ['viewer'] };
      const { id: personId } = await admin('risk-partner', `/orgs/${String(orgId)}/people`, person);
      const owner = stack().dev.demo.people.find(({ role }) => role === 'owner')!;
      await admin('risk-partner', `/orgs/${String(orgId)}/people/${String(personId)}/identities`, {
        issuer: stack().dev.oidc.issuer,
        subject: owner.subject,
      });
      await stack().visit('owner', `/risks/${stack().dev.demo.orgId}/register`, async (page) => {
        await page.getByRole('table', { name: 'Risk register' }).waitFor();
        expect(await page.getByRole('link', { name: /New risk/ }).count()).toBe(1);
        await page.getByRole('combobox', { name: 'Organisation' }).click();
        await page.getByRole('option', { name }).click();
        await page.waitForURL(`**/risks/${String(orgId)}/register`);
        await page
          .getByText(/No risk/)
          .first()
          .waitFor();
        expect(await page.getByRole('link', { name: /New risk/ }).count()).toBe(0);
        expect(await looksOf(page, stack(), 'risks-other-organisation')).toEqual([]);
        await page.goBack();
        await page.getByRole('table', { name: 'Risk register' }).waitFor();
        await page.goto('/risks/org_of_somebody_else/register');
        await page.getByRole('heading', { level: 1, name: 'Risks' }).waitFor();
        await page.getByText('You are not in this organisation').waitFor();
        await page.getByRole('button', { name: `Open ${name}` }).click();
        await page.waitForURL(`**/risks/${String(orgId)}/register`);
      });
    }, 120_000);
  });

  describe('a code before the camera of a tablet', () => {
    /** The browser decodes `code` from a blank picture of a camera; without a code, the camera is refused. */
    const onTablet = (code: string | undefined, work: (page: Page) => Promise<void>): Promise<void> =>
      stack().visitAlone(undefined, 'about:blank', async (page) => {
        // A string, because code that runs in the browser is not compiled against Node's types.
        await page.addInitScript({
          content: `{
          const text = ${JSON.stringify(code ?? null)};
          const tracks = [];
          const getUserMedia = async () => {
            if (text === null) throw new DOMException('refused', 'NotAllowedError');
            const stream = document.createElement('canvas').captureStream(1);
            tracks.push(...stream.getTracks());
            return stream;
          };
          const BarcodeDetector = class {
            static getSupportedFormats = async () => ['qr_code'];
            detect = async () => [{ rawValue: text }];
          };
          Object.assign(globalThis, { BarcodeDetector, tracks });
          Object.defineProperty(navigator, 'mediaDevices', { value: { getUserMedia } });
          HTMLMediaElement.prototype.play = async () => undefined;
        }`,
        });
        await page.goto('/door');
        await page.getByLabel('Venue').fill(stack().dev.demo.venueId);
        await page.getByLabel('Gate key').fill(stack().dev.demo.keys['gate']!);
        await page.keyboard.press('Enter');
        await page.getByRole('button', { name: 'Scan a code' }).click();
        await work(page);
      });

    it.each([
      ['a subject', 'subj_nobody_knows', 'SUBJECT_UNKNOWN'],
      ['something else', 'https://example.com/ticket/12', 'NOT_A_SUBJECT'],
    ])(
      'is asked about where it is of %s, and the camera is released',
      async (_, code, reason) => {
        await onTablet(code, async (page) => {
          const verdict = page.locator('[data-verdict="deny"]');
          await verdict.waitFor();
          expect(await verdict.textContent()).toContain(reason);
          expect(await page.evaluate('tracks.map((track) => track.readyState)')).toEqual(['ended']);
          expect(await page.locator('video').count()).toBe(0);
        });
      },
      60_000,
    );

    it('is typed where the camera is refused', async () => {
      await onTablet(undefined, async (page) => {
        await page.getByText('This page may not use the camera.').waitFor();
        expect(await looksOf(page, stack(), 'door-no-camera')).toEqual([]);
        await page.getByLabel('Subject').fill('subj_typed');
        await page.keyboard.press('Enter');
        await page.locator('[data-verdict="deny"]').waitFor();
      });
    }, 60_000);
  });

  describe('very long words, and names from right to left', () => {
    it('are shown whole, do not make a page scroll sideways, and do not reverse the text around them', async () => {
      const long = LONG.slice(0, 200);
      const networkId = `story-words-${Date.now()}`;
      await admin('ingest-gateway', '/networks', { networkId, name: HEBREW });
      for (const label of [long, HEBREW, TURNED])
        await admin('ingest-gateway', `/networks/${networkId}/keys`, { label });
      for (const name of [long, TURNED])
        await admin('ingest-gateway', `/networks/${networkId}/sources`, {
          name,
          scheme: 'github',
          secrets: [{ id: 'k1', value: 'a secret that is long enough' }],
        });
      await stack().visit('operator', `/networks/${networkId}`, async (page) => {
        await page.getByRole('heading', { level: 1, name: HEBREW }).waitFor();
        await page.getByRole('table', { name: 'Keys' }).getByText(HEBREW).waitFor();
        expect(await looksOf(page, stack(), 'words-network')).toEqual([]);
        const row = page.getByRole('table', { name: 'Keys' }).getByRole('row').filter({ hasText: TURNED });
        await rowAction(row, 'Revoke');
        await page.getByRole('dialog').getByRole('heading').first().waitFor();
        // The closing quotation mark stays after the name.
        const [last, first] = await page.evaluate<[number, number]>(`(() => {
          const heading = document.querySelector('[role="dialog"] :is(h1, h2, h3)');
          const text = document.createTreeWalker(heading, NodeFilter.SHOW_TEXT).nextNode();
          const leftOf = (character) => {
            const range = document.createRange();
            const at = text.textContent.indexOf(character);
            range.setStart(text, at);
            range.setEnd(text, at + 1);
            return range.getBoundingClientRect().left;
          };
          return [leftOf('”'), leftOf('b')];
        })()`);
        expect(last).toBeGreaterThan(first);
        await page.getByRole('button', { name: 'Cancel' }).click();
        const wide = page.getByRole('table', { name: 'Keys' }).getByRole('row').filter({ hasText: long });
        await rowAction(wide, 'Revoke');
        expect(await looksOf(page, stack(), 'words-dialog')).toEqual([]);
      });
    }, 180_000);

    it('are accepted in a text of ten thousand letters, and refused in a title, whose input stays', async () => {
      const url = `${surface('risk-partner').url}/api/risks`;
      const key = stack().dev.demo.keys['owner']!;
      const inherent = { likelihood: 2, impact: 2 };
      const body = JSON.stringify({ title: `${TURNED} ${HEBREW}`, category: 'words', description: LONG, inherent });
      const made = await askedBy(key, url, { method: 'POST', body });
      expect(made.status).toBe(201);
      const { id } = made.json as { id: string };
      await stack().visit('owner', `/risks/${stack().dev.demo.orgId}/register/${id}`, async (page) => {
        await page.getByText(LONG).first().waitFor();
        expect(await looksOf(page, stack(), 'words-risk')).toEqual([]);
        await page.getByRole('button', { name: 'Edit' }).click();
        await page.getByLabel('Title').evaluate((input) => input.removeAttribute('maxlength'));
        await page.getByLabel('Title').fill(LONG);
        await page.getByRole('button', { name: 'Save' }).click();
        await page.getByText('INVALID_REQUEST').first().waitFor();
        expect(await page.getByLabel('Title').inputValue()).toBe(LONG);
        expect(await looksOf(page, stack(), 'words-refused')).toEqual([]);
      });
      const stored = await askedBy(key, `${url}/${id}`);
      expect(stored.json).toMatchObject({ title: `${TURNED} ${HEBREW}`, version: 1 });
    }, 180_000);

    it('are found in a record of the ledger, whose proof stays valid', async () => {
      const key = stack().dev.demo.keys['ingest']!;
      const { demo } = stack().dev;
      const id = `${HEBREW} ${Date.now()}`;
      const sent = await fetch(`${surface('ingest-gateway').url}/${demo.networkId}`, {
        method: 'POST',
        headers: { 'X-Api-Key': key, 'content-type': 'application/json' },
        body: JSON.stringify({ id, type: 'demo.words', data: { [TURNED]: LONG, [HEBREW]: HEBREW } }),
        signal: AbortSignal.timeout(20_000),
      });
      expect(sent.status).toBe(200);
      const { records } = (await sent.json()) as { records: { channel: string }[] };
      const path = `/ledger/${records[0]!.channel}/${encodeURIComponent(id)}`;
      await stack().visit('operator', path, async (page) => {
        await page.getByText('Checked in this browser').waitFor({ timeout: 60_000 });
        expect(await page.getByText('Fails', { exact: true }).count()).toBe(0);
        expect(await looksOf(page, stack(), 'words-record')).toEqual([]);
      });
    }, 120_000);
  });
}
