import { describe, expect, it } from '@jest/globals';
import { readConfig } from './config.ts';

describe('the configuration', () => {
  const surface = { id: 'risk-partner', apiUrl: 'https://risks.example.com', apiAudience: 'https://risks.example.com' };
  const surfacesOf = (...list: object[]) => ({ CONSOLE_SURFACES: JSON.stringify(list) });
  const env = {
    PUBLIC_URL: 'https://console.example.com',
    OIDC_ISSUER: 'https://login.example.com',
    OIDC_CLIENT_ID: 'console',
    SERVER_SECRETS: `s1:${'x'.repeat(32)}`,
    ...surfacesOf(surface),
  };

  it('requires a provider, an origin, secrets and surfaces, and has defaults for the rest', () => {
    expect(readConfig(env)).toMatchObject({
      ...{ port: 8080, sessionMaxSeconds: 43_200, oidcScope: 'openid profile email offline_access' },
      oidcClientSecret: undefined,
      surfaces: [{ id: 'risk-partner', api: { url: surface.apiUrl, audience: surface.apiAudience }, admin: undefined }],
    });
    for (const name of Object.keys(env)) expect(() => readConfig({ ...env, [name]: undefined })).toThrow(name);
  });

  it.each<[string, Record<string, string>]>([
    ['PUBLIC_URL', { PUBLIC_URL: 'https://console.example.com/console' }],
    ['PUBLIC_URL', { PUBLIC_URL: 'https://console.example.com/' }],
    ['PUBLIC_URL', { PUBLIC_URL: 'http://console.example.com' }],
    ['OIDC_ISSUER', { OIDC_ISSUER: 'http://login.example.com' }],
    ['OIDC_ISSUER', { OIDC_ISSUER: 'https://login.example.com?a=b' }],
    ['OIDC_ISSUER', { OIDC_ISSUER: 'login' }],
    ['OIDC_ISSUERS', { OIDC_ISSUERS: '[]' }],
    ['TLS_CERT_FILE', { TLS_CERT_FILE: '/x' }],
    ['must be JSON', { CONSOLE_SURFACES: '[' }],
    ['must be a JSON list', { CONSOLE_SURFACES: '[]' }],
    ['/0/id must be one of', surfacesOf({ ...surface, id: 'other' })],
    ['/0 has a member', surfacesOf({ ...surface, url: 'x' })],
    ['/0 has neither', surfacesOf({ id: 'case-gate' })],
    ['names a surface twice', surfacesOf(surface, surface)],
    ['/0/apiUrl must be', surfacesOf({ ...surface, apiUrl: 'https://a.example.com/' })],
    ['/0/apiUrl must be', surfacesOf({ ...surface, apiUrl: 'https://a.example.com/a/../b' })],
    ['/0/apiUrl must be', surfacesOf({ ...surface, apiUrl: 'https://u:p@a.example.com' })],
    ['/0/apiUrl must be', surfacesOf({ ...surface, apiUrl: 'file:///etc' })],
    ['/0/publicUrl must be', surfacesOf({ ...surface, publicUrl: 'https://a.example.com/' })],
    ['/0/apiAudience must be', surfacesOf({ ...surface, apiAudience: 'https://a.example.com#b' })],
    ['/0/adminAudience needs', surfacesOf({ ...surface, adminAudience: 'https://a.example.com' })],
    ['OIDC_CLIENT_SECRET: has white space at its beginning or end', { OIDC_CLIENT_SECRET: 'a-secret\n' }],
  ])('rejects an invalid value: %s', (said, more) => expect(() => readConfig({ ...env, ...more })).toThrow(said));

  it('does not quote rejected values', () => {
    const [secret, list] = ['too-short-to-be-a-secret', surfacesOf({ ...surface, apiUrl: 'https://u:hidden@x' })];
    expect(() => readConfig({ ...env, SERVER_SECRETS: secret, ...list })).toThrow(
      expect.objectContaining({ message: expect.not.stringMatching(/too-short|hidden/) }),
    );
  });
});
