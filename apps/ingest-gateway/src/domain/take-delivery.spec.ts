import { describe, expect, it } from '@jest/globals';
import { LedgerUnavailableError } from '@sealgate/ledger-port';
import { BODY, NOW_S, SECRET, setUp, standardHeaders, stripeHeaders } from '../testing/test-deliveries.ts';
import type { SchemeName, SourceSettings } from './source.ts';
import { SCHEMES } from './schemes/schemes.ts';

describe('the timestamp of a delivery', () => {
  it.each<[SchemeName, (atS: number) => Record<string, string>]>([
    ['standard-webhooks', standardHeaders],
    ['stripe', stripeHeaders],
  ])('of %s may differ from now, in both directions, by the tolerance of the source', async (scheme, headersAt) => {
    const { send, trail } = setUp({ scheme });
    for (const seconds of [-299, 0, 299])
      expect(await send(BODY, headersAt(NOW_S + seconds))).toMatchObject({ outcome: 'written' });
    const narrow = setUp({ scheme, settings: { toleranceSeconds: 10 } });
    expect(await narrow.send(BODY, headersAt(NOW_S - 9))).toMatchObject({ outcome: 'written' });
    expect(await narrow.send(BODY, headersAt(NOW_S - 11))).toBe('UNAUTHENTICATED');
    trail.length = 0;
    for (const seconds of [-301, 302, -86_400, 1e6])
      expect(await send(BODY, headersAt(NOW_S + seconds))).toBe('UNAUTHENTICATED');
    expect(trail).toEqual(Array(4).fill(['does not hold', 'confirm']).flat());
  });
});

