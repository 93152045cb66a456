import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { Provider } from 'oidc-provider';
import { fileAdapter } from './file-adapter.ts';
import { ACCESS_TOKEN_SECONDS, type ProviderSettings } from './settings.ts';

/**
 * An OpenID Connect provider as a process of its own, which can be killed and frozen. Anybody signs in by the page of
 * people, as in development. Refresh tokens are not rotated, as the console's page asks for two replicas.
 */
const settings = JSON.parse(process.env['PROVIDER'] ?? '') as ProviderSettings;
const { port, audiences, people, client, signingKey, cookieSecret, storeFile } = settings;
const SCOPES = 'openid profile email offline_access';
const RESOURCE_SCOPE = 'sealgate';
const DAY_SECONDS = 86_400;

const issuer = `http://127.0.0.1:${port}`;
const claimsOf = (subject: string) => {
  const groups = people.find((one) => one.subject === subject)?.groups ?? [];
  return { name: subject, email: `${subject}@example.com`, email_verified: true, groups: [...groups] };
};

const provider: Provider = new Provider(issuer, {
  adapter: fileAdapter(storeFile),
  clients: [
    {
      client_id: client.id,
      client_secret: client.secret,
      redirect_uris: [client.redirectUri],
      post_logout_redirect_uris: [new URL('/', client.redirectUri).href],
      grant_types: ['authorization_code', 'refresh_token'],
      id_token_signed_response_alg: 'ES256',
    },
  ],
  jwks: { keys: [signingKey] },
  enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
  cookies: { keys: [cookieSecret] },
  pkce: { required: () => true },
  responseTypes: ['code'],
  scopes: SCOPES.split(' '),
  claims: { openid: ['sub'], profile: ['name', 'groups'], email: ['email', 'email_verified'] },
  conformIdTokenClaims: false,
  rotateRefreshToken: false,
  issueRefreshToken: async () => true,
  ttl: {
    AccessToken: ACCESS_TOKEN_SECONDS,
    AuthorizationCode: 60,
    Grant: DAY_SECONDS,
    IdToken: ACCESS_TOKEN_SECONDS,
    Interaction: 600,
    RefreshToken: DAY_SECONDS,
    Session: DAY_SECONDS,
  },
  interactions: { url: (_ctx, { uid }) => `/sign-in/${uid}` },
  features: {
    devInteractions: { enabled: false },
    introspection: { enabled: true, allowedPolicy: async () => true },
    revocation: { enabled: true, allowedPolicy: async () => true },
    resourceIndicators: {
      enabled: true,
      defaultResource: (_ctx, _client, oneOf) => [oneOf ?? audiences[0]!].flat()[0]!,
      useGrantedResource: () => true,
      getResourceServerInfo: (_ctx, audience) => ({
        scope: RESOURCE_SCOPE,
        audience,
        accessTokenTTL: ACCESS_TOKEN_SECONDS,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: 'ES256' } },
      }),
    },
  },
  findAccount: (_ctx, subject) => ({ accountId: subject, claims: () => ({ sub: subject, ...claimsOf(subject) }) }),
  extraTokenClaims: (_ctx, token) =>
    'accountId' in token && token.accountId !== undefined ? claimsOf(token.accountId) : undefined,
  async loadExistingGrant({ oidc }) {
    const grant = new provider.Grant({ clientId: oidc.client!.clientId, accountId: oidc.session!.accountId! });
    grant.addOIDCScope(SCOPES);
    for (const audience of audiences) grant.addResourceScope(audience, RESOURCE_SCOPE);
    await grant.save();
    return grant;
  },
});

const handle = provider.callback();

/** The page that `pickPerson` fills in. */
async function signIn(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== 'POST') {
    const buttons = people.map(({ subject }) => `<button name="subject" value="${subject}">${subject}</button>`);
    response.writeHead(200, { 'Content-Type': 'text/html' }).end(`<form method="post">${buttons.join('')}</form>`);
    return;
  }
  const accountId = new URLSearchParams(await text(request)).get('subject') ?? '';
  await provider.interactionFinished(request, response, { login: { accountId } });
}

createServer((request, response) => {
  const isSignIn = request.url?.startsWith('/sign-in/') === true;
  const answered = isSignIn ? signIn(request, response) : handle(request, response);
  answered.catch((error: unknown) => response.writeHead(400).end(String(error)));
}).listen(port, '127.0.0.1');
