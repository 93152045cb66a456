import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { documentSigner, generateDocumentKey, sealAuditPage } from '@sealgate/envelope';
import type { AuditPage, AuditPageContent } from '@sealgate/envelope';
import { checkAudit } from './check-audit.ts';

const folder = mkdtempSync(join(tmpdir(), 'sealgate-audit-'));
const signer = documentSigner(generateDocumentKey());
const jwks = { keys: [signer.jwk] };
const [FROM, TO] = ['2030-01-01T00:00:00.000Z', '2030-02-01T00:00:00.000Z'];
const eventOf = (day: number, action = 'key.revoke') => ({
  ...{ id: `evt_${day}`, at: `2030-01-0${day}T00:00:00.000Z`, actor: 'admin:1', action, resource: 'key' },
  ...{ resourceId: `key_${day}`, requestId: null, detail: null },
});

/** A signed export of the events, two a page. */
function exportOf(days: readonly number[], changes: Partial<AuditPageContent> = {}): AuditPage[] {
  const pages: AuditPage[] = [];
  for (let at = 0; at === 0 || at < days.length; at += 2) {
    const items = days.slice(at, at + 2).map((day) => eventOf(day));
    const place = { previous: pages.at(-1)?.hash ?? null, last: at + 2 >= days.length };
    pages.push(
      sealAuditPage(
        { v: 1, surface: 'ingest-gateway', from: FROM, to: TO, at: TO, ...place, items, ...changes },
        signer,
      ),
    );
  }
  return pages;
}

let files = 0;
function saved(pages: readonly object[]): string {
  const file = join(folder, `${(files += 1)}.ndjson`);
  writeFileSync(file, pages.map((page) => `${JSON.stringify(page)}\n`).join(''));
  return file;
}
const check = (pages: readonly object[], more: { keys?: typeof jwks; earlier?: readonly object[] } = {}) =>
  checkAudit({
    pages: saved(pages),
    jwks: 'keys' in more ? more.keys : jwks,
    ...(more.earlier && { earlier: saved(more.earlier) }),
  });
const failedSteps = async (...args: Parameters<typeof check>) =>
  (await check(...args)).steps
    .filter(({ status }) => status === 'failed')
    .map(({ step, detail }) => `${step}: ${detail}`);

const five = exportOf([1, 2, 3, 4, 5]);

describe('checkAudit', () => {
  it('verifies a whole export by a pinned key', async () => {
    const report = await check(five.map((page) => ({ ...page, nextCursor: 'x' })));
    expect(report.verified).toBe(true);
    expect(report.conclusion).toBe(
      `ingest-gateway signed these 5 audit events as all of its events from ${FROM} to ${TO}.`,
    );
  });

  it('verifies an export without events', async () => {
    expect((await check(exportOf([]))).verified).toBe(true);
  });

  it.each<[string, readonly object[], string]>([
    ['a page in the middle is left out', [five[0]!, five[2]!], 'chain: A page is missing before this one.'],
    ['the first page is left out', five.slice(1), 'chain: The export does not begin with this page.'],
    ['the last page is left out', five.slice(0, 2), 'chain: The export has no last page: its end is missing.'],
    ['pages change places', [five[0]!, five[2]!, five[1]!], 'chain: A page is missing before this one.'],
    [
      'an event is removed',
      [{ ...five[0]!, items: [eventOf(1)] }, ...five.slice(1)],
      'hash: The page was changed after it was hashed.',
    ],
    [
      'the period is changed',
      [{ ...five[0]!, from: null }, ...five.slice(1)],
      'hash: The page was changed after it was hashed.',
    ],
    [
      'the signature is of another page',
      [{ ...five[0]!, signature: five[1]!.signature }, ...five.slice(1)],
      `signature: The signature by ${signer.kid} is not over these bytes.`,
    ],
    ['events are out of order', exportOf([2, 1]), 'order: Event evt_1 is out of order or outside the period.'],
    ['an event occurs twice', exportOf([1, 1]), 'order: Event evt_1 occurs twice.'],
    [
      'an event is outside the period',
      exportOf([1], { from: TO }),
      'order: Event evt_1 is out of order or outside the period.',
    ],
    [
      'pages of two exports are mixed',
      [five[0]!, ...exportOf([3], { surface: 'case-gate', previous: five[0]!.hash })],
      'chain: The page is of another export: its surface or period differs.',
    ],
  ])('fails where %s', async (_what, pages, fault) => {
    expect(await failedSteps(pages)).toContain(fault);
  });

  it('fails without a pinned key, and by a key that is not pinned', async () => {
    expect(await failedSteps(five, { keys: undefined! })).toContain('signature: No key set is pinned (--jwks).');
    const other = { keys: [documentSigner(generateDocumentKey()).jwk] };
    expect(await failedSteps(five, { keys: other })).toContain(`signature: No pinned key is named ${signer.kid}.`);
  });

  it('names what an earlier export held and this one does not', async () => {
    expect(await failedSteps(exportOf([1, 3]), { earlier: exportOf([1, 2]) })).toEqual([
      'earlier: Event evt_2 of the earlier export is missing.',
    ]);
    const changed = [sealAuditPage({ ...exportOf([1])[0]!, items: [eventOf(1, 'key.mint')] }, signer)];
    expect(await failedSteps(changed, { earlier: exportOf([1]) })).toEqual([
      'earlier: Event evt_1 was changed after the earlier export.',
    ]);
  });

  it('compares only the period that both cover', async () => {
    const later = exportOf([3], { from: '2030-01-03T00:00:00.000Z' });
    expect((await check(later, { earlier: exportOf([1, 2, 3]) })).verified).toBe(true);
  });

  it('refuses a file that holds no page', async () => {
    await expect(check([])).rejects.toThrow('holds no page');
    await expect(check([{ v: 2 }])).rejects.toThrow(':1 is no page of an audit export.');
  });
});
