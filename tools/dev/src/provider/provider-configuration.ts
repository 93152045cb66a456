import { safeUrl } from '@sealgate/auth';
import { errors, interactionPolicy, type ClientMetadata, type Configuration, type JWK } from 'oidc-provider';
import type { DemoIdentity } from './demo-people.ts';
import { escaped, PAGE_HEADERS, pageOf } from './sign-in-page.ts';

/** The client of scripts and command lines: public, with PKCE, sent back to any port and path on loopback. */
export const CLI_CLIENT = 'sealgate-cli';
/** The client of the console's server. */
export const CONSOLE_CLIENT = 'sealgate-console';

export interface ConfigurationOptions {
  readonly people: readonly DemoIdentity[];
  /** What tokens can be asked for, by the parameter `resource` (RFC 8707). */
  readonly audiences: readonly string[];
  /** Of a token that was asked for without one. */
  readonly defaultAudience: string;
  readonly consoleClient: { readonly url: string; readonly secret: string };
  readonly signingKey: JWK;
  readonly cookieSecret: string;
}

const HOUR_SECONDS = 3600;
const KEEP_SECONDS = 14 * 24 * HOUR_SECONDS;
const OIDC_SCOPES = 'openid profile email offline_access';
const RESOURCE_SCOPE = 'sealgate';

/**
 * What the provider does: code flow with PKCE alone, access tokens (RFC 9068) for one audience each, refresh tokens that
 * are good once, and clients that register themselves (RFC 7591), as those of MCP do. Nobody is asked for consent.
 */
export function providerConfiguration(options: ConfigurationOptions): Configuration {
  const { people, signingKey, cookieSecret } = options;
  return {
    clients: clientsOf(options),
    jwks: { keys: [signingKey] },
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    cookies: { keys: [cookieSecret] },
    pkce: { required: () => true },
    responseTypes: ['code'],
    scopes: OIDC_SCOPES.split(' '),
    claims: { openid: ['sub'], profile: ['name', 'groups'], email: ['email', 'email_verified'] },
    conformIdTokenClaims: false, // The claims of a scope stand in the ID token: access tokens are not for userinfo.
    interactions: { policy: alwaysAsk(), url: (_ctx, { uid }) => `/sign-in/${uid}` },
    features: { ...featuresOf(options) },
    clientBasedCORS: (_ctx, origin) => isLocalUrl(origin),
    findAccount: (_ctx, subject) => {
      const found = people.find((each) => each.subject === subject);
      return found && { accountId: subject, claims: () => ({ sub: subject, ...claimsOf(found) }) };
    },
    extraTokenClaims: (_ctx, token) => {
      const found = people.find(({ subject }) => 'accountId' in token && token.accountId === subject);
      return found && claimsOf(found);
    },
    async loadExistingGrant({ oidc }) {
      const { client, session, provider, resourceServers = {} } = oidc;
      const grant = new provider.Grant({ clientId: client!.clientId, accountId: session!.accountId! });
      grant.addOIDCScope(OIDC_SCOPES);
      for (const resource of Object.keys(resourceServers)) grant.addResourceScope(resource, RESOURCE_SCOPE);
      await grant.save();
      return grant;
    },
    expiresWithSession: () => false,
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    renderError: (ctx, { error, error_description: description = '' }) => {
      ctx.set(PAGE_HEADERS);
      ctx.body = pageOf('This sign-in cannot go on', `<p>${escaped(`${error}: ${description}`)}</p>`);
    },
    ttl: {
      ...{ AccessToken: HOUR_SECONDS, IdToken: HOUR_SECONDS, AuthorizationCode: 60, Interaction: HOUR_SECONDS },
      ...{ Session: KEEP_SECONDS, Grant: KEEP_SECONDS, RefreshToken: KEEP_SECONDS },
    },
  };
}

/** Who is remembered would be signed in without a word; here everybody picks again, and can be somebody else. */
function alwaysAsk(): interactionPolicy.DefaultPolicy {
  const policy = interactionPolicy.base();
  const { Check } = interactionPolicy;
  policy.get('consent')?.checks.clear();
  policy
    .get('login')
    ?.checks.add(
      new Check('not_picked', 'Nobody was picked', (ctx) =>
        ctx.oidc.result?.login === undefined ? Check.REQUEST_PROMPT : Check.NO_NEED_TO_PROMPT,
      ),
    );
  return policy;
}

function clientsOf({ consoleClient: { url, secret } }: ConfigurationOptions): ClientMetadata[] {
  const grants = { grant_types: ['authorization_code', 'refresh_token'], response_types: ['code' as const] };
  return [
    {
      ...grants,
      client_id: CLI_CLIENT,
      client_name: 'The command line',
      application_type: 'native',
      token_endpoint_auth_method: 'none',
      redirect_uris: ['http://127.0.0.1/callback'],
    },
    {
      ...grants,
      client_id: CONSOLE_CLIENT,
      client_name: 'The console',
      client_secret: secret,
      redirect_uris: [`${url}/signed-in`],
      post_logout_redirect_uris: [`${url}/`],
    },
  ];
}

function featuresOf({ audiences, defaultAudience }: ConfigurationOptions): NonNullable<Configuration['features']> {
  return {
    devInteractions: { enabled: false },
    registration: { enabled: true },
    revocation: { enabled: true },
    rpInitiatedLogout: {
      enabled: true,
      logoutSource(ctx, form) {
        ctx.set(PAGE_HEADERS);
        const leave = '<button form="op.logoutForm" name="logout" value="yes">Sign out</button>';
        ctx.body = pageOf('Sign out?', `${form}${leave}`);
      },
      postLogoutSuccessSource(ctx) {
        ctx.set(PAGE_HEADERS);
        ctx.body = pageOf('You are signed out', '');
      },
    },
    resourceIndicators: {
      enabled: true,
      defaultResource: (_ctx, _client, oneOf) => (oneOf === undefined ? defaultAudience : [oneOf].flat()[0]!),
      useGrantedResource: () => true,
      getResourceServerInfo(_ctx, resource) {
        if (!audiences.includes(resource)) throw new errors.InvalidTarget('there is no such resource here');
        return {
          ...{ scope: RESOURCE_SCOPE, audience: resource, accessTokenTTL: HOUR_SECONDS },
          ...{ accessTokenFormat: 'jwt', jwt: { sign: { alg: 'ES256' } } },
        };
      },
    },
  };
}

const claimsOf = ({ email, name, groups }: DemoIdentity) => ({ email, email_verified: true, name, groups });

/** Whether the address is one of this machine, by http. */
export const isLocalUrl = (text: string): boolean => safeUrl(text)?.protocol === 'http:';
