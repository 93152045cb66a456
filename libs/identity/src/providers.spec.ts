import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testClock, testIssuer, type TestIssuer } from '@sealgate/testing';
import { accessTokens, isRefused } from './index.ts';

/**
 * Tokens with the header and claims that each provider documents. Issuer, times and signature are those of the test
 * issuer; what differs between providers is the rest.
 */
const clock = testClock();
let provider: TestIssuer;

beforeAll(async () => {
  provider = await testIssuer({ audience: 'unused', now: clock.now });
});
afterAll(() => provider.stop());

const GUID = '6731de76-14a6-49ae-97bc-6eba6914391e';
const untyped = { typ: undefined };
const jwt = { typ: 'JWT' };

const okta = {
  ver: 1,
  jti: 'AT.0mP4JKAZX1iACIT4vbEDF7LpvDVjxypPMkf0d25jZQA',
  aud: 'api://default',
  cid: '0oabucvyc38HLL1ef0h7',
  uid: '00u1a2b3',
  scp: ['openid', 'email'],
  sub: 'ada@example.com',
};
const cognito = {
  aud: undefined,
  client_id: '57cbishk4j24pabc1234567890',
  token_use: 'access',
  scope: 'aws.cognito.signin.user.admin',
  'cognito:groups': ['operators'],
  username: 'ada',
  sub: 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee',
  version: 2,
};
const entra1 = {
  aud: `api://${GUID}`,
  appid: GUID,
  appidacr: '0',
  ver: '1.0',
  scp: 'access_as_user',
  idp: 'https://sts.example',
  oid: '690222be-ff1a-4d56-abd1-7e4f7d38e474',
  sub: 'HKZpfaHyWadeOouYlitjrI-KffTm222X5rrV3xDqfKQ',
  tid: GUID,
};
const entra2 = {
  aud: GUID,
  azp: GUID,
  azpacr: '0',
  ver: '2.0',
  scp: 'access_as_user',
  preferred_username: 'ada@example.com',
  oid: '690222be-ff1a-4d56-abd1-7e4f7d38e474',
  sub: 'HKZpfaHyWadeOouYlitjrI-KffTm222X5rrV3xDqfKQ',
  tid: GUID,
};
const jumpcloud = {
  aud: ['https://api.example.com'],
  client_id: 'abc',
  ext: {},
  scp: ['openid', 'offline'],
  sub: '64a1b2c3d4e5f6',
  jti: '0c1d6fa2-5fc5-4ef8-8ac4-6a4c3c9b1b11',
};
const auth0 = {
  aud: ['https://api.example.com', 'https://tenant.example/userinfo'],
  azp: 'client',
  scope: 'openid email',
  sub: 'auth0|5f7c8ec7c33c6c004bbafe82',
};
const keycloak = {
  aud: ['https://api.example.com', 'account'],
  typ: 'Bearer',
  azp: 'console',
  scope: 'openid email profile',
  email: 'ada@example.com',
  email_verified: true,
  realm_access: { roles: ['operators'] },
  sid: 's-1',
  sub: 'f-1',
};
const google = { aud: '1234.apps.googleusercontent.com', azp: '1234.apps.googleusercontent.com', sub: '1098765' };

interface Case {
  readonly claims: Readonly<Record<string, unknown>>;
  readonly header: Readonly<Record<string, unknown>>;
  /** The configured audience. */
  readonly audience: string;
  readonly identityClaim?: string;
}

const checked = async ({ claims, header, audience, identityClaim }: Case) => {
  const { issuer } = provider;
  const more = identityClaim === undefined ? {} : { identityClaim };
  const tokens = accessTokens({
    issuers: [{ issuer, audience: { api: [audience] }, ...more }],
    now: clock.now,
    log: { info: () => undefined, warn: () => undefined },
  });
  return tokens.check(await provider.token(claims, header), 'api');
};

