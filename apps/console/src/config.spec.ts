import { describe, expect, it } from '@jest/globals';
import { readConfig } from './config.ts';

describe('the configuration', () => {
  const surface = { id: 'risk-partner', apiUrl: 'https://risks.example.com' };
  const audience = { surface: 'risk-partner', listener: 'api', resource: 'https://risks.example.com' };
  const audiencesOf = (...list: object[]) => ({ OIDC_AUDIENCES: JSON.stringify(list) });
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
      port: 8080,
      sessionMaxSeconds: 43_200,
      oidcScope: 'openid profile email offline_access',
      oidcClientSecret: undefined,
      surfaces: [{ id: 'risk-partner', api: { url: surface.apiUrl, audience: undefined }, admin: undefined }],
    });
    for (const name of Object.keys(env)) expect(() => readConfig({ ...env, [name]: undefined })).toThrow(name);
  });

  it('asks for the token of a listener by resource or by scopes', () => {
    const admin = { surface: 'risk-partner', listener: 'admin', scope: 'api://risk/operate api://risk/read' };
    const more = { ...surfacesOf({ ...surface, adminUrl: 'https://a.example.com' }), ...audiencesOf(audience, admin) };
    expect(readConfig({ ...env, ...more }).surfaces[0]).toMatchObject({
      api: { url: surface.apiUrl, audience: { by: 'resource', value: audience.resource } },
      admin: { url: 'https://a.example.com', audience: { by: 'scope', value: admin.scope } },
    });
  });

  it.each<[string, Record<string, string>]>([
    ['OIDC_AUDIENCES: must be JSON', { OIDC_AUDIENCES: 'x' }],
    ['OIDC_AUDIENCES: must be a JSON list', { OIDC_AUDIENCES: '[]' }],
    ['/0 must have either resource or scope', audiencesOf({ ...audience, scope: 'x' })],
    ['/0 must have either resource or scope', audiencesOf({ surface: 'risk-partner', listener: 'api' })],
    ['/0/resource must be a URI', audiencesOf({ ...audience, resource: 'https://a.example.com#b' })],
    ['/0/scope must be scopes', audiencesOf({ surface: 'risk-partner', listener: 'api', scope: 'a  b' })],
    ['/0/surface must be one of', audiencesOf({ ...audience, surface: 'else' })],
    ['/0/listener must be api or admin', audiencesOf({ ...audience, listener: 'mcp' })],
    ['/0 has a member', audiencesOf({ ...audience, audience: 'x' })],
    ['names a listener twice', audiencesOf(audience, audience)],
    ['/0 names a listener that CONSOLE_SURFACES has no URL of', audiencesOf({ ...audience, listener: 'admin' })],
    ['/0/apiAudience has moved to OIDC_AUDIENCES', surfacesOf({ ...surface, apiAudience: 'https://a.example.com' })],
    ['PUBLIC_URL', { PUBLIC_URL: 'https://console.example.com/console' }],
    ['PUBLIC_URL', { PUBLIC_URL: 'https://console.example.com/' }],
    ['PUBLIC_URL', { PUBLIC_URL: 'http://console.example.com' }],
    ['OIDC_ISSUER', { OIDC_ISSUER: 'http://login.example.com' }],
    ['OIDC_ISSUER', { OIDC_ISSUER: 'https://login.example.com?a=b' }],
    ['OIDC_ISSUER', { OIDC_ISSUER: 'login' }],
    ['OIDC_ISSUERS', { OIDC_ISSUERS: '[]' }],
    ['TLS_CERT_FILE', { TLS_CERT_FILE: '/x' }],
    ...[
      'prometheus:9090',
      'ftp://p',
      'http://u:p@p:9090',
      'http://p:9090/',
      'http://p:9090?a=b',
      'http://p:9090#a',
    ].map((url): [string, Record<string, string>] => ['PROMETHEUS_URL: must be a URL', { PROMETHEUS_URL: url }]),
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
    ['OIDC_CLIENT_SECRET: has white space at its beginning or end', { OIDC_CLIENT_SECRET: 'a-secret\n' }],
  ])('rejects an invalid value: %s', (said, more) => expect(() => readConfig({ ...env, ...more })).toThrow(said));

  it('does not quote rejected values', () => {
    const [secret, list] = ['too-short-to-be-a-secret', surfacesOf({ ...surface, apiUrl: 'https://u:hidden@x' })];
    expect(() => readConfig({ ...env, SERVER_SECRETS: secret, ...list })).toThrow(
      expect.objectContaining({ message: expect.not.stringMatching(/too-short|hidden/) }),
    );
  });
});
