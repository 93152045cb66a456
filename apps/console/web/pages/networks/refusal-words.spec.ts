import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { REASON_WORDS, titleOf, wordsOf } from './refusal-words.ts';

const document = JSON.parse(
  readFileSync(resolve(import.meta.dirname, '../../../../ingest-gateway/admin-openapi.json'), 'utf8'),
) as { components: { schemas: { RefusalReason: { enum: string[] } } } };
const reasons = document.components.schemas.RefusalReason.enum;

const about = { header: null, skewSeconds: null, pointer: null, detail: 'In words.', mediaType: null, bodyBytes: null };

describe('the reasons of refused deliveries', () => {
  it('are those of the gateway, each in words', () => {
    expect(reasons.length).toBeGreaterThan(10);
    expect(Object.keys(REASON_WORDS).toSorted()).toEqual(reasons.toSorted());
    for (const reason of reasons) {
      const { title, what, todo } = wordsOf(reason)!;
      for (const text of [title, what(about), todo]) expect(text).toMatch(/\S.*\S/);
      expect(title).not.toBe(reason);
    }
    expect(new Set(Object.values(REASON_WORDS).map(({ title }) => title)).size).toBe(reasons.length);
  });

  it.each([
    ['clock-skew', { skewSeconds: 412 }, '412 s ahead of our clock'],
    ['clock-skew', { skewSeconds: -1412 }, '1,412 s behind our clock'],
    ['header-missing', { header: 'x-hub-signature-256' }, 'The header x-hub-signature-256 is missing'],
    ['header-malformed', { header: 'stripe-signature' }, 'The header stripe-signature has another form'],
    ['too-large', { bodyBytes: 1_200_000 }, '1,200,000 bytes'],
    ['media-type', { mediaType: 'image/png' }, 'image/png'],
    ['configuration', { pointer: '/data/id', detail: 'The id of the record is missing.' }, 'At /data/id: The id'],
    ['not-json', { detail: 'Unexpected end at line 1, column 17.' }, 'column 17'],
  ])('say of %s what is known of it', (reason, more, words) => {
    expect(wordsOf(reason)!.what({ ...about, ...more })).toContain(words);
  });

  it('are named by their code where there is no reason', () => {
    expect(titleOf(null, 'RATE_LIMITED')).toContain('flood');
    expect(titleOf(null, 'SOME_CODE')).toBe('SOME_CODE');
    expect(titleOf('not-json', 'INVALID_JSON')).toBe('The body is no JSON');
    expect(wordsOf('toString')).toBeUndefined();
  });
});
