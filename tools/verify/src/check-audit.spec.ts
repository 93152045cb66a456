import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { auditEventHash, documentSigner, generateDocumentKey, sealAuditPage } from '@sealgate/envelope';
import type { AuditLink, AuditPage, AuditPageContent, AuditProblem } from '@sealgate/envelope';
import type { JsonValue } from '@sealgate/json';
import { checkAudit } from './audit-command.ts';
import { checkAuditText } from './check-audit.ts';

const folder = mkdtempSync(join(tmpdir(), 'sealgate-audit-'));
const signer = documentSigner(generateDocumentKey());
const jwks = { keys: [signer.jwk] };
const [FROM, TO] = ['2030-01-01T00:00:00.000Z', '2030-02-01T00:00:00.000Z'];
const SURFACE = 'ingest-gateway';
type Item = ReturnType<typeof itemOf>;
const itemOf = (day: number, action: string, link: AuditLink | null) => ({
  id: `evt_${day}`,
  at: `2030-01-0${day}T00:00:00.000Z`,
  actor: 'admin:1',
  action,
  resource: 'key',
  resourceId: `key_${day}`,
  requestId: null,
  detail: null,
  link,
  problem: null as AuditProblem | null,
});
const headOf = (item: Item) => {
  const hash = auditEventHash(SURFACE, { ...item, at: new Date(item.at) }, item.link!).slice(0, 16);
  return { lane: item.link!.lane, seq: item.link!.seq, at: item.at, hash };
};
const linked = (lane: number, seq: number, ...followed: Item[]): AuditLink => ({
  lane,
  seq,
  heads: followed.map(headOf),
});
/** Days 1, 2, 3, ... are the events of lane 1, as a process of the surface writes them. */
const eventOf = (day: number, action = 'key.revoke'): Item =>
  itemOf(day, action, linked(1, day, ...(day === 1 ? [] : [eventOf(day - 1)])));

