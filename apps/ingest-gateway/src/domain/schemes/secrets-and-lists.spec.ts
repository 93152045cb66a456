import { createHmac, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { SchemeName } from '../caller.ts';
import { SCHEMES, vouch } from './schemes.ts';

const NOW_S = 1_780_000_000;
const BODY = '{"type":"thing.made","id":"evt_1"}';
const standardSecret = `whsec_${randomBytes(24).toString('base64')}`;
const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const whpk = `whpk_${Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url').toString('base64')}`;
const v1a = sign(null, Buffer.from(`msg_1.${NOW_S}.${BODY}`), privateKey).toString('base64');

function verify(scheme: SchemeName, secret: string, headers: Record<string, string>) {
  const delivery = { header: (name: string) => headers[name], body: Buffer.from(BODY) };
  return SCHEMES[scheme].verify(delivery, [{ id: 'k1', key: SCHEMES[scheme].readKey(secret)! }], {});
}

describe('several signatures', () => {
  const secret = 'a-secret-of-somebody';
  const stripeOf = (value: string) => verify('stripe', secret, { 'stripe-signature': value });
  const good = createHmac('sha256', secret).update(`${NOW_S}.${BODY}`).digest('hex');
  const bad = 'a'.repeat(64);

  it('are valid where one of them is', () => {
    expect(stripeOf(`t=${NOW_S},v1=${bad},v1=${good},v0=${bad}`)).toEqual({ keyId: 'k1', timestamp: NOW_S });
    const headers = {
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(NOW_S),
      'webhook-signature': `v1,${bad} v1a,${v1a} v2,${bad}`,
    };
    expect(verify('standard-webhooks', whpk, headers)).toMatchObject({ keyId: 'k1' });
    // A shared secret does not verify a signature of a public key, nor the reverse.
    expect(verify('standard-webhooks', standardSecret, headers)).toHaveProperty('unvouched');
  });

  it.each([
    ['no version that is known', `t=${NOW_S},v0=${good}`],
    ['two timestamps', `t=${NOW_S},t=${NOW_S},v1=${good}`],
    ['no timestamp', `v1=${good}`],
    ['a timestamp in another form', `t=0${NOW_S},v1=${good}`],
    ['more of them than any sender sends', `t=${NOW_S}${`,v1=${bad}`.repeat(10)},v1=${good}`],
    ['blanks', `t=${NOW_S}, v1=${good}`],
  ])('are invalid with %s', (_what, value) => {
    expect(stripeOf(value)).toHaveProperty('unvouched');
  });
});

describe('a secret', () => {
  it.each<[SchemeName, string]>([
    ['github', 'short'],
    ['github', 'x'.repeat(513)],
    ['github', 'with a line break\nin between'],
    ['github', 'with ä, which is no ASCII'],
    ['standard-webhooks', 'plain-text-of-a-secret'],
    ['standard-webhooks', `whsec_${randomBytes(23).toString('base64')}`],
    ['standard-webhooks', `whsec_${randomBytes(65).toString('base64')}`],
    ['standard-webhooks', 'whsec_not base64 at all, and long enough'],
    ['standard-webhooks', `whpk_${randomBytes(31).toString('base64')}`],
    ['standard-webhooks', 'whpk_'],
  ])('of %s is not %s', (scheme, value) => {
    expect(SCHEMES[scheme].readKey(value)).toBeUndefined();
  });
});

describe('the reason why a delivery is not authentic', () => {
  const secret = 'a-secret-of-somebody';
  const headers = {
    'x-slack-request-timestamp': String(NOW_S),
    'x-slack-signature': `v0=${createHmac('sha256', secret).update(`v0:${NOW_S}:${BODY}`).digest('hex')}`,
  };
  const reasonAt = (atMs: number, given: Record<string, string>, value = secret) => {
    const source = { scheme: 'slack' as const, settings: {}, keys: [{ id: 'k1', key: SCHEMES.slack.readKey(value)! }] };
    return vouch(source, { header: (name) => given[name], body: Buffer.from(BODY) }, atMs);
  };

  it.each<[string, object, Record<string, string>, string]>([
    ['a header that is missing', { unvouched: 'header-missing', header: 'x-slack-signature' }, {}, secret],
    [
      'a header in another form',
      { unvouched: 'header-malformed', header: 'x-slack-request-timestamp' },
      { ...headers, 'x-slack-request-timestamp': '2026-05-28T20:26:40Z' },
      secret,
    ],
    ['another secret', { unvouched: 'no-matching-secret' }, headers, 'another-secret-than-that'],
  ])('is %s', (_what, reason, given, value) => {
    expect(reasonAt(NOW_S * 1000, given, value)).toEqual(reason);
  });

  it('is the clock, with how far the sender is ahead, only where the signature is right', () => {
    expect(reasonAt((NOW_S + 300) * 1000, headers)).toEqual({ keyId: 'k1', timestamp: NOW_S });
    expect(reasonAt((NOW_S + 400) * 1000, headers)).toEqual({ unvouched: 'clock-skew', seconds: -400 });
    expect(reasonAt((NOW_S - 301) * 1000, headers)).toEqual({ unvouched: 'clock-skew', seconds: 301 });
    const forged = { ...headers, 'x-slack-request-timestamp': String(NOW_S - 400) };
    expect(reasonAt(NOW_S * 1000, forged)).toEqual({ unvouched: 'no-matching-secret' });
  });
});
