import { hash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { testClock, testIssuer, type TestIssuer } from '@sealgate/testing';
import { exportSPKI, generateKeyPair, importJWK, SignJWT, type CryptoKey } from 'jose';
import { accessTokens, isRefused, isTokenForm, type AccessTokens, type TokenRefusal } from './index.ts';

const AUDIENCE = 'https://api.example.com';
const [ADMIN, MCP] = [`${AUDIENCE}/admin`, `${AUDIENCE}/mcp`];
const clock = testClock();
let provider: TestIssuer;
let other: TestIssuer;
const open = (more: object = {}, lines: string[] = []): AccessTokens =>
  accessTokens({
    issuers: [{ issuer: provider.issuer, audience: { api: [AUDIENCE], admin: [ADMIN], mcp: [MCP] }, ...more }],
    now: clock.now,
    log: { info: (event: string) => lines.push(event), warn: (event: string) => lines.push(event) },
  });
let tokens: AccessTokens;

beforeAll(async () => {
  provider = await testIssuer({ audience: AUDIENCE, now: clock.now });
  other = await testIssuer({ audience: AUDIENCE, now: clock.now });
  tokens = open();
});
afterAll(async () => {
  await provider.stop();
  await other.stop();
});
afterEach(() => {
  provider.answerWith(undefined);
});

/** Undefined for a refused token. */
const accepted = async (by: AccessTokens, token: string) => {
  const checked = await by.check(token, 'api');
  return isRefused(checked) ? undefined : checked;
};
const refusal = async (by: AccessTokens, token: string) => {
  const checked = await by.check(token, 'api');
  return isRefused(checked) ? checked.refused : undefined;
};

const seconds = () => Math.floor(clock.now() / 1000);
const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const withHeader = (token: string, header: object) => [encoded(header), ...token.split('.').slice(1)].join('.');
const headerOf = (token: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString('utf8'));

describe('access tokens', () => {
  it.each(['ES256', 'ES384', 'EdDSA', 'PS256', 'RS256'])('are accepted with %s, by issuer and subject', async (alg) => {
    await provider.turnKeys({ alg, keep: true });
    clock.advance(31_000);
    const token = await accepted(tokens, await provider.token({ sub: 'alice', groups: ['ops'] }));
    expect(token).toMatchObject({ issuer: provider.issuer, subject: 'alice', claims: { groups: ['ops'] } });
  });

  it.each<[string, object]>([
    ['the type JWT and a scope', { header: { typ: 'JWT' }, claims: { scope: 'openid' } }],
    ['no type and a client', { header: { typ: undefined }, claims: { client_id: 'c' } }],
    ['a nonce beside a scope', { claims: { nonce: 'n', scope: 'openid' } }],
    ['the type as a media type, in capitals', { header: { typ: 'application/AT+JWT' } }],
    ['one audience of several', { claims: { aud: ['https://else.example', AUDIENCE] } }],
    ['exp 59 seconds ago', { claims: { exp: seconds() - 59, iat: seconds() - 600 } }],
    ['nbf in 59 seconds', { claims: { nbf: seconds() + 59 } }],
    ['a lifetime of exactly a day', { claims: { iat: seconds() - 10, exp: seconds() - 10 + 86_400 } }],
  ])('are accepted with %s', async (_what, { claims = {}, header = {} }: { claims?: object; header?: object }) => {
    const shift = (claims as { exp?: number; nbf?: number; iat?: number; aud?: unknown }) ?? {};
    const moved = Object.fromEntries(
      Object.entries(shift).map(([name, value]) => [name, typeof value === 'number' ? value + drift() : value]),
    );
    expect(await accepted(tokens, await provider.token(moved, header as never))).toBeDefined();
  });

  // Tables are built when the file loads, while the clock goes on.
  const madeAt = seconds();
  const drift = () => seconds() - madeAt;

  it.each<[string, TokenRefusal, () => Promise<string>]>([
    ['alg none', 'algorithm', async () => withHeader(await provider.token(), { alg: 'none', typ: 'at+jwt' })],
    [
      'alg none without a signature',
      'malformed',
      async () => `${encoded({ alg: 'none', typ: 'JWT' })}.${encoded({ iss: provider.issuer })}.`,
    ],
    [
      'HS256 with the public key as the secret',
      'algorithm',
      async () => {
        const { kid } = provider.published[0]!;
        const secret = Buffer.from(await exportSPKI((await importJWK(provider.published[0]!)) as CryptoKey));
        return new SignJWT({ iss: provider.issuer, sub: 's', aud: AUDIENCE, exp: seconds() + 60 })
          .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid: kid! })
          .sign(secret);
      },
    ],
    ['a key of another issuer', 'signature', () => other.token({ iss: provider.issuer })],
    ['an issuer that is not configured', 'unknown_issuer', () => other.token()],
    ['an issuer with an extra slash', 'unknown_issuer', () => provider.token({ iss: `${provider.issuer}/` })],
    ['a kid that is a path', 'unknown_key', () => provider.token({}, { kid: '../../../../dev/null' })],
    ['its own key set (jku)', 'header', () => provider.token({}, { jku: `${other.issuer}/jwks` })],
    ['its own certificate (x5u)', 'header', () => provider.token({}, { x5u: `${other.issuer}/x` })],
    ['its own key (jwk)', 'header', () => provider.token({}, { jwk: other.published[0] })],
    ['an ID token by its audience', 'no_access_token', () => provider.token({ aud: 'the-client' }, { typ: 'JWT' })],
    ['an ID token by its type', 'type', () => provider.token({}, { typ: 'id_token+jwt' })],
    ['no type, and nothing of an access token', 'no_access_token', () => provider.token({}, { typ: undefined })],
    ['a subject with U+0000', 'claim_text', () => provider.token({ sub: 'a\0b' })],
    ['a subject with a lone surrogate', 'claim_text', () => provider.token({ sub: 'a\ud800' })],
    ['an e-mail address with U+0000', 'claim_text', () => provider.token({ email: 'a\0@b.example' })],
    ['a subject of 256 characters', 'subject', () => provider.token({ sub: 'x'.repeat(256) })],
    ['an empty list of audiences', 'audience', () => provider.token({ aud: [] })],
    ['more than 16 KiB', 'too_long', () => provider.token({ pad: 'x'.repeat(16_384) })],
    ['a megabyte', 'too_long', () => provider.token({ pad: 'x'.repeat(1_048_576) })],
    ['two parts', 'malformed', async () => 'a.b'],
    ['exp 61 seconds ago', 'expired', () => provider.token({ exp: seconds() - 61, iat: seconds() - 600 })],
    ['no exp', 'lifetime', () => provider.token({ exp: undefined })],
    ['nbf in 61 seconds', 'not_yet_valid', () => provider.token({ nbf: seconds() + 61 })],
    ['iat in 61 seconds', 'not_yet_valid', () => provider.token({ iat: seconds() + 61, exp: seconds() + 120 })],
    ['a lifetime of a day and a second', 'lifetime', () => provider.token({ exp: seconds() + 86_401 })],
    ['another audience', 'audience', () => provider.token({ aud: `${AUDIENCE}/` })],
    ['no audience', 'audience', () => provider.token({ aud: undefined })],
    ['no subject', 'subject', () => provider.token({ sub: undefined })],
    ['an empty subject', 'subject', () => provider.token({ sub: '' })],
    ['a subject with a line break', 'claim_text', () => provider.token({ sub: 'a\nb' })],
    ['a missing signature', 'malformed', async () => (await provider.token()).replace(/[^.]+$/, '')],
    ['a signature with one flipped bit', 'signature', async () => flipped(await provider.token(), 2)],
    ['claims with one flipped bit', 'malformed', async () => flipped(await provider.token(), 1)],
    ['a nested token', 'header', () => provider.token({}, { cty: 'JWT' })],
    [
      'an unknown critical member',
      'malformed',
      () => provider.token({}, { crit: ['exp'], exp: 1 }).catch(() => 'a.b.c'),
    ],
    [
      'claims that are not an object',
      'malformed',
      async () => `${encoded(headerOf(await provider.token()))}.${encoded([])}.AAAA`,
    ],
    [
      'a header that is not JSON',
      'malformed',
      async () => `AAAA.${(await provider.token()).split('.').slice(1).join('.')}`,
    ],
  ])('are refused with %s: %s', async (_what, reason, make) => {
    expect(await refusal(tokens, await make())).toBe(reason);
  });

  it('are recognized by form, without decoding', async () => {
    const token = await provider.token();
    expect(isTokenForm(token)).toBe(true);
    for (const text of [`${token}=`, `${token}.x`, 'a.b', 'svc_abc', `${'a'.repeat(1_048_576)}.b.c`, ` ${token}`])
      expect(isTokenForm(text)).toBe(false);
  });

  it('are accepted by the listener whose audience they have, and by no other', async () => {
    for (const [listener, aud] of [
      ['api', AUDIENCE],
      ['admin', ADMIN],
      ['mcp', MCP],
    ] as const) {
      const token = await provider.token({ aud });
      const takers = [];
      for (const asked of ['api', 'admin', 'mcp'] as const)
        if (!isRefused(await tokens.check(token, asked))) takers.push(asked);
      expect(takers).toEqual([listener]);
    }
    const onlyAdmin = open({ audience: { admin: [AUDIENCE], mcp: [] } });
    for (const listener of ['api', 'mcp'] as const)
      expect(await onlyAdmin.check(await provider.token(), listener)).toEqual({ refused: 'no_audience_configured' });
    expect(onlyAdmin.issuersOf('mcp')).toEqual([]);
    expect(onlyAdmin.issuersOf('admin')).toHaveLength(1);
  });

  it('of 16 KiB are accepted', async () => {
    const plain = (await provider.token({ pad: '' })).length;
    const long = await provider.token({ pad: 'x'.repeat(Math.floor(((16_384 - plain) * 3) / 4) - 2) });
    expect(long.length).toBeGreaterThan(16_370);
    expect(await accepted(tokens, long)).toBeDefined();
  });

  it('tell issuer and subject when refused only if the signature was valid', async () => {
    const { issuer } = provider;
    const late = await provider.token({ sub: 'alice', exp: seconds() - 61, iat: seconds() - 600 });
    expect(await tokens.check(late, 'api')).toEqual({ refused: 'expired', issuer, subject: 'alice' });
    expect(await tokens.check(flipped(late, 2), 'api')).toEqual({ refused: 'signature' });
    expect(await tokens.check(await other.token({ iss: issuer, sub: 'alice' }), 'api')).toEqual({
      refused: 'signature',
    });
    const unnamed = await provider.token({ sub: 'a\nb', aud: 'else' });
    expect(await tokens.check(unnamed, 'api')).toEqual({ refused: 'audience', issuer });
  });

  it('survive a key rotation, and a withdrawn key is refused after the next fetch', async () => {
    const fresh = open();
    const before = await provider.token();
    expect(await accepted(fresh, before)).toBeDefined();
    await provider.turnKeys({ keep: true });
    clock.advance(30_001);
    const asked = provider.keyRequests;
    const [first, second] = [await provider.token(), await provider.token()];
    const both = await Promise.all([accepted(fresh, first), accepted(fresh, second)]);
    expect(both.every((one) => one !== undefined)).toBe(true);
    expect(provider.keyRequests).toBe(asked + 1);
    expect(await accepted(fresh, before)).toBeDefined();
    await provider.turnKeys();
    clock.advance(30_001);
    expect(await accepted(fresh, await provider.token())).toBeDefined();
    expect(await accepted(fresh, before)).toBeUndefined();
  });

  it('with unknown keys trigger at most one fetch in 30 seconds', async () => {
    const fresh = open();
    expect(await accepted(fresh, await provider.token())).toBeDefined();
    clock.advance(30_001);
    const asked = provider.keyRequests;
    for (let number = 0; number < 20; number += 1)
      expect(await accepted(fresh, await provider.token({}, { kid: `unknown-${number}` }))).toBeUndefined();
    expect(provider.keyRequests).toBe(asked + 1);
  });

  it('are not delayed by an unavailable provider while their key is cached', async () => {
    const fresh = open();
    const token = await provider.token();
    expect(await accepted(fresh, token)).toBeDefined();
    provider.answerWith(() => undefined); // It accepts the request and never answers.
    clock.advance(590_000);
    const later = await provider.token();
    clock.advance(20_000);
    const start = performance.now();
    expect(await accepted(fresh, later)).toBeDefined();
    expect(performance.now() - start).toBeLessThan(500);
  });

  it.each<[string, (response: ServerResponse, url: string) => void]>([
    ['is slow', () => undefined],
    ['redirects', (response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
    ['answers HTML', (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html></html>')],
    ['answers 500', (response) => void response.writeHead(500).end('{}')],
    ['answers a list', (response) => void response.end('[]')],
    ['answers a megabyte', (response) => void response.end(`{"a":"${'x'.repeat(1_048_576)}"}`)],
    [
      'is another issuer',
      (response) => void response.end(JSON.stringify({ issuer: 'https://x.example', jwks_uri: 'https://x.example/' })),
    ],
    [
      'has its keys over http',
      (response) => void response.end(JSON.stringify({ issuer: provider.issuer, jwks_uri: 'http://x.example/' })),
    ],
    [
      'has 10,000 keys',
      (response, url) =>
        void response.end(
          url === '/jwks'
            ? JSON.stringify({ keys: Array.from({ length: 10_000 }, () => ({ kty: 'EC' })) })
            : JSON.stringify({ issuer: provider.issuer, jwks_uri: `${provider.issuer}/jwks` }),
        ),
    ],
  ])(
    'cannot be verified without any cached key because the provider %s, and can once it recovers',
    async (_what, answer) => {
      provider.answerWith(answer);
      const lines: string[] = [];
      const fresh = open({}, lines);
      const token = await provider.token();
      await expect(fresh.check(token, 'api')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
      // No caller waits again for some seconds.
      const start = performance.now();
      await expect(fresh.check(token, 'api')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
      expect(performance.now() - start).toBeLessThan(500);
      provider.answerWith(undefined);
      clock.advance(5001);
      expect(await accepted(fresh, await provider.token())).toBeDefined();
      expect(lines).toEqual(['oidc_keys_unseen', 'oidc_keys_seen']);
    },
  );

  it('use the configured jwksUri, without discovery', async () => {
    provider.answerWith((response, url) => {
      response.writeHead(url === '/jwks' ? 200 : 500).end(JSON.stringify({ keys: provider.published }));
    });
    expect(await accepted(open({ jwksUri: `${provider.issuer}/jwks` }), await provider.token())).toBeDefined();
  });

  it('never trust a published symmetric key', async () => {
    const published = [...provider.published];
    const { privateKey } = await generateKeyPair('ES256');
    provider.publish([{ kty: 'oct', k: hash('sha256', 'x', 'base64url'), kid: 'sym', alg: 'HS256' }, ...published]);
    const fresh = open();
    const forged = await new SignJWT({ iss: provider.issuer, sub: 's', aud: AUDIENCE, exp: seconds() + 60 })
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'sym' })
      .sign(privateKey);
    expect(await accepted(fresh, forged)).toBeUndefined();
    expect(await accepted(fresh, await provider.token())).toBeDefined();
    provider.publish(published);
  });
});

function flipped(token: string, part: number): string {
  const parts = token.split('.');
  const bytes = Buffer.from(parts[part]!, 'base64url');
  bytes[5]! ^= 1;
  parts[part] = bytes.toString('base64url');
  return parts.join('.');
}
