import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { accessTokens } from '@sealgate/identity';
import { freePort } from '@sealgate/local-services';
import { pickPerson, until } from '@sealgate/testing';
import * as client from 'openid-client';
import { dataFolder, type DataFolder } from '../start/data-folder.ts';
import { openSecrets, type Secrets } from '../start/secrets.ts';
import { DEMO_IDENTITIES } from './provider-configuration.ts';
import { CONSOLE_CLIENT_SECRET, startDevelopmentProvider, type DevelopmentProvider } from './development-provider.ts';

const [SHARED, API, ADMIN] = ['urn:example:demo', 'http://127.0.0.1:9/api', 'http://127.0.0.1:9/admin'];
const CONSOLE = 'http://127.0.0.1:4105';
const CALLBACK = 'http://127.0.0.1:5555/any/path';
const open = { execute: [client.allowInsecureRequests] };

describe('the development provider', () => {
  let data: DataFolder;
  let secrets: Secrets;
  let port: number;
  let provider: DevelopmentProvider;
  let skewMs = 0;
  let said: string[] = [];

  const start = async (env: NodeJS.ProcessEnv = {}): Promise<DevelopmentProvider> => {
    secrets = openSecrets(data);
    return startDevelopmentProvider({
      port,
      secrets,
      env,
      audiences: [SHARED, API, ADMIN],
      consoleUrl: CONSOLE,
      storeFile: data.providerFile,
      now: () => Date.now() + skewMs,
      tell: (line) => said.push(line),
    });
  };
  const discovered = (id = 'sealgate-cli', authentication = client.None()): Promise<client.Configuration> =>
    client.discovery(new URL(provider.issuer), id, undefined, authentication, open);
  interface Wish {
    readonly subject?: string;
    readonly resources?: readonly string[];
    readonly redirectUri?: string;
    readonly parameters?: Readonly<Record<string, string>>;
  }
  const signIn = async (
    config: client.Configuration,
    { subject = 'demo-viewer', resources = [], redirectUri = CALLBACK, parameters = {} }: Wish = {},
  ) => {
    const verifier = client.randomPKCECodeVerifier();
    const asked = new URLSearchParams({
      redirect_uri: redirectUri,
      scope: 'openid profile email',
      code_challenge_method: 'S256',
      state: 'state',
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      ...parameters,
    });
    for (const resource of resources) asked.append('resource', resource);
    const returned = await pickPerson(client.buildAuthorizationUrl(config, asked), subject);
    return client.authorizationCodeGrant(config, returned, { pkceCodeVerifier: verifier, expectedState: 'state' });
  };
  const checks = (audience: string) => {
    const tokens = accessTokens({
      issuers: [{ issuer: provider.issuer, audience: { api: [audience] } }],
      now: Date.now,
      log: { info: () => undefined, warn: () => undefined },
    });
    return { check: (token: string) => tokens.check(token, 'api') };
  };

  beforeEach(async () => {
    data = dataFolder(mkdtempSync(join(tmpdir(), 'sealgate-provider-')));
    port = await freePort();
    skewMs = 0;
    said = [];
    provider = await start();
  });
  afterEach(async () => {
    await provider.stop();
    rmSync(data.path, { recursive: true, force: true });
  });

  it('signs in the selected person by code flow with PKCE, with the identity in both tokens', async () => {
    const tokens = await signIn(await discovered(), { subject: 'demo-operator', resources: [ADMIN] });
    expect(tokens.claims()).toMatchObject({ sub: 'demo-operator', email: 'demo-operator@example.com' });
    expect(headerOf(tokens.access_token)).toMatchObject({ typ: 'at+jwt', alg: 'ES256' });
    expect(await checks(ADMIN).check(tokens.access_token)).toMatchObject({
      subject: 'demo-operator',
      claims: {
        email: 'demo-operator@example.com',
        email_verified: true,
        groups: ['sealgate-operators'],
        client_id: 'sealgate-cli',
      },
    });
  });

  it('gives each token one known audience', async () => {
    const config = await discovered();
    const { access_token: token } = await signIn(config, { resources: [ADMIN] });
    expect(await checks(API).check(token)).toMatchObject({ refused: 'audience' });
    const { access_token: unsaid } = await signIn(config);
    expect(await checks(SHARED).check(unsaid)).toMatchObject({ subject: 'demo-viewer' });
    await expect(signIn(config, { resources: ['https://else.example.com'] })).rejects.toMatchObject({
      error: 'invalid_target',
    });
  });

  it('takes a request without scope: an access token, and no ID token', async () => {
    const config = await discovered();
    const verifier = client.randomPKCECodeVerifier();
    const asked = { redirect_uri: CALLBACK, code_challenge_method: 'S256', state: 'state', resource: API };
    const code_challenge = await client.calculatePKCECodeChallenge(verifier);
    const url = client.buildAuthorizationUrl(config, { ...asked, code_challenge });
    url.searchParams.delete('scope');
    const returned = await pickPerson(url, 'demo-viewer');
    const tokens = await client.authorizationCodeGrant(config, returned, {
      pkceCodeVerifier: verifier,
      expectedState: 'state',
    });
    expect(tokens.id_token).toBeUndefined();
    expect(await checks(API).check(tokens.access_token)).toMatchObject({ subject: 'demo-viewer' });
  });

  it('offers all people at each sign-in', async () => {
    const config = await discovered();
    for (const { subject, email } of DEMO_IDENTITIES)
      expect((await signIn(config, { subject })).claims()).toMatchObject({ sub: subject, email });
    await expect(signIn(config, { subject: 'demo-nobody' })).rejects.toThrow('Choose a person');
  });

  it('refreshes tokens for each requested audience, each refresh token once', async () => {
    const config = await discovered(
      'sealgate-console',
      client.ClientSecretBasic(secrets.secret(CONSOLE_CLIENT_SECRET)),
    );
    const first = await signIn(config, { resources: [API, ADMIN], redirectUri: `${CONSOLE}/signed-in` });
    const next = await client.refreshTokenGrant(config, first.refresh_token!, { resource: ADMIN });
    expect(await checks(ADMIN).check(next.access_token)).toMatchObject({ subject: 'demo-viewer' });
    const last = await client.refreshTokenGrant(config, next.refresh_token!, { resource: API });
    expect(await checks(API).check(last.access_token)).toMatchObject({ subject: 'demo-viewer' });
    await expect(client.refreshTokenGrant(config, last.refresh_token!, { resource: SHARED })).rejects.toMatchObject({
      error: 'invalid_target',
    });
    await expect(client.refreshTokenGrant(config, first.refresh_token!)).rejects.toMatchObject({
      error: 'invalid_grant',
    });
  });

  it('rejects a code without PKCE, an unknown redirect URI and an unauthenticated client', async () => {
    const config = await discovered();
    const plain = client.buildAuthorizationUrl(config, { redirect_uri: CALLBACK, scope: 'openid', state: 'state' });
    const returned = await pickPerson(plain, 'demo-viewer');
    expect(returned.searchParams.get('error')).toBe('invalid_request');
    expect(returned.searchParams.get('code')).toBeNull();
    for (const redirectUri of ['https://else.example.com/callback', 'http://192.0.2.1/callback'])
      await expect(signIn(config, { redirectUri })).rejects.toThrow('invalid_redirect_uri');
    const impostor = await discovered('sealgate-console', client.ClientSecretBasic('guess'));
    await expect(signIn(impostor, { redirectUri: `${CONSOLE}/signed-in` })).rejects.toMatchObject({ status: 401 });
  });

  it('keeps its key, refresh tokens and registered clients across a restart', async () => {
    const registered = await client.dynamicClientRegistration(
      new URL(provider.issuer),
      { client_name: 'A tool client', redirect_uris: ['http://localhost:6274/oauth/callback'] },
      client.None(),
      open,
    );
    const { client_id: id } = registered.clientMetadata();
    const before = await signIn(await discovered(), { resources: [API] });
    await provider.stop();
    expect(statSync(data.providerFile).mode & 0o777).toBe(0o600);
    provider = await start();
    // Connections from before the restart are reused once, and found closed.
    await until(async () => (await fetch(provider.issuer).catch(() => undefined))?.ok === true);
    expect(await checks(API).check(before.access_token)).toMatchObject({ subject: 'demo-viewer' });
    const after = await client.refreshTokenGrant(await discovered(), before.refresh_token!);
    expect(await checks(API).check(after.access_token)).toMatchObject({ subject: 'demo-viewer' });
    expect(readFileSync(data.providerFile, 'utf8')).toContain(id);
  });

  it('keeps running, with a message, if it cannot write its store', async () => {
    mkdirSync(data.providerFile);
    await signIn(await discovered());
    await until(() => said.some((line) => line.startsWith('The development provider cannot store sign-ins')));
  });

  it('drops expired entries', async () => {
    const { refresh_token: token } = await signIn(await discovered());
    skewMs = 15 * 24 * 3_600_000;
    await expect(client.refreshTokenGrant(await discovered(), token!)).rejects.toMatchObject({
      error: 'invalid_grant',
    });
  });

  it('has pages without scripts and frames, with a development notice', async () => {
    const about = await fetch(provider.issuer);
    expect(await about.text()).toContain('For development only');
    const url = client.buildAuthorizationUrl(await discovered(), {
      redirect_uri: CALLBACK,
      scope: 'openid',
      code_challenge_method: 'S256',
      code_challenge: 'x'.repeat(43),
    });
    await expect(pickPerson(url, 'demo-nobody')).rejects.toThrow(
      /The command line asks you to sign in\..*For development only/s,
    );
    for (const page of [about, await fetch(`${provider.issuer}/sign-in/none`)]) {
      expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; .*frame-ancestors 'none'/);
      expect(page.headers.get('cache-control')).toBe('no-store');
    }
    expect((await fetch(`${provider.issuer}/sign-in/none`)).status).toBe(400);
  });

  it('answers only under its own address', async () => {
    const status = await new Promise((done) =>
      request(provider.issuer, { headers: { host: 'evil.example' } }, (response) => {
        done(response.statusCode);
        response.resume();
      }).end(),
    );
    expect(status).toBe(421);
  });

  it('does not start in production', async () => {
    await expect(start({ NODE_ENV: 'production' })).rejects.toThrow(/does not start with NODE_ENV=production/);
  });
});

const headerOf = (token: string): unknown => JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString());
