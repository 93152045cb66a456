import { createHmac, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { SchemeName } from '../source.ts';
import { SCHEMES, vouch } from './schemes.ts';
import type { SignatureForm } from '../source.ts';

const NOW_S = 1_780_000_000;
const BODY = '{"type":"thing.made","id":"evt_1"}';
const standardSecret = `whsec_${randomBytes(24).toString('base64')}`;
const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const whpk = `whpk_${Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url').toString('base64')}`;
const v1a = sign(null, Buffer.from(`msg_1.${NOW_S}.${BODY}`), privateKey).toString('base64');

function verify(scheme: SchemeName, secret: string, headers: Record<string, string>) {
  const delivery = { header: (name: string) => headers[name], body: Buffer.from(BODY) };
  return SCHEMES[scheme].verify(delivery, {
    settings: {},
    keys: [{ id: 'k1', key: SCHEMES[scheme].readKey(secret, {})! }],
  });
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
  ])('are invalid with %s', (_what, value) => {
    expect(stripeOf(value)).toHaveProperty('unvouched');
  });
});

describe('a header that is a list', () => {
  const secret = 'a-secret-of-somebody';
  const good = createHmac('sha256', secret).update(`${NOW_S}.${BODY}`).digest('hex');
  const noise = fc.constantFrom<string[]>(
    'v0=x',
    't2=1',
    'v1',
    'x',
    '',
    'v1 =',
    ` v1=${'a'.repeat(64)} `,
    'V1=x',
    'T=1',
  );
  const blanks = fc.constantFrom('', ' ', '  ', '\t');

  it('is read in any order, with blanks, and with members of other names', () => {
    const property = fc.property(
      fc.array(noise, { maxLength: 8 }),
      fc.array(fc.tuple(blanks, blanks), { minLength: 10, maxLength: 10 }),
      fc.nat(),
      (others, around, seed) => {
        const members = others.toSpliced(seed % (others.length + 1), 0, `v1=${good}`);
        members.splice((seed >> 4) % (members.length + 1), 0, `t=${NOW_S}`);
        const text = members.map((member, at) => around[at]!.join(member)).join(',');
        expect(verify('stripe', secret, { 'stripe-signature': text })).toEqual({ keyId: 'k1', timestamp: NOW_S });
      },
    );
    fc.assert(property);
  });

  it('of any content without the signature is refused', () => {
    const property = fc.property(fc.array(noise, { maxLength: 8 }), fc.string(), (others, text) => {
      const list = [`t=${NOW_S}`, ...others, text].join(',');
      expect(verify('stripe', secret, { 'stripe-signature': list })).toHaveProperty('unvouched');
    });
    fc.assert(property);
  });
});

/** As the guide sets up the own header of Orb. Both signatures were made with the commands of OpenSSL. */
describe('several signatures parted by spaces', () => {
  const body = '{"id":"evt_1","type":"thing.made","event_id":"evt_1","größe":1}';
  const signature: SignatureForm = {
    header: 'x-orb-signature',
    algorithm: 'sha256',
    encoding: 'hex',
    prefix: '',
    signatureMember: 'v1',
    separator: ' ',
    signed: 'v1:{timestamp}:{body}',
    timestampHeader: 'x-orb-timestamp',
    timestampFormat: 'rfc3339',
  };
  const keys = [{ id: 'k1', key: SCHEMES.hmac.readKey('a-secret-of-somebody', { signature })! }];
  const ours = 'v1=cc445c1c425801c043b167a3caa56ee7d79d198d814d1d16ba1c8d38570050b8';
  const theirs = 'v1=1ea4f5787b37f4130286553f6a3f92eeef0777eb009332e575a6a9582b4dee99';
  const judge = (signatures: string) => {
    const headers: Record<string, string> = {
      'x-orb-signature': signatures,
      'x-orb-timestamp': '2026-05-28T20:26:40Z',
    };
    const delivery = { header: (name: string) => headers[name], body: Buffer.from(body) };
    return SCHEMES.hmac.verify(delivery, { settings: { signature }, keys });
  };

  it.each([ours, `${ours} ${theirs}`, `${theirs} ${ours}`])('are taken where one of them is ours: %s', (signatures) => {
    expect(judge(signatures)).toEqual({ keyId: 'k1', timestamp: NOW_S });
  });

  it('are refused where none is', () => {
    expect(judge(`${theirs} ${theirs}`)).toEqual({ unvouched: 'no-matching-secret' });
    expect(judge(ours.slice(3))).toEqual({ unvouched: 'header-malformed', header: 'x-orb-signature' });
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
    expect(SCHEMES[scheme].readKey(value, {})).toBeUndefined();
  });
});

describe('the reason why a delivery is not authentic', () => {
  const secret = 'a-secret-of-somebody';
  const headers = {
    'x-slack-request-timestamp': String(NOW_S),
    'x-slack-signature': `v0=${createHmac('sha256', secret).update(`v0:${NOW_S}:${BODY}`).digest('hex')}`,
  };
  const reasonAt = (atMs: number, given: Record<string, string>, value = secret) => {
    const source = {
      scheme: 'slack' as const,
      settings: {},
      keys: [{ id: 'k1', key: SCHEMES.slack.readKey(value, {})! }],
    };
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

describe('a public key', () => {
  const p256 =
    'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEfsLaPCFCHxZEsxeuWT66iyB1Z18ur+yi1wrXI2DsExvhBy3WCwTi+6CIiVIHXPBcYtd3pHNHfGCQxyUIOOfFgg==';
  const ed25519 = 'MCowBQYDK2VwAyEA/Y5kzO3mV1UHUIXRYcFeUM1Eh3aH3O1gpYfJjAkTXQE=';
  const raw = 'fd8e64ccede65755075085d161c15e50cd44877687dced60a587c98c09135d01';
  const pem = (key: string, separator = '\n') =>
    ['-----BEGIN PUBLIC KEY-----', ...(key.match(/.{1,64}/g) ?? []), '-----END PUBLIC KEY-----'].join(separator);
  const read = (algorithm: 'ed25519' | 'ecdsa-p256', value: string) =>
    SCHEMES.hmac.readKey(value, {
      signature: { header: 'x', algorithm, encoding: 'hex', prefix: '', signed: '{body}' },
    });

  it.each([
    ['ed25519', ed25519],
    ['ed25519', pem(ed25519)],
    ['ed25519', pem(ed25519, ' ')],
    ['ed25519', raw],
    ['ed25519', Buffer.from(raw, 'hex').toString('base64')],
    ['ecdsa-p256', p256],
    ['ecdsa-p256', pem(p256)],
    ['ecdsa-p256', pem(p256, '\r\n')],
  ] as const)('of %s may be %j', (algorithm, value) => {
    expect(read(algorithm, value)?.type).toBe('public');
  });

  const { privateKey: ec } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { publicKey: other } = generateKeyPairSync('ec', { namedCurve: 'P-384' });
  it.each([
    ['the key of the other algorithm', 'ed25519', p256],
    ['the key of the other algorithm', 'ecdsa-p256', ed25519],
    ['another curve', 'ecdsa-p256', other.export({ format: 'pem', type: 'spki' }).toString()],
    ['a private key', 'ecdsa-p256', ec.export({ format: 'pem', type: 'pkcs8' }).toString()],
    ['a private key of Ed25519', 'ed25519', privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64')],
    ['31 bytes', 'ed25519', raw.slice(2)],
    ['a text', 'ed25519', 'a-secret-of-somebody'],
  ] as const)('is not %s', (_what, algorithm, value) => {
    expect(read(algorithm, value)).toBeUndefined();
  });
});
