import { describe, expect, it } from '@jest/globals';
import { compareTexts, formatAgo, formatBytes, formatSpan, localeOf } from './formats.ts';

describe('formats', () => {
  it.each([
    [['en-GB', 'de'], 'en-GB'],
    [['en-US'], 'en-US'],
    [['de-AT', 'en'], 'en-AT'],
    [['de'], 'en-DE'],
    [['pt-BR'], 'en-001'],
    [['en'], 'en'],
    [['en-US@posix', 'de-CH'], 'en-CH'],
    [[], 'en'],
  ])('of a reader of %j are those of %s', (languages, locale) => expect(localeOf(languages)).toBe(locale));

  it('are sentences in the language of the page', () => {
    const moment = Date.UTC(2026, 10, 29, 18);
    const since = (ms: number) => formatAgo(moment - ms, moment);
    expect([since(0), since(61_000), since(-2 * 86_400_000), since(86_400_000)]).toEqual([
      'now',
      '1 minute ago',
      'in 2 days',
      'yesterday',
    ]);
  });

  it('count long times in months and years', () => {
    const moment = Date.UTC(2026, 10, 29, 18);
    const ago = (days: number) => formatAgo(moment - days * 86_400_000, moment);
    expect([59, 61, -75, 425, 729, 731, 960].map(ago)).toEqual([
      '59 days ago',
      '2 months ago',
      'in 2 months',
      '14 months ago',
      '24 months ago',
      '2 years ago',
      '3 years ago',
    ]);
  });

  it.each([
    [0, '0 s'],
    [-45, '45 s'],
    [60, '1 min'],
    [300, '5 min'],
    [-412, '6 min 52 s'],
    [3_661, '1 h 1 min'],
    [86_400, '24 h'],
    [172_799, '47 h 59 min'],
    [180_000, '2 d 2 h'],
    [86_400 * 12_345, '12,345 d'],
  ])('tell a span of %d seconds as %s', (seconds, words) => expect(formatSpan(seconds)).toBe(words));

  it.each([
    [1_234, '1,234 bytes'],
    [1_048_575, '1,048,575 bytes'],
    [1_048_576, '1 MiB'],
    [1_572_864, '1.5 MiB'],
  ])('tell a size of %d bytes as %s', (bytes, words) => expect(formatBytes(bytes)).toBe(words));

  it('have an order of texts in which numbers count', () =>
    expect(['A.10', 'a.9', 'É', 'Z', 'A.2'].toSorted(compareTexts)).toEqual(['A.2', 'a.9', 'A.10', 'É', 'Z']));
});