/** A signed export of the events, two a page. */
function exportOf(days: readonly number[], changes: Partial<AuditPageContent> = {}): AuditPage[] {
  return exportOfItems(
    days.map((day) => eventOf(day)),
    changes,
  );
}
function exportOfItems(all: readonly Item[], changes: Partial<AuditPageContent> = {}): AuditPage[] {
  const pages: AuditPage[] = [];
  for (let at = 0; at === 0 || at < all.length; at += 2) {
    const items = all.slice(at, at + 2) as unknown as JsonValue[];
    const place = { previous: pages.at(-1)?.hash ?? null, last: at + 2 >= all.length };
    pages.push(
      sealAuditPage({ v: 1, surface: SURFACE, from: FROM, to: TO, at: TO, ...place, items, ...changes }, signer),
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
    expect(report.conclusion).toBe(`ingest-gateway wrote and signed these 5 audit events from ${FROM} to ${TO}.`);
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
      [{ ...five[0]!, items: [eventOf(1) as unknown as JsonValue] }, ...five.slice(1)],
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
    expect(await failedSteps(five, { keys: undefined! })).toContain('signature: No key set is pinned.');
    const other = { keys: [documentSigner(generateDocumentKey()).jwk] };
    expect(await failedSteps(five, { keys: other })).toContain(`signature: No pinned key is named ${signer.kid}.`);
  });

  it('names what an earlier export held and this one does not', async () => {
    expect(await failedSteps(exportOf([1]), { earlier: exportOf([1, 2]) })).toEqual([
      'earlier: Event evt_2 of the earlier export is missing.',
    ]);
    const changed = [
      sealAuditPage({ ...exportOf([1])[0]!, items: [eventOf(1, 'key.mint') as unknown as JsonValue] }, signer),
    ];
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

describe('the chain of an audit export', () => {
  const whole = { from: null, to: TO };
  const faultsOf = (items: readonly Item[], period: Partial<AuditPageContent> = whole) =>
    failedSteps(exportOfItems(items, period));
  const [one, two, three, four] = [1, 2, 3, 4].map((day) => eventOf(day)) as [Item, Item, Item, Item];
  /** Of lane 2, written at the same time as event 2, and followed by event 4. */
  const beside = { ...itemOf(3, 'network.delete', linked(2, 1, one)), id: 'evt_b' };
  const after = itemOf(4, 'key.mint', linked(1, 4, three, beside));

  it('is whole with events of several lanes', async () => {
    expect(await faultsOf([one, two, three, beside, after])).toEqual([]);
  });

  it.each<[string, readonly Item[], string]>([
    [
      'a row that the role of the surface inserted',
      [one, { ...itemOf(2, 'x', null), id: 'evt_x', problem: 'no_mac' }, two],
      'origin: Event evt_x has no MAC: no process of the surface wrote it, or one of a version before events had one.',
    ],
    [
      'a row that was changed, once',
      [one, { ...two, action: 'key.mint', problem: 'wrong_mac' }, three],
      'origin: Event evt_2 is not what a process of the surface wrote: its MAC is of something else.',
    ],
    [
      'a row that cannot be read',
      [one, { ...two, problem: 'unreadable' }, three],
      'origin: Event evt_2 holds a value that cannot be shown, and is not what a process of the surface wrote.',
    ],
    ['a removed event', [one, three], 'gap: Event 2 of lane 1 is missing: event evt_3 followed it.'],
    ['several removed events', [one, four], 'gap: Events 2 to 3 of lane 1 are missing: event evt_4 followed them.'],
    ['the removed beginning', [three], 'gap: Events 1 to 2 of lane 1 are missing: event evt_3 followed them.'],
    [
      'the removed end of another lane',
      [one, two, three, after],
      'gap: Event 1 of lane 2 is missing: event evt_4 followed it.',
    ],
    [
      'an event written in place of another, after the lane was set back',
      [one, itemOf(2, 'key.mint', linked(1, 2, one)), three],
      'gap: Event evt_2 is not the one that event evt_3 followed.',
    ],
    [
      'an event that follows none, since somebody changed the end of its lane',
      [one, two, itemOf(3, 'key.mint', linked(1, 3))],
      'gap: Event evt_3 does not follow event evt_2, which was before it in lane 1.',
    ],
    [
      'a number that somebody took from the lane',
      [one, two, itemOf(4, 'key.mint', linked(1, 4))],
      'gap: Event 3 of lane 1 is missing: event evt_4 followed it.',
    ],
    [
      'two events of one number',
      [one, two, { ...itemOf(2, 'key.mint', linked(1, 2, one)), id: 'evt_y' }],
      'gap: Events evt_2 and evt_y are both number 2 of lane 1: it was set back.',
    ],
  ])('names %s', async (_what, items, fault) => {
    expect(await faultsOf(items)).toEqual([fault]);
  });

  it('asks for no event outside the period, and for those within', async () => {
    const from = '2030-01-02T12:00:00.000Z';
    expect(await faultsOf([three, four], { from, to: TO })).toEqual([]);
    expect(await faultsOf([four], { from, to: TO })).toEqual([
      'gap: Event 3 of lane 1 is missing: event evt_4 followed it.',
    ]);
  });

  it('asks no event to follow one that others name, nor one of the time before the period', async () => {
    const third = itemOf(3, 'key.mint', linked(1, 3, two, beside));
    const unled = itemOf(4, 'key.mint', linked(2, 2, third));
    expect(await faultsOf([one, two, beside, { ...third, id: 'evt_3' }, unled])).toEqual([]);
    const from = '2030-01-02T12:00:00.000Z';
    expect(await faultsOf([itemOf(4, 'key.mint', linked(1, 7))], { from, to: TO })).toEqual([]);
  });

  it('takes events of a secret that is gone where a newer event vouches for them', async () => {
    const [first, second] = [one, two].map((item) => ({ ...item, problem: 'unknown_secret' as const }));
    expect(await faultsOf([first!, second!, three])).toEqual([]);
    expect(await faultsOf([first!, second!])).toEqual([
      expect.stringMatching(/^origin: Event evt_1 has a MAC of a server secret that .* did not have/),
      expect.stringMatching(/^origin: Event evt_2 /),
    ]);
  });

  it('gives the same report for texts, as in a page', async () => {
    const lines = (pages: readonly object[]) => pages.map((page) => `${JSON.stringify(page)}\n`).join('');
    const [march, february] = [exportOf([1, 2, 3]), exportOf([1, 2])].map((pages) => ({
      name: 'a',
      text: lines(pages),
    }));
    const report = checkAuditText(march!, { jwks, earlier: february });
    expect(report).toMatchObject({ verified: true, conclusion: expect.stringContaining('these 3 audit events') });
    const changed = { name: 'a', text: march!.text.replace('key.revoke', 'key.mint') };
    expect(checkAuditText(changed, { jwks }).steps).toContainEqual(
      expect.objectContaining({ step: 'hash', status: 'failed', where: 'a:1' }),
    );
    expect(() => checkAuditText({ name: 'a', text: '\n' }, { jwks })).toThrow('a holds no page.');
    expect(() => checkAuditText({ name: 'a', text: '{"v":1}' }, { jwks })).toThrow(
      'a:1 is no page of an audit export.',
    );
  });

  it('says what it does not show', async () => {
    const report = await check(exportOfItems([one]));
    expect(report.notes).toEqual([
      expect.stringMatching(/^Not shown: newest events that were removed .* server secrets\.$/),
    ]);
  });
});
