import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { until } from '@sealgate/testing';
import type { Locator, Page } from 'playwright-core';
import { askedBy, looksOf } from './page-looks.ts';
import type { ConsoleStack } from './start-stack.ts';
import { RECORDED } from './verify.stories.ts';

const ONE_FILE = pathToFileURL(resolve(import.meta.dirname, '../../../console/dist/web/verify.html')).href;
const REPORT = Buffer.from('The report that was approved.');

/** Proofs as their readers hand them to outsiders, and as outsiders check them. */
export function proveStories(stack: () => ConsoleStack): void {
  const risks = (path: string) => `${stack().dev.surfaces['risk-partner']!.url}/api/evidence${path}`;
  const keyOf = (role: string) => stack().dev.demo.keys[role]!;
  const post = async (role: string, path: string, body: object) =>
    (await askedBy(keyOf(role), risks(path), { method: 'POST', body: JSON.stringify(body) })).json as { id: string };

  /** Approved evidence in the ledger, whose file is REPORT. */
  async function anchored(): Promise<string> {
    const sha256 = createHash('sha256').update(REPORT).digest('hex');
    const made = { title: 'A report', kind: 'document', department: 'operations', sha256 };
    const { id } = await post('owner', '', made);
    await post('owner', `/${id}/transitions`, { to: 'in_review' });
    await post('admin', `/${id}/transitions`, { to: 'approved' });
    await until(async () => (await askedBy(keyOf('viewer'), risks(`/${id}/proof`))).status === 200, {
      what: 'the proof of evidence',
      timeoutMs: 30_000,
    });
    return id;
  }

  const opened = async (page: Page, name = 'Prove this') => {
    await page.getByRole('button', { name, exact: true }).first().click();
    const drawer = page.getByRole('dialog', { name: /^Prove this: \S/ });
    await drawer.getByText('Verified.', { exact: true }).first().waitFor();
    return drawer;
  };
  const dropped = (page: Page, name: string, text: string) =>
    page
      .locator('input[type=file]')
      .first()
      .setInputFiles([{ name, mimeType: '', buffer: Buffer.from(text) }]);
  const takeKeys = (page: Page) => page.getByRole('button', { name: 'published keys' }).click();

  /** Writes a record, and returns its channel. */
  async function written(id: string): Promise<string> {
    const { adminToken, surfaces } = stack().dev;
    const { adminUrl, url } = surfaces['ingest-gateway']!;
    const networkId = `prove-${randomUUID().slice(0, 8)}`;
    const change = (path: string, body: object) =>
      askedBy(adminToken, `${adminUrl}/admin/v1${path}`, { method: 'POST', body: JSON.stringify(body) });
    await change('/networks', { networkId, name: 'Prove', channels: ['main'] });
    const { rawKey } = (await change(`/networks/${networkId}/keys`, { label: 'Prove' })).json as { rawKey: string };
    const answer = await fetch(`${url}/${networkId}`, {
      method: 'POST',
      headers: { 'X-Api-Key': rawKey, 'content-type': 'application/json' },
      body: JSON.stringify({ id, type: 'freight', owner: 'rhone-transports', data: { total: 12 } }),
      signal: AbortSignal.timeout(20_000),
    });
    expect(answer.status).toBe(200);
    await askedBy(adminToken, `${adminUrl}/admin/v1/ledger/channels/${networkId}.main/records/${id}/proof`);
    return `${networkId}.main`;
  }

  describe('a proof', () => {
    it('of evidence is shown to a viewer, tells its file from another, and reaches an outsider by a link', async () => {
      const id = await anchored();
      let link = '';
      await stack().visit('viewer', `/risks/${stack().dev.demo.orgId}/evidence/${id}`, async (page) => {
        const drawer = await opened(page);
        const drawing = drawer.getByRole('list', { name: /^The proof/ });
        expect(await drawing.getByText('Holds', { exact: true }).count()).toBe(5);
        await drawer.getByRole('region', { name: 'What was written' }).getByText(id).first().waitFor();
        const file = (buffer: Buffer) =>
          drawer.getByLabel('Check this file').setInputFiles([{ name: 'report.pdf', mimeType: '', buffer }]);
        await file(Buffer.concat([REPORT, Buffer.from('!')]));
        await drawer.getByText('report.pdf is another file.').waitFor();
        await file(REPORT);
        await drawer.getByText('report.pdf is the file whose fingerprint was written (data/sha256).').waitFor();
        expect(await looksOf(page, stack(), 'prove-evidence')).toEqual([]);
        await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
        await drawer.getByRole('button', { name: 'Copy a link for an outsider' }).click();
        await drawer.getByText('Copied').waitFor();
        link = await page.evaluate<string>('navigator.clipboard.readText()');
        await page.getByRole('heading', { name: 'Prove this: evidence “A report”' }).waitFor();
        await page.keyboard.press('Escape');
        await drawer.waitFor({ state: 'detached' });
        expect(await page.evaluate('document.activeElement.textContent')).toBe('Prove this');
      });
      const [address = '', fragment = ''] = link.split('#');
      expect(address).toBe(`${stack().url}/verify`);
      await stack().visitAlone(undefined, `/verify#${fragment}`, async (page) => {
        const asked: string[] = [];
        page.on('request', (request) => asked.push(request.url()));
        await page.getByText('Choose the key to check against').waitFor();
        const waiting = page.getByRole('region', { name: 'Not checked yet: the proof in the link' });
        await waiting.getByRole('button', { name: 'published keys' }).waitFor();
        expect(await page.getByText('Not checked', { exact: true }).count()).toBe(0);
        expect(await looksOf(page, stack(), 'verify-link')).toEqual([]);
        // On a phone all of it is on the first screen, in this order.
        await page.setViewportSize({ width: 390, height: 844 });
        const topOf = async (what: Locator) => (await what.boundingBox())?.y ?? Number.NaN;
        const subject = await topOf(waiting.getByText(/^The file tells of a record of type/));
        const button = await topOf(waiting.getByRole('button', { name: 'published keys' }));
        const trusted = page.getByRole('heading', { name: 'What you trust' });
        expect([subject < button, button < 700, (await topOf(trusted)) > button]).toEqual([true, true, true]);
        await takeKeys(page);
        await page.getByText('Verified.', { exact: true }).waitFor();
        const verdict = await topOf(page.getByText('Verified.', { exact: true }));
        expect([verdict < 700, (await topOf(trusted)) > verdict]).toEqual([true, true]);
        const written = page.getByRole('main').locator('time').first();
        expect(await written.getAttribute('title')).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
        expect(await written.textContent()).toMatch(/^\d{1,2} \w+ \d{4}, \d\d:\d\d:\d\d$/);
        expect(await page.getByRole('region', { name: 'What was written' }).textContent()).toContain('evidence');
        // The content is not in the link.
        await page.getByText('It is not in this proof.').waitFor();
        expect(await page.getByText(id).count()).toBe(0);
        expect(asked.filter((url) => url.includes('/api/'))).toEqual([
          `${stack().url}/api/ledger-peer/.well-known/jwks.json`,
          `${stack().url}/api/ledger-peer/ledger`,
        ]);
        await page.getByText(/^Its log, .+, is not public/).waitFor();
        expect(await looksOf(page, stack(), 'verify-link-checked')).toEqual([]);
      });
      await stack().visitAlone(undefined, `${ONE_FILE}#${fragment}`, async (page) => {
        await page.getByLabel('Key of the log').fill(stack().dev.ledger.verifierKey);
        await page.getByRole('button', { name: 'Check again' }).click();
        await page.getByText('Verified.', { exact: true }).waitFor();
        expect(await page.getByRole('button', { name: 'published keys' }).count()).toBe(0);
        expect(await looksOf(page, stack(), 'verify-file-link')).toEqual([]);
      });
    }, 240_000);

    it('of evidence on Fabric says what peers signed and what they did not, and is saved', async () => {
      const id = await anchored();
      const { receipt, proof } = JSON.parse(readFileSync(RECORDED, 'utf8')).proof as { receipt: object; proof: object };
      await stack().visit('viewer', `/risks/${stack().dev.demo.orgId}/evidence/${id}`, async (page) => {
        // The demo is on the embedded ledger; the proof was recorded on a real network.
        await page.route(`**/api/evidence/${id}/proof`, (route) => route.fulfill({ json: { receipt, proof } }));
        await page.getByRole('button', { name: 'Prove this', exact: true }).click();
        const drawer = page.getByRole('dialog', { name: /^Prove this: \S/ });
        await drawer.getByText(/^It names peers of \w+MSP, \w+MSP, for the record/).waitFor();
        await drawer.getByText(/not when, not all, not that there is no fork/).waitFor();
        await drawer.getByText(/is checked with the trust file of its channel/).waitFor();
        expect(await drawer.getByText('Verified.').count()).toBe(0);
        const [saved] = await Promise.all([
          page.waitForEvent('download'),
          drawer.getByRole('link', { name: 'Save the proof' }).click(),
        ]);
        expect(JSON.parse(readFileSync(await saved.path(), 'utf8'))).toEqual({ receipt, proof });
        expect(await looksOf(page, stack(), 'prove-fabric')).toEqual([]);
      });
    }, 120_000);

    it('of a record with a changed member is shown with what was signed', async () => {
      const channel = await written('freight-1');
      let proof = '';
      await stack().visit('operator', `/ledger/${channel}`, async (page) => {
        const drawer = await opened(page, 'Prove this: freight-1');
        const [saved] = await Promise.all([
          page.waitForEvent('download'),
          drawer.getByRole('link', { name: 'Save the proof' }).click(),
        ]);
        proof = readFileSync(await saved.path(), 'utf8');
        expect(await looksOf(page, stack(), 'prove-record')).toEqual([]);
      });
      // The first is the receipt's, the second the record's.
      for (const changed of [
        proof.replace('"owner":"rhone-transports"', '"owner":"mallory"'),
        proof.replace(/"owner":"rhone-transports"(?![^]*"owner")/, '"owner":"mallory"'),
      ])
        await stack().visit(undefined, '/verify', async (page) => {
          await dropped(page, 'proof.json', changed);
          await page.getByText('Choose the key to check against').waitFor();
          await takeKeys(page);
          await page.getByText('Not verified.', { exact: true }).waitFor();
          const members = page.getByRole('list', { name: 'Changed members' });
          expect(await members.textContent()).toBe('owner signed: rhone-transports; in your file: mallory');
          expect(await looksOf(page, stack(), 'verify-changed')).toEqual([]);
        });
      const other = {
        name: 'proof.json',
        mimeType: '',
        buffer: Buffer.from(proof.replace('"total":12', '"total":13')),
      };
      const known = { name: 'content.json', mimeType: '', buffer: Buffer.from('{"total":12}') };
      for (const [files, told] of [
        [[other], /^Which member was changed/],
        [[other, known], 'signed: 12; in your file: 13'],
      ] as const)
        await stack().visit(undefined, '/verify', async (page) => {
          await page
            .locator('input[type=file]')
            .first()
            .setInputFiles([...files]);
          await page.getByText('Choose the key to check against').waitFor();
          await takeKeys(page);
          await page.getByText('The content is not what was written').first().waitFor();
          await page.getByText(told).waitFor();
        });
    }, 180_000);

    it('of a sealed case comes with its pack', async () => {
      const { adminToken, surfaces } = stack().dev;
      const { adminUrl } = surfaces['case-gate']!;
      const listed = await askedBy(adminToken, `${adminUrl}/admin/v1/cases?status=sealed&limit=1`);
      const [sealed] = (listed.json as { items: { case_id: string; environment?: string }[] }).items;
      await stack().visit('operator', `/cases/live/queue/${sealed!.case_id}`, async (page) => {
        const drawer = await opened(page);
        await drawer.getByText('The pack is verified').waitFor();
        await drawer.getByRole('region', { name: 'What was written' }).getByText(sealed!.case_id).first().waitFor();
        expect(await looksOf(page, stack(), 'prove-case')).toEqual([]);
      });
    }, 120_000);

    it('of a gate decision is its chain up to the head in the ledger, and Verify tells a changed one', async () => {
      const { adminToken, surfaces } = stack().dev;
      const { adminUrl } = surfaces['case-gate']!;
      const decisions = `${adminUrl}/admin/v1/decisions`;
      const listed = await askedBy(adminToken, `${decisions}?limit=50&sort=evaluated_at`);
      const [first] = (listed.json as { items: { decision_id: string; decision: string }[] }).items;
      const proved = async () => (await askedBy(adminToken, `${decisions}/${first!.decision_id}/proof`)).status === 200;
      await until(proved, { what: 'a head over the decision', timeoutMs: 90_000 });
      let proof = '';
      await stack().visit('operator', '/cases/live/decisions?sort=evaluated_at', async (page) => {
        const drawer = await opened(page, `Prove this: ${first!.decision_id}`);
        await drawer.getByRole('region', { name: 'What was decided' }).getByText(first!.decision_id).waitFor();
        expect(await drawer.getByRole('button', { name: 'Copy a link for an outsider' }).count()).toBe(0);
        const [saved] = await Promise.all([
          page.waitForEvent('download'),
          drawer.getByRole('link', { name: 'Save the proof' }).click(),
        ]);
        proof = readFileSync(await saved.path(), 'utf8');
        expect(await looksOf(page, stack(), 'prove-decision')).toEqual([]);
      });
      const other = first!.decision === 'allow' ? 'deny' : 'allow';
      const changed = proof.replace(`"decision":"${first!.decision}"`, `"decision":"${other}"`);
      for (const [text, verdict] of [[proof, 'Verified.'] as const, [changed, 'Not verified.'] as const])
        await stack().visit(undefined, '/verify', async (page) => {
          await dropped(page, 'decision.json', text);
          await page.getByText('Choose the key to check against').waitFor();
          await takeKeys(page);
          await page.getByText(verdict, { exact: true }).waitFor();
        });
    }, 240_000);

    it('of an event is that of its record', async () => {
      const channel = await written('freight-2');
      await stack().visit('operator', `/events?channel=${channel}`, async (page) => {
        await page.getByRole('table', { name: 'Events' }).getByRole('link').first().click();
        const drawer = await opened(page, 'Prove this: freight-2');
        await drawer.getByText('rhone-transports').first().waitFor();
      });
    }, 90_000);

    it('is refused in words where a link was cut, or the evidence has none', async () => {
      await stack().visit(undefined, '/verify#proof=AAAA', async (page) => {
        await page.getByText('The proof in this link is damaged').waitFor();
      });
      const { id } = await post('owner', '', { title: 'New', kind: 'document', sha256: 'a'.repeat(64) });
      await stack().visit('owner', `/risks/${stack().dev.demo.orgId}/evidence/${id}`, async (page) => {
        await page.getByRole('heading', { level: 1, name: 'New' }).waitFor();
        expect(await page.getByRole('button', { name: 'Prove this' }).count()).toBe(0);
      });
    }, 90_000);
  });
}
