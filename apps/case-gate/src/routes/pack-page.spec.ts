import { describe, expect, it } from '@jest/globals';
import type { AssessorPack } from '../domain/assessor-pack.ts';
import { packPage, prefersHtml } from './pack-page.ts';

describe('prefersHtml', () => {
  it.each<[string | undefined, boolean]>([
    [undefined, false],
    ['', false],
    ['*/*', false],
    ['application/json', false],
    ['text/html', true],
    ['TEXT/HTML', true],
    ['text/*', true],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', true],
    ['text/html;q=0.5, application/json', false],
    ['text/html, application/json', false],
    ['application/json;q=0.5, text/html', true],
    ['text/html;q=0', false],
    ['text/html;q=nonsense', false],
  ])('%s: %s', (accept, wants) => expect(prefersHtml(accept)).toBe(wants));
});

describe('the page of a pack', () => {
  const pack = {
    case_id: 'case_1',
    subject_ref: 'subj_1',
    status: 'sealed',
    timeline: [{ seq: 1, event: 'case.received', data: { note: '<script>alert(1)</script>' } }],
    decisions: [{ decision_id: 'dec_1', reason_codes: ['A&B'] }],
    attachments: [],
    seals: [{ document: { v: 1 }, seal_hash: 'abc', ledger_record_id: 'ledger_rec_1', proof: { index: 7 } }],
    canonicalization: 'RFC8785',
    generated_at: '2026-01-01T00:00:00.000Z',
    pack_hash: 'def',
    signature: 'e30..sig',
  } as unknown as AssessorPack;

  it('shows every value, escaped', () => {
    const page = packPage(pack);
    for (const text of [
      'case_1',
      'subj_1',
      'case.received',
      'dec_1',
      'A&amp;B',
      'abc',
      'ledger_rec_1',
      'def',
      'e30..sig',
      '&quot;index&quot;: 7',
    ]) {
      expect(page).toContain(text);
    }
    expect(page).not.toContain('<script');
    expect(page).toContain('&lt;script&gt;');
    expect(page).not.toMatch(/https?:|src=|href=/);
  });

  it('says that a draft has no seal', () => {
    expect(packPage({ ...pack, seals: [] })).toContain('<h2>Seals</h2><p>None.</p>');
  });
});
