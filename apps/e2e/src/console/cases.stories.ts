import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { askedBy, looksOf } from './page-looks.ts';
import { rowAction } from './row-action.ts';
import type { ConsoleStack } from './start-stack.ts';

/** The part Cases: from opening a case to its seal, and the actions on a subject. */
export function casesStories(stack: () => ConsoleStack): void {
  const gate = () => stack().dev.surfaces['case-gate']!;
  const admin = (path: string, method: string, body: object) =>
    askedBy(stack().dev.adminToken, `${gate().adminUrl}/admin/v1${path}`, { method, body: JSON.stringify(body) });
  const check = async (subject: string) => {
    const body = JSON.stringify({ subject_ref: subject, venue_id: stack().dev.demo.venueId });
    const key = stack().dev.demo.keys['gate']!;
    const { json } = await askedBy(key, `${gate().url}/v1/gate/check`, { method: 'POST', body });
    return json as { decision: string; reason_codes: string[] };
  };
  const rules = {
    rules: [{ when: { '>=': [{ var: 'attachment_count' }, 1] }, decision: 'approve', reason_codes: ['COMPLETE'] }],
    default: { decision: 'refer', reason_codes: ['INCOMPLETE'] },
  };

  /** A sealed case, by the key of the demo; returns its id. */
  const sealedCase = async (reference: string): Promise<string> => {
    const post = async (path: string, body: object, key?: string) => {
      const headers = { ...(key !== undefined && { 'idempotency-key': key }) };
      const init = { method: 'POST', headers, body: JSON.stringify(body) };
      const { status, json } = await askedBy(stack().dev.demo.keys['gate']!, `${gate().url}/v1/cases${path}`, init);
      expect([path, status]).toEqual([path, 201]);
      return json as { readonly case_id: string };
    };
    const order = { subject_ref: `subj_pack_${Date.now()}`, external_ref: reference };
    const { case_id: id } = await post('', order, reference);
    const attached = { kind: 'vault_ref', ref: 'vault/1', sha256: 'a'.repeat(64), size_bytes: 1 };
    const attachments = [{ ...attached, media_type: 'application/pdf', label: 'a file of the story' }];
    await post(`/${id}/attachments`, { attachments });
    const outcome = { decision: 'approve', reason_codes: ['A_CODE_OF_MANY_WORDS'] };
    await post(`/${id}/decide`, { policy_version: 'demo-1', ...outcome });
    await post(`/${id}/seal`, {}, `${id}:demo-1`);
    return id;
  };

  describe('cases', () => {
    it('begin with those that wait for a decision, the oldest first', async () => {
      await stack().visit('operator', '/cases/live/queue', async (window) => {
        const statuses = async () => {
          const table = window.getByRole('table', { name: 'Cases', exact: true });
          await table.getByRole('row').nth(1).waitFor();
          return new Set(await table.locator('td[data-title="Status"]').allTextContents());
        };
        expect(await statuses()).toEqual(new Set(['Received', 'In review']));
        const listed = await askedBy(
          stack().dev.adminToken,
          `${gate().adminUrl}/admin/v1/cases?open=true&sort=created_at&limit=1`,
        );
        const [oldest] = (listed.json as { items: { external_ref: string }[] }).items;
        const first = window.getByRole('table', { name: 'Cases', exact: true }).getByRole('row').nth(1);
        await first.getByText(oldest!.external_ref).waitFor();
        await window.getByRole('combobox', { name: 'Status' }).click();
        await window.getByRole('option', { name: 'Sealed' }).click();
        await window.getByRole('table', { name: 'Cases', exact: true }).getByText('Sealed').first().waitFor();
        expect(await statuses()).toEqual(new Set(['Sealed']));
        expect(new URL(window.url()).search).toBe('?status=sealed');
      });
    }, 60_000);

    it('are opened, given evidence, decided by the rules, and sealed; the gate then allows', async () => {
      const subject = `subj_story_${Date.now()}`;
      await admin('/policies', 'POST', { policy_version: 'story-1', status: 'active', rules });
      await admin('/policies', 'POST', { policy_version: 'story-2', rules: { ...rules, rules: [] } });
      await stack().visit('operator', '/cases/live/queue/new', async (window) => {
        await window.getByLabel('Subject').fill(subject);
        await window.getByRole('combobox', { name: 'Venues' }).fill(stack().dev.demo.venueId);
        await window.keyboard.press('Enter');
        await window.getByRole('button', { name: 'Open the case' }).click();
        await window.getByRole('button', { name: 'Attach' }).click();
        const dialog = window.getByRole('dialog');
        await dialog.getByLabel('Reference').fill('vault/story');
        await dialog.getByLabel('SHA-256').fill('a'.repeat(64));
        await dialog.getByLabel('Media type').fill('application/pdf');
        await dialog.getByRole('button', { name: 'Attach' }).click();
        await dialog.waitFor({ state: 'detached' });
        await window.getByRole('combobox', { name: 'Policy version' }).click();
        await window.getByRole('option', { name: 'story-1' }).click();
        await window.getByRole('table', { name: 'Result of each rule' }).getByText('Holds', { exact: true }).waitFor();
        expect(await looksOf(window, stack(), 'cases-case')).toEqual([]);
        await window.getByRole('button', { name: 'Decide by the rules' }).click();
        const decided = window.getByRole('table', { name: 'Decisions' }).getByRole('row').last();
        await decided.getByText('Operator (demo)').waitFor();
        await decided.getByRole('button', { name: 'Copy the id of Operator (demo)' }).waitFor();
        await window.getByRole('region', { name: 'Timeline' }).getByText('by Operator (demo)').first().waitFor();
        expect((await check(subject)).decision).toBe('deny');
        await window.getByRole('button', { name: 'Seal' }).click();
        await window.getByRole('dialog').getByRole('button', { name: 'Seal' }).click();
        await window.getByRole('dialog').waitFor({ state: 'detached' });
        expect(await check(subject)).toMatchObject({ decision: 'allow', reason_codes: ['ELIGIBLE'] });
        await window.setViewportSize({ width: 820, height: 900 });
        const seal = await window.locator('table[aria-label="Decisions"] td').last().boundingBox();
        expect(seal!.x + seal!.width).toBeLessThanOrEqual(820);
        await window.setViewportSize({ width: 1440, height: 900 });
        await window.goto('/cases/live/policies/story-2');
        await window.getByRole('button', { name: 'Try' }).click();
        await window.getByText(/of \d+ would change/).waitFor();
        await window.getByRole('table', { name: 'Tried cases' }).getByText(subject).waitFor();
        await window.goto(`/cases/live/subjects/${subject}`);
        await window.getByRole('button', { name: 'Revoke' }).click();
        await window.getByLabel('Reason').fill('Told by a story');
        await window.getByLabel(`Type ${subject} to confirm`).fill(subject);
        await window.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
        await window.getByRole('dialog').waitFor({ state: 'detached' });
        expect(await check(subject)).toMatchObject({ decision: 'deny', reason_codes: ['ELIGIBILITY_REVOKED'] });
      });
    }, 120_000);

    it('have a policy that is written by fields or as JSON, both in step, and nothing typed is lost', async () => {
      const version = `form-${Date.now()}`;
      await stack().visit('operator', '/cases/live/policies', async (window) => {
        await window.getByRole('button', { name: 'New draft' }).click();
        const dialog = window.getByRole('dialog');
        await dialog.getByLabel('Version').fill(version);
        await window.setViewportSize({ width: 390, height: 800 });
        expect(await dialog.boundingBox()).toMatchObject({ x: 0, width: 390, height: 800 });
        await window.setViewportSize({ width: 1440, height: 900 });
        expect(await dialog.getByLabel('Rules as JSON').count()).toBe(0);
        await dialog.getByText('The same as JSON').click();
        await dialog.getByLabel('Rules as JSON').fill('');
        await dialog.getByRole('button', { name: 'Add rules' }).click();
        await dialog.getByRole('button', { name: 'Add a rule' }).click();
        await dialog.getByRole('button', { name: 'Add a condition' }).click();
        await dialog.getByLabel('Fact').last().selectOption('metadata');
        await dialog.getByLabel('Name in metadata').fill('country');
        await dialog.getByLabel('Test').last().selectOption('in');
        await dialog.getByLabel('Values').last().fill('DE,FR,');
        await dialog.getByLabel('If').selectOption('or');
        await dialog.getByLabel('Outcome of rule 1').selectOption('approve');
        await dialog.getByLabel('Reason codes of rule 1').fill('KNOWN_COUNTRY');
        expect(await looksOf(window, stack(), 'cases-policy-new')).toEqual([]);
        await dialog.getByRole('button', { name: 'Create draft' }).click();
        await window.getByRole('heading', { level: 1, name: version }).waitFor();
        const saved = async () => {
          const { json } = await askedBy(stack().dev.adminToken, `${gate().adminUrl}/admin/v1/policies/${version}`);
          return (json as { rules: object }).rules;
        };
        const count = { '>=': [{ var: 'attachment_count' }, 1] };
        const country = { in: [{ var: 'metadata.country' }, ['DE', 'FR']] };
        const approve = { decision: 'approve', reason_codes: ['KNOWN_COUNTRY'] };
        const otherwise = { decision: 'refer', reason_codes: [] };
        expect(await saved()).toEqual({ rules: [{ when: { or: [count, country] }, ...approve }], default: otherwise });

        await window.getByText('The same as JSON').click();
        const text = window.getByLabel('Rules as JSON');
        const broken = (await text.inputValue()).replace('"approve",', '"approve" x');
        await text.fill(broken);
        await window
          .getByRole('region', { name: 'Rules as a form' })
          .getByText(/line \d+, column \d+/)
          .waitFor();
        expect(await window.getByRole('button', { name: 'Save the draft' }).isDisabled()).toBe(true);
        expect(await text.inputValue()).toBe(broken);
        const other = { none: [{ var: 'venue_ids' }, { '==': [{ var: '' }, 'hall'] }] };
        await text.fill(JSON.stringify({ rules: [{ when: { and: [other, count] }, ...approve }], default: otherwise }));
        await window.getByText('none of venue_ids: it is "hall"').first().waitFor();
        await window.getByLabel('Number').fill('3');
        expect(JSON.parse(await text.inputValue())).toMatchObject({
          rules: [{ when: { and: [other, { '>=': [{ var: 'attachment_count' }, 3] }] } }],
        });
        expect(await looksOf(window, stack(), 'cases-policy-form')).toEqual([]);
        await window.getByRole('button', { name: 'Save the draft' }).click();
        await window.getByRole('table', { name: 'Rules' }).getByText('attachment_count ≥ 3').waitFor();
        expect(await saved()).toMatchObject({ rules: [{ when: { and: [other, {}] } }] });
      });
    }, 120_000);

    it('have a pack that is read, checked, printed and saved', async () => {
      const reference = `story-${Date.now()}`;
      const id = await sealedCase(reference);
      await stack().visit('operator', `/cases/live/queue/${id}`, async (window) => {
        await window.getByRole('link', { name: 'Open the pack' }).click();
        await window.getByText('Verified.', { exact: true }).waitFor();
        await window.getByRole('heading', { level: 1, name: `Pack of ${reference}` }).waitFor();
        await window.getByRole('table', { name: 'Timeline' }).getByText('Case sealed').waitFor();
        const attached = window.getByRole('table', { name: 'Attachments' }).getByRole('row').last();
        const cells = (await attached.getByRole('cell').allTextContents()).slice(0, 2);
        expect(cells).toEqual(['a file of the story', 'application/pdf']);
        const code = window.getByRole('table', { name: 'Decisions' }).getByText('A_CODE_OF_MANY_WORDS');
        expect(await code.evaluate((element) => element.getClientRects().length)).toBe(1);
        for (const name of ['Decisions', 'Timeline'])
          await window.getByRole('table', { name }).getByText('Demo (key)').first().waitFor();
        expect(await looksOf(window, stack(), 'cases-pack')).toEqual([]);
        const [file] = await Promise.all([
          window.waitForEvent('download'),
          window.getByRole('button', { name: 'Save as a file' }).click(),
        ]);
        expect(file.suggestedFilename()).toBe(`${id}.pack.json`);
        expect(JSON.parse(readFileSync(await file.path(), 'utf8'))).toMatchObject({ case_id: id });
        await window.emulateMedia({ media: 'print', colorScheme: 'dark' });
        expect(await window.getByRole('navigation').first().isVisible()).toBe(false);
        expect(await window.getByRole('button', { name: 'Print' }).isVisible()).toBe(false);
        const fact = window.getByText(id, { exact: true }).last();
        expect(
          await fact.evaluate((element) => element.ownerDocument.defaultView?.getComputedStyle(element).color),
        ).toBe('rgb(0, 0, 0)');
        await window.emulateMedia({ media: null });
        const path = /assessor-pack/;
        await window.route(path, async (route) => {
          const answer = await route.fetch();
          await route.fulfill({ response: answer, body: (await answer.text()).replace('"actor":"', '"actor":"x') });
        });
        await window.goto(`/cases/live/queue/${id}/pack`);
        await window.getByText('Not verified.', { exact: true }).waitFor();
      });
    }, 120_000);

    it('end a gate key that leaked at once, with another one whose line works', async () => {
      const { url } = stack().dev.surfaces['case-gate']!;
      await stack().visit('operator', '/cases/live/gate-keys', async (window) => {
        await window.waitForLoadState('networkidle');
        const copied = async (): Promise<{ readonly key: string; readonly line: string }> => {
          const shown = window.getByRole('dialog', { name: /^Key/ });
          const key = (await shown.locator('code', { hasText: /^gk_/ }).first().textContent()) ?? '';
          const line = (await shown.locator('pre', { hasText: /^curl/ }).textContent()) ?? '';
          await shown.getByRole('button', { name: 'I have copied it' }).click();
          return { key, line };
        };
        await window.getByRole('button', { name: 'New key' }).click();
        await window.getByLabel('Label').fill('Tablet of the Harbour Hall');
        await window.getByRole('button', { name: 'Create key' }).click();
        await window.getByText('all of live: a key is not bound to a venue, the tablet names its own').waitFor();
        const first = await copied();
        const body = / -d '(.*)'$/.exec(first.line)?.[1] ?? '';
        expect(first.line).toContain(`'${url}/v1/gate/check'`);
        expect(JSON.parse(body)).toEqual({
          subject_ref: expect.stringMatching(/^subj_/),
          venue_id: stack().dev.demo.venueId,
        });
        const check = async (key: string) => {
          const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
          const signal = AbortSignal.timeout(20_000);
          return (await fetch(`${url}/v1/gate/check`, { method: 'POST', headers, body, signal })).status;
        };
        expect(await check(first.key)).toBe(200);
        const row = window.getByRole('row').filter({ hasText: first.key.slice(0, 12) });
        await rowAction(row, 'It leaked');
        const dialog = window.getByRole('dialog');
        expect(await dialog.getByLabel('It leaked: end it now').isChecked()).toBe(true);
        expect(await dialog.getByLabel('Both keys work for (hours)').count()).toBe(0);
        expect(await looksOf(window, stack(), 'key-leaked')).toEqual([]);
        await dialog.getByLabel(/^Replace it in time: both work until/).check();
        expect(await dialog.getByLabel('Both keys work for (hours)').inputValue()).toBe('24');
        expect(await looksOf(window, stack(), 'key-in-time')).toEqual([]);
        await dialog.getByLabel('It leaked: end it now').check();
        await dialog.getByRole('button', { name: 'End it and create another' }).click();
        const next = await copied();
        expect([await check(first.key), await check(next.key)]).toEqual([401, 200]);
        await row.getByText('Ended').waitFor();
        await window.goto('/operations/audit?by=case-gate&action=key.rotate');
        await window
          .getByRole('table', { name: 'Audit' })
          .getByText(/overlapSeconds: 0, replacedBy: key_\w+/)
          .first()
          .waitFor();
      });
    }, 120_000);

    it('offer a viewer no change', async () => {
      await stack().visit('viewer', '/cases/live/queue', async (window) => {
        await window.getByRole('heading', { name: 'Queue' }).waitFor();
        for (const [path, action] of [
          ['queue', 'New case'],
          ['venues', 'New venue'],
          ['policies', 'New draft'],
          ['gate-keys', 'New key'],
        ]) {
          await window.goto(`/cases/live/${path}`);
          await window.waitForLoadState('networkidle');
          expect(await window.getByRole('heading', { level: 1 }).count()).toBe(1);
          expect(await window.getByText(action!, { exact: true }).count()).toBe(0);
        }
      });
    }, 90_000);

    it.each(['queue', 'queue/new', 'subjects', 'venues', 'policies', 'decisions', 'gate-keys'])(
      'have no visual or accessibility fault at %s, light and dark, at 390 and 1440 px',
      async (name) => {
        await stack().visit('operator', `/cases/live/${name}`, async (window) => {
          await window.getByRole('heading', { level: 1 }).waitFor();
          await window.waitForLoadState('networkidle');
          expect(await looksOf(window, stack(), `cases-${name.replace('/', '-')}`)).toEqual([]);
        });
      },
      120_000,
    );
  });
}