describe('an access token', () => {
  it.each<[string, string, Case]>([
    ['Okta', 'ada@example.com', { claims: okta, header: untyped, audience: 'api://default' }],
    ['Okta by uid', '00u1a2b3', { claims: okta, header: untyped, audience: 'api://default', identityClaim: 'uid' }],
    ['Cognito, which has no audience', cognito.sub, { claims: cognito, header: untyped, audience: cognito.client_id }],
    ['Entra v1', entra1.sub, { claims: entra1, header: jwt, audience: `api://${GUID}` }],
    ['Entra v2 by oid', entra2.oid, { claims: entra2, header: jwt, audience: GUID, identityClaim: 'oid' }],
    [
      'Entra for a program',
      'app-oid',
      { claims: { aud: GUID, azp: GUID, idtyp: 'app', sub: 'app-oid', roles: ['r'] }, header: jwt, audience: GUID },
    ],
    ['JumpCloud', jumpcloud.sub, { claims: jumpcloud, header: jwt, audience: 'https://api.example.com' }],
    ['Auth0', auth0.sub, { claims: auth0, header: jwt, audience: 'https://api.example.com' }],
    ['Auth0 by RFC 9068', auth0.sub, { claims: auth0, header: { typ: 'at+jwt' }, audience: 'https://api.example.com' }],
    ['Keycloak', keycloak.sub, { claims: keycloak, header: jwt, audience: 'https://api.example.com' }],
  ])('of %s is accepted', async (_provider, subject, given) => {
    expect(await checked(given)).toMatchObject({ issuer: provider.issuer, subject });
  });

  it.each<[string, string, Case]>([
    [
      'an ID token of Okta for the same audience',
      'id_token',
      {
        claims: { ...okta, scp: undefined, cid: undefined, at_hash: 'x', nonce: 'n' },
        header: untyped,
        audience: okta.aud,
      },
    ],
    [
      'an ID token of Cognito',
      'id_token',
      {
        claims: { ...cognito, aud: cognito.client_id, client_id: undefined, token_use: 'id' },
        header: untyped,
        audience: cognito.client_id,
      },
    ],
    [
      'a token without audience or token_use',
      'audience',
      { claims: { ...cognito, token_use: undefined }, header: untyped, audience: cognito.client_id },
    ],
    [
      'a token of another client of Cognito',
      'audience',
      { claims: { ...cognito, client_id: 'another' }, header: untyped, audience: cognito.client_id },
    ],
    [
      'a token for another audience whose client is ours',
      'audience',
      { claims: { ...cognito, aud: 'another' }, header: untyped, audience: cognito.client_id },
    ],
    [
      'an ID token of Entra, whose audience is the same application',
      'id_token',
      { claims: { ...entra2, scp: undefined, azp: undefined, nonce: 'n' }, header: jwt, audience: GUID },
    ],
    [
      'an ID token of Entra without a nonce',
      'no_access_token',
      { claims: { ...entra2, scp: undefined, azp: undefined }, header: jwt, audience: GUID },
    ],
    [
      'an ID token of Keycloak',
      'id_token',
      { claims: { ...keycloak, typ: 'ID' }, header: jwt, audience: 'https://api.example.com' },
    ],
    [
      'a refresh token of Keycloak',
      'refresh_token',
      { claims: { ...keycloak, typ: 'Refresh' }, header: jwt, audience: 'https://api.example.com' },
    ],
    [
      'an offline token of Keycloak',
      'refresh_token',
      { claims: { ...keycloak, typ: 'Offline' }, header: jwt, audience: 'https://api.example.com' },
    ],
    ['an ID token of Google', 'no_access_token', { claims: google, header: jwt, audience: google.aud }],
    [
      'an ID token with c_hash, typed as an access token',
      'id_token',
      { claims: { ...auth0, c_hash: 'x' }, header: { typ: 'at+jwt' }, audience: 'https://api.example.com' },
    ],
    [
      'empty scopes in place of an access token',
      'no_access_token',
      { claims: { ...okta, cid: '', scp: [] }, header: untyped, audience: okta.aud },
    ],
    [
      'no identity claim',
      'subject',
      { claims: { ...entra2, oid: undefined }, header: jwt, audience: GUID, identityClaim: 'oid' },
    ],
    [
      'an identity claim of an object prototype',
      'subject',
      { claims: entra2, header: jwt, audience: GUID, identityClaim: 'constructor' },
    ],
  ])('is not %s: %s', async (_what, reason, given) => {
    const found = await checked(given);
    expect(isRefused(found) ? found.refused : found).toBe(reason);
  });
});
