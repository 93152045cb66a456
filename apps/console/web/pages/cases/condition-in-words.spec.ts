import { describe, expect, it } from '@jest/globals';
import { conditionInWords } from './condition-in-words.ts';

describe('conditionInWords', () => {
  it.each<[object, string]>([
    [{ '>=': [{ var: 'attachment_count' }, 2] }, 'attachment_count ≥ 2'],
    [{ '==': [{ var: 'metadata.country' }, 'DE'] }, 'metadata.country is "DE"'],
    [{ and: [{ '!': { var: 'metadata.x' } }, { or: [{ var: 'a' }, { var: 'b' }] }] }, 'not (metadata.x) and (a or b)'],
    [{ in: ['hall', { var: 'venue_ids' }] }, '"hall" is in venue_ids'],
    [
      { some: [{ var: 'attachment_kinds' }, { '==': [{ var: '' }, 'vault_ref'] }] },
      'some of attachment_kinds: it is "vault_ref"',
    ],
    [{ missing: ['metadata.a', 'metadata.b'] }, 'missing metadata.a, metadata.b'],
    [{ if: [true, 1, 2] }, '{"if":[true,1,2]}'],
  ])('%j is %s', (condition, words) => expect(conditionInWords(condition)).toBe(words));
});