describe('a delivery', () => {
  it('is written with its provenance, under an id that nobody can guess', async () => {
    const { send, units } = setUp();
    await send(BODY, standardHeaders(NOW_S));
    await send(BODY, standardHeaders(NOW_S, { id: 'msg_2' }));
    const [record] = units[0]!.records;
    expect(record).toMatchObject({ type: 'order.paid', owner: null, data: BODY });
    expect(JSON.parse(record!.extra!)).toEqual({
      source: `src_${'A'.repeat(22)}`,
      scheme: 'standard-webhooks',
      deliveryId: 'msg_1',
      timestamp: NOW_S,
      receivedAt: '2026-05-28T20:26:40.500Z',
      bodySha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      keyId: 'k1',
      vouchedBy: 'shared-secret',
    });
    expect(record!.id).not.toBe(units[1]!.records[0]!.id);
    expect(units[0]!.claim!.claim.equals(units[1]!.claim!.claim)).toBe(false);
  });

  it('that is a CloudEvent in binary mode has its id, type and source', async () => {
    const settings: SourceSettings = { token: { header: 'x-token', prefix: '' } };
    const { send, units } = setUp({ scheme: 'token', settings });
    const event = { 'x-token': SECRET, 'ce-id': 'A-1', 'ce-type': 'com.example.made', 'ce-source': '/shop%20one' };
    expect(await send('{"n":1}', event)).toMatchObject({ outcome: 'written' });
    await send('{"n":1}', { ...event, 'ce-source': '/shop%20two' });
    await send('{"n":2}', event);
    const [record] = units[0]!.records;
    expect(record).toMatchObject({ type: 'com.example.made', data: '{"n":1}' });
    expect(JSON.parse(record!.extra!)).toMatchObject({
      deliveryId: 'A-1',
      'ce-id': 'A-1',
      'ce-type': 'com.example.made',
      'ce-source': '/shop one',
    });
    const [one, otherShop, again] = units.map(({ claim }) => claim!.claim.toString('hex'));
    expect(one).not.toBe(otherShop);
    expect(one).toBe(again);
  });

  it('has the id and the type that its source or scheme names, rather than those of a CloudEvent', async () => {
    const { send, units } = setUp();
    const event = { 'ce-id': 'A-1', 'ce-type': 'com.example.made', 'ce-source': '/shop' };
    await send(BODY, { ...standardHeaders(NOW_S), ...event });
    await send('{}', { ...standardHeaders(NOW_S, { body: '{}', id: 'msg_2' }), ...event, 'ce-id': 'x'.repeat(257) });
    expect(units.map(({ records: [record] }) => record!.type)).toEqual(['order.paid', 'com.example.made']);
    expect(units.map(({ records: [record] }) => JSON.parse(record!.extra!) as object)).toEqual([
      expect.objectContaining({ deliveryId: 'msg_1', 'ce-id': 'A-1' }),
      expect.not.objectContaining({ 'ce-id': expect.anything() }),
    ]);
  });

  it('may say that its bytes are not encoded, and nothing else of their encoding', async () => {
    const { send } = setUp();
    const headers = standardHeaders(NOW_S);
    expect(await send(BODY, { ...headers, 'content-encoding': 'Identity' })).toMatchObject({ outcome: 'written' });
    for (const coding of ['gzip', 'identity, gzip', ''])
      expect(await send(BODY, { ...headers, 'content-encoding': coding })).toBe('UNSUPPORTED_MEDIA_TYPE');
  });

  it('without a delivery id is identified by its bytes', async () => {
    const { send, units } = setUp({ scheme: 'stripe' });
    await send(BODY, stripeHeaders(NOW_S));
    await send(BODY, stripeHeaders(NOW_S - 5));
    await send('{"type":"other"}', stripeHeaders(NOW_S, '{"type":"other"}'));
    const [one, two, other] = units.map(({ claim }) => claim!.claim.toString('hex'));
    expect(one).toBe(two);
    expect(one).not.toBe(other);
  });

  it('is refused in the order of the contract, and nothing is charged before the limits', async () => {
    const { send, trail } = setUp({ settings: { allowedTypes: ['order.paid'], channels: ['gone'] } });
    expect(await send('{', { ...standardHeaders(NOW_S), 'webhook-id': 'msg_2' }, null)).toBe('UNAUTHENTICATED');
    expect(await send('{', standardHeaders(NOW_S, { body: '{' }), null)).toBe('UNSUPPORTED_MEDIA_TYPE');
    expect(await send('{', standardHeaders(NOW_S, { body: '{' }))).toBe('INVALID_JSON');
    expect(await send('{"type":7.5}', standardHeaders(NOW_S, { body: '{"type":7.5}' }))).toBe('INVALID_REQUEST');
    expect(await send('{}', standardHeaders(NOW_S, { body: '{}' }))).toBe('ASSET_TYPE_NOT_ALLOWED');
    expect(await send(BODY, standardHeaders(NOW_S))).toBe('UNKNOWN_CHANNEL');
    expect(trail.filter((step) => step === 'charge' || step === 'append')).toEqual([]);
  });

  it('whose id exists with other content is answered, and its event written', async () => {
    for (const result of [{ outcome: 'reused' }, { outcome: 'conflict', id: 'x' }] as const) {
      const { send, trail } = setUp({ append: () => result });
      expect(await send(BODY, standardHeaders(NOW_S))).toEqual({
        outcome: 'conflict',
        body: '{"eventId":"evt_1","records":[]}',
        eventId: 'evt_1',
        confirmed: false,
      });
      expect(trail).toEqual(['holds', 'charge', 'append', 'confirm', 'rejected order.paid']);
    }
  });

  it('that an outage prevents from being written is not a conflict', async () => {
    const down = setUp({
      append: () => {
        throw new LedgerUnavailableError('away');
      },
    });
    expect(await down.send(BODY, standardHeaders(NOW_S))).toBe('LEDGER_UNAVAILABLE');
    expect(down.trail).not.toContain('rejected order.paid');
  });

  it('sent three times at once is written once, and two are answered as replays', async () => {
    const { send, units } = setUp();
    const answers = await Promise.all([1, 2, 3].map(() => send(BODY, standardHeaders(NOW_S))));
    expect(answers.map((answer) => (answer as { outcome: string }).outcome).toSorted()).toEqual([
      'replayed',
      'replayed',
      'written',
    ]);
    expect(units).toHaveLength(1);
  });

  it('that a secret might have verified which cannot be decrypted is 503, not 401', async () => {
    const { send } = setUp({ hasAllKeys: false });
    expect(await send(BODY, standardHeaders(NOW_S))).toMatchObject({ outcome: 'written' });
    expect(await send(BODY, { ...standardHeaders(NOW_S), 'webhook-id': 'msg_2' })).toBe('UNAVAILABLE');
  });

  it('with a number that no double keeps is written as text, with the reason', async () => {
    const { send, units } = setUp({ scheme: 'shopify' });
    const body = '{"id":820982911946154508,"email":"x@example.com","line_items":[],"password":"geheim"}';
    const key = { id: 'k1', key: SCHEMES.shopify.readKey(SECRET, {})! };
    const signed = { key, body: Buffer.from(body), deliveryId: 'd1', timestamp: NOW_S };
    const headers = {
      ...SCHEMES.shopify.sign(signed, { settings: {} }),
      'x-shopify-webhook-id': 'd1',
      'x-shopify-topic': 'orders/create',
    };
    expect(await send(body, headers)).toMatchObject({ outcome: 'written' });
    const [record] = units[0]!.records;
    expect(record).toMatchObject({
      type: 'orders/create',
      data: JSON.stringify({ value: '{"id":820982911946154508,"email":"x@example.com","line_items":[]}' }),
    });
    expect(JSON.parse(record!.extra!)).toMatchObject({ deliveryId: 'd1', parsed: false, reason: 'UNSAFE_NUMBER' });
  });

  it.each([
    ['members', '{"password":"a","b":{"CVV":"c","d":1}}', '{"b":{"d":1}}', 2],
    ['the text of JSON that is not strict', '{"password":"a","n":1e400}', '{"value":"{\\"n\\":1e400}"}', 1],
    ['nothing', '{"b":1}', '{"b":1}', undefined],
  ])('whose record lacks sensitive members says how many: of %s', async (_what, body, data, strippedFields) => {
    const { send, units } = setUp();
    expect(await send(body, standardHeaders(NOW_S, { body }))).toMatchObject({ outcome: 'written' });
    const [record] = units[0]!.records;
    expect(record!.data).toBe(data);
    expect((JSON.parse(record!.extra!) as { strippedFields?: number }).strippedFields).toBe(strippedFields);
  });

  it('of Slack that is a challenge is answered and charged, and nothing is written', async () => {
    const { send, trail } = setUp({ scheme: 'slack' });
    const body =
      '{"token":"t","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P","type":"url_verification"}';
    const key = { id: 'k1', key: SCHEMES.slack.readKey(SECRET, {})! };
    const headers = SCHEMES.slack.sign(
      { key, body: Buffer.from(body), deliveryId: '', timestamp: NOW_S },
      { settings: {} },
    )!;
    const { challenge } = JSON.parse(body) as { challenge: string };
    expect(await send(body, headers)).toMatchObject({ outcome: 'answered', body: JSON.stringify({ challenge }) });
    expect(trail).toEqual(['holds', 'charge']);
  });
});
