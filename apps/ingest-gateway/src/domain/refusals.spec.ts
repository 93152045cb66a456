import { describe, expect, it } from '@jest/globals';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import { BODY, NOW_S, setUp, standardHeaders, stripeHeaders } from '../testing/test-deliveries.ts';
import type { SourceSettings } from './source.ts';
import { doneOutcomeOf, whyNotKept, type Refusal } from './refusals.ts';

const LARGE = JSON.stringify({ type: 'x'.repeat(1_048_566) });

describe('a delivery', () => {
  it.each<[string, Partial<Refusal>, () => [string, Record<string, string>, SourceSettings?, (null | 'json')?]]>([
    [
      'a clock that is 400 s behind',
      { code: 'UNAUTHENTICATED', reason: 'clock-skew', isAuthentic: false, skewSeconds: -400 },
      () => [BODY, standardHeaders(NOW_S - 400)],
    ],
    [
      'a wrong secret',
      { code: 'UNAUTHENTICATED', reason: 'no-matching-secret', isAuthentic: false },
      () => [BODY, standardHeaders(NOW_S, { body: 'other' })],
    ],
    [
      'a missing header',
      { code: 'UNAUTHENTICATED', reason: 'header-missing', isAuthentic: false, header: 'webhook-signature' },
      () => [BODY, { ...standardHeaders(NOW_S), 'webhook-signature': undefined as never }],
    ],
    [
      'an unsupported media type',
      { code: 'UNSUPPORTED_MEDIA_TYPE', reason: 'media-type', isAuthentic: true, deliveryId: 'msg_1' },
      () => [BODY, standardHeaders(NOW_S), {}, null],
    ],
    [
      'what is no JSON',
      {
        code: 'INVALID_JSON',
        reason: 'not-json',
        isAuthentic: true,
        detail: 'Unexpected character at line 1, column 2.',
      },
      () => ['{x', standardHeaders(NOW_S, { body: '{x' })],
    ],
    [
      'a type that is no text',
      { code: 'INVALID_REQUEST', reason: 'configuration', isAuthentic: true, pointer: '/type' },
      () => ['{"type":[]}', standardHeaders(NOW_S, { body: '{"type":[]}' })],
    ],
    [
      'a type that is not allowed',
      { code: 'ASSET_TYPE_NOT_ALLOWED', reason: 'type-not-allowed', isAuthentic: true },
      () => [BODY, standardHeaders(NOW_S), { allowedTypes: [] }],
    ],
    [
      'its size',
      { code: 'PAYLOAD_TOO_LARGE', reason: 'too-large', isAuthentic: true, bodyBytes: 1_048_577 },
      () => [LARGE, standardHeaders(NOW_S, { body: LARGE })],
    ],
  ])(
    'that is refused for %s is noted once, with its reason, when its source is confirmed',
    async (_what, noted, about) => {
      const [body, headers, settings = {}, form = 'json'] = about();
      const { send, refusals, trail } = setUp({ settings });
      expect(await send(body, headers, form)).toBe(noted.code);
      expect(refusals).toMatchObject([{ ...noted, requestId: 'req_1', atMs: NOW_S * 1000 + 500 }]);
      expect(trail.at(-1)).toBe('confirm');
      expect(JSON.stringify(refusals)).not.toContain('order.paid');
    },
  );

  it('that conflicts is noted with its event', async () => {
    for (const [result, reason] of [
      [{ outcome: 'reused' }, 'delivery-id-reused'],
      [{ outcome: 'conflict', id: 'x' }, 'record-id-taken'],
    ] as const) {
      const { send, refusals } = setUp({ append: () => result });
      await send(BODY, standardHeaders(NOW_S));
      expect(refusals).toMatchObject([{ reason, isAuthentic: true, deliveryId: 'msg_1', eventId: 'evt_1' }]);
    }
  });

  it('that an outage or a missing secret prevents is not noted: its sender comes back', async () => {
    const down = () => {
      throw new LedgerUnavailableError('away');
    };
    const [away, sealed] = [setUp({ append: down }), setUp({ hasAllKeys: false })];
    await away.send(BODY, standardHeaders(NOW_S));
    await sealed.send(BODY, { ...standardHeaders(NOW_S), 'webhook-id': 'msg_2' });
    expect([...away.refusals, ...sealed.refusals]).toEqual([]);
  });

  it('that was kept is judged by the time of its receipt, written with it, and not noted again', async () => {
    const { send, units } = setUp();
    const longAgo = NOW_S - 80_000;
    expect(await send(BODY, standardHeaders(longAgo))).toBe('UNAUTHENTICATED');
    expect(await send(BODY, standardHeaders(longAgo), 'json', longAgo * 1000)).toMatchObject({ outcome: 'written' });
    const receivedAt = new Date(longAgo * 1000).toISOString();
    expect(JSON.parse(units[0]!.records[0]!.extra!)).toMatchObject({ receivedAt, timestamp: longAgo });
    expect(await send(BODY, standardHeaders(NOW_S, { id: 'msg_3' }), 'json', longAgo * 1000)).toBe('UNAUTHENTICATED');
  });
});

describe('a refused delivery whose id is in its body', () => {
  const body = '{"id":"evt_9","type":"order.paid"}';
  it.each<[string, SourceSettings]>([
    ['type-not-allowed', { allowedTypes: ['other'] }],
    ['missing-channel', { channels: ['gone'] }],
  ])('shows the id: %s', async (reason, settings) => {
    const { send, refusals } = setUp({ scheme: 'stripe', settings });
    await send(body, stripeHeaders(NOW_S, body));
    expect(refusals).toMatchObject([{ reason, isAuthentic: true, deliveryId: 'evt_9' }]);
  });
});

describe('a refused delivery that cannot be processed again', () => {
  const at = new Date(NOW_S * 1000);
  const refused = { at, bodyBytes: 100, reason: 'not-json', isAuthentic: true } as const;
  const sourceKeeps = { keepRefusedHours: 2 };

  it.each<[string, Partial<Refusal>, SourceSettings, number, RegExp]>([
    ['the source keeps none', {}, {}, 0, /keeps no refused deliveries/],
    ['its time is over', {}, sourceKeeps, 7_200_000, /not kept any more.*2 hours/],
    [
      'it was announced as too large to be read',
      { bodyBytes: 26_214_401 },
      sourceKeeps,
      0,
      /larger than 26214400 bytes/,
    ],
    [
      'it became too large to be read',
      { bodyBytes: undefined, reason: 'too-large', isAuthentic: false },
      sourceKeeps,
      0,
      /larger than 26214400 bytes/,
    ],
    ['it came before the source kept any', {}, sourceKeeps, 7_199_999, /never kept, or had to leave/],
  ])('says why: %s', (_why, row, settings, laterMs, expected) => {
    expect(whyNotKept({ ...refused, ...row }, settings, at.getTime() + laterMs)).toMatch(expected);
  });

  it('is done with an outcome of a delivery, but not with a refusal or a conflict', () => {
    const outcomes = ['written', 'replayed', 'answered', 'conflict', 'INVALID_JSON', undefined];
    expect(outcomes.map((outcome) => doneOutcomeOf({ outcome }))).toEqual([
      ...['written', 'replayed', 'answered'],
      ...[undefined, undefined, undefined],
    ]);
  });
});
