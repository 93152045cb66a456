import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import {
  actsFor,
  REASON_WORDS,
  signatureInWords,
  titleOf,
  toleranceFor,
  wordsOf,
  type Refused,
} from './refusal-words.ts';

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
    ['clock-skew', { skewSeconds: 412 }, '6 min 52 s ahead of our clock'],
    ['clock-skew', { skewSeconds: -1412 }, '23 min 32 s behind our clock'],
    ['header-missing', { header: 'x-hub-signature-256' }, 'The header x-hub-signature-256 is missing'],
    ['header-malformed', { header: 'stripe-signature' }, 'The header stripe-signature has another form'],
    ['too-large', { bodyBytes: 1_310_720 }, 'It has 1.3 MiB, more'],
    ['media-type', { mediaType: 'image/png' }, 'image/png'],
    ['configuration', { pointer: '/data/id', detail: 'The id of the record is missing.' }, 'At /data/id: The id'],
    ['not-json', { detail: 'Unexpected end at line 1, column 17.' }, 'column 17'],
  ])('say of %s what is known of it', (reason, more, words) => {
    expect(wordsOf(reason)!.what({ ...about, ...more })).toContain(words);
  });

  it.each([
    [{ authentic: true, reason: 'not-json' }, 'verified'],
    [{ authentic: false, reason: 'clock-skew' }, 'right, with a timestamp that is out of tolerance'],
    [{ authentic: false, reason: 'no-matching-secret' }, 'of none of the secrets'],
    [{ authentic: false, reason: 'header-missing' }, 'not checked: a header is missing'],
    [{ authentic: false, reason: 'header-malformed' }, 'not checked: a header is malformed'],
    [{ authentic: false, reason: 'too-large' }, 'not verified'],
  ] as const)('say of %j that its signature is %s', (refused, words) => expect(signatureInWords(refused)).toBe(words));

  it('are named by their code where there is no reason', () => {
    expect(titleOf(null, 'RATE_LIMITED')).toContain('flood');
    expect(titleOf(null, 'SOME_CODE')).toBe('SOME_CODE');
    expect(titleOf('not-json', 'INVALID_JSON')).toBe('The body is no JSON');
    expect(wordsOf('toString')).toBeUndefined();
  });
});

describe('what can mend a refused delivery', () => {
  const AT = '2026-11-29T10:00:00.000Z';
  const refused = (reason: Refused['reason'], more: Partial<Refused> = {}) => ({
    ...{ at: AT, reason, code: 'SOME_CODE', skewSeconds: null, keptUntil: '2026-11-30T10:00:00.000Z' },
    ...{ processedAt: null, outcome: null, ...more },
  });
  const before = { changedAt: '2026-11-29T09:00:00.000Z', toleranceSeconds: 300 };
  const after = { ...before, changedAt: '2026-11-29T10:00:01.000Z' };
  const offered = (...[delivery, source]: Parameters<typeof actsFor>): string =>
    Object.entries(actsFor(delivery, source))
      .flatMap(([act, value]) => (value === true ? [act] : typeof value === 'number' ? [`${act} ${value}`] : []))
      .join(', ');

  it.each([
    ['not-json', ''],
    ['media-type', ''],
    ['no-matching-secret', 'secrets'],
    ['header-missing', 'edit'],
    ['configuration', 'edit'],
    ['type-not-allowed', 'edit'],
    ['missing-channel', 'edit, again'],
    ['over-limit', 'edit, limits, again'],
  ] as const)('is offered for %s and nothing else: %s', (reason, acts) =>
    expect(offered(refused(reason), before)).toBe(acts),
  );

  it('is to process it again once the source was changed, unless only its sender can mend it', () => {
    expect(offered(refused('no-matching-secret'), after)).toBe('secrets, again');
    expect(offered(refused('type-not-allowed'), after)).toBe('edit, again');
    expect(offered(refused('not-json'), after)).toBe('');
    expect(offered(refused('type-not-allowed', { processedAt: after.changedAt, outcome: 'SOME_CODE' }), after)).toBe(
      'edit',
    );
  });

  it('is no processing where nothing is kept of it', () => {
    const gone = { keptUntil: null };
    expect(offered(refused('over-limit', gone), after)).toBe('edit, limits');
    expect(offered(refused('clock-skew', { ...gone, skewSeconds: -412 }), after)).toBe('edit');
  });

  it('is a tolerance that lasts for a timestamp, and then to process it again', () => {
    const late = refused('clock-skew', { skewSeconds: -412 });
    expect(offered(late, before)).toBe('tolerate 420');
    expect(offered(late, { ...before, toleranceSeconds: 420 })).toBe('again');
    expect(offered(late, { ...after, toleranceSeconds: 420 })).toBe('again');
    expect(offered(refused('clock-skew', { skewSeconds: 100_000 }), before)).toBe('');
  });

  it('is not known of a fault that it only met when it was processed again', () => {
    const other = { processedAt: after.changedAt, outcome: 'PAYLOAD_TOO_LARGE' };
    expect(offered(refused('no-matching-secret', other), after)).toBe('edit, secrets, again');
  });

  it.each([
    [0, 60],
    [59, 60],
    [60, 120],
    [-412, 420],
    [-86_399, 86_400],
    [86_400, undefined],
  ])('of a timestamp that is %d s off is a tolerance of %p s', (skew, seconds) =>
    expect(toleranceFor(skew)).toBe(seconds),
  );
});
