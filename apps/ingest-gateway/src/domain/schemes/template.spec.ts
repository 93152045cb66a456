import { createHmac, createSecretKey } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { SchemeName, SourceSettings } from '../source.ts';
import { isVouched } from './scheme.ts';
import { SCHEMES } from './schemes.ts';
import type { TimestampFormat } from './template.ts';

const NOW_S = 1_780_000_000;
const SECRET = 'a-secret-of-somebody';
const STANDARD_SECRET = Buffer.alloc(24, 7);

interface Sent {
  readonly id: string;
  readonly time: string;
  readonly body: string;
}

const own = (signed: string, timestampFormat: TimestampFormat = 'seconds'): SourceSettings => ({
  deliveryIdFrom: 'header:x-id',
  signature: {
    header: 'x-sig',
    algorithm: 'sha256',
    encoding: 'hex',
    prefix: '',
    signed,
    ...(signed.includes('{timestamp}') ? { timestampHeader: 'x-time', timestampFormat } : {}),
  },
});

/** Whether a signature over this text is taken for what is sent. */
function takes(settings: SourceSettings, text: string, { id, time, body }: Sent): boolean {
  const signature = createHmac('sha256', SECRET).update(text).digest('hex');
  return verdict('hmac', settings, { 'x-id': id, 'x-time': time, 'x-sig': signature }, body);
}

function verdict(scheme: SchemeName, settings: SourceSettings, headers: Record<string, string>, body: string): boolean {
  const key = scheme === 'hmac' ? createSecretKey(Buffer.from(SECRET)) : createSecretKey(STANDARD_SECRET);
  const delivery = { header: (name: string) => headers[name], body: Buffer.from(body) };
  return isVouched(SCHEMES[scheme].verify(delivery, { keys: [{ id: 'k1', key }], settings, url: 'https://x.test/h' }));
}

describe('bytes of a signed body', () => {
  it.each(['webhook', 'svix'])('are never passed off as part of the id of standard-webhooks, as %s-id', (names) => {
    const [id, body] = ['msg_X', `{"type":"a.b","note":"x.${NOW_S}.y","password":"S"}`];
    const signature = createHmac('sha256', STANDARD_SECRET).update(`${id}.${NOW_S}.${body}`).digest('base64');
    const sent = (otherId: string, otherBody: string) =>
      verdict(
        'standard-webhooks',
        {},
        { [`${names}-id`]: otherId, [`${names}-timestamp`]: String(NOW_S), [`${names}-signature`]: `v1,${signature}` },
        otherBody,
      );
    expect(sent(id, body)).toBe(true);
    expect(sent(`msg_X.${NOW_S}.{"type":"a.b","note":"x`, 'y","password":"S"}')).toBe(false);
  });

  const RFC = '2026-05-28T20:26:40';
  it.each<[string, TimestampFormat, Sent, Sent]>([
    ['{id}.{body}', 'seconds', { id: 'a', time: '', body: 'b.{"c":1}' }, { id: 'a.b', time: '', body: '{"c":1}' }],
    ['{id}:{body}', 'seconds', { id: 'a', time: '', body: 'b:c' }, { id: 'a:b', time: '', body: 'c' }],
    ['{body}.{id}', 'seconds', { id: 'c', time: '', body: 'a.b' }, { id: 'b.c', time: '', body: 'a' }],
    ['{id}{body}', 'seconds', { id: 'c', time: '', body: 'd' }, { id: 'cd', time: '', body: '' }],
    [
      '{id}{timestamp}{body}',
      'rfc3339',
      { id: 'a', time: `${RFC}Z`, body: `${RFC}Z=x` },
      { id: `a${RFC}Z`, time: `${RFC}Z`, body: '=x' },
    ],
    [
      '{timestamp}{body}',
      'rfc3339',
      { id: '', time: `${RFC}.123Z`, body: '{"a":1}' },
      { id: '', time: RFC, body: '.123Z{"a":1}' },
    ],
    [
      '{timestamp}{body}',
      'rfc3339',
      { id: '', time: `${RFC}.12+00:00`, body: 'a=1' },
      { id: '', time: `${RFC}.1`, body: '2+00:00a=1' },
    ],
    [
      '{timestamp}.{body}',
      'rfc3339',
      { id: '', time: `${RFC}.5`, body: '{"a":1}' },
      { id: '', time: RFC, body: '5.{"a":1}' },
    ],
  ])('are never passed off as part of id or time: %j of %s', (signed, format, given, moved) => {
    const settings = own(signed, format);
    const text = ({ id, time, body }: Sent) =>
      signed.replace('{id}', id).replace('{timestamp}', time).replace('{body}', body);
    expect(text(moved)).toBe(text(given));
    // What the source did sign is taken, except where its template delimits nothing, which settings refuse.
    expect(takes(settings, text(given), given)).toBe(signed !== '{id}{body}');
    expect(takes(settings, text(given), moved)).toBe(false);
  });

  it('may begin with digits behind a number of seconds, since a longer one is out of any tolerance', () => {
    const sent = { id: '', time: String(NOW_S), body: '12345' };
    expect(takes(own('{timestamp}{body}'), `${NOW_S}12345`, sent)).toBe(true);
  });
});
