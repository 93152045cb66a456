import { safeUrl } from '@sealgate/auth';
import { type ClientMetadata, type Configuration, errors, interactionPolicy, type JWK } from 'oidc-provider';
import { type DemoIdentity, escaped, PAGE_HEADERS, pageOf } from './sign-in-page.ts';

/** The public client of scripts and command lines: with PKCE, and any loopback redirect URI. */
export const CLI_CLIENT = 'sealgate-cli';
/** The client of the console's server. */
export const CONSOLE_CLIENT = 'sealgate-console';

interface ConfigurationOptions {
  readonly people: readonly DemoIdentity[];
  /** The audiences, requested by the parameter `resource` (RFC 8707). */
  readonly audiences: readonly string[];
  /** The audience of a token requested without one. */
  readonly defaultAudience: string;
  readonly consoleClient: { readonly url: string; readonly secret: string };
  readonly signingKey: JWK;
  readonly cookieSecret: string;
}

const HOUR_SECONDS = 3600;
const KEEP_SECONDS = 14 * 24 * HOUR_SECONDS;
const OIDC_SCOPES = 'openid profile email offline_access';
/** The scope of every audience. It grants nothing: permissions come from roles. */
export const RESOURCE_SCOPE = 'sealgate';

/**
 * Configuration of the provider: code flow with PKCE only, access tokens (RFC 9068) for one audience each, single-use
 * refresh tokens, and dynamic client registration (RFC 7591), as MCP clients need. There is no consent step.
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
    conformIdTokenClaims: false, // Scope claims go into the ID token: access tokens are not for userinfo.
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
      ctx.body = pageOf('This sign-in cannot continue', `<p>${escaped(`${error}: ${description}`)}</p>`);
    },
    ttl: {
      AccessToken: HOUR_SECONDS,
      IdToken: HOUR_SECONDS,
      AuthorizationCode: 60,
      Interaction: HOUR_SECONDS,
      Session: KEEP_SECONDS,
      Grant: KEEP_SECONDS,
      RefreshToken: KEEP_SECONDS,
    },
  };
}

/** A remembered person would be signed in silently; here the person is selected at each sign-in. */
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
        if (!audiences.includes(resource)) throw new errors.InvalidTarget('unknown resource');
        return {
          scope: RESOURCE_SCOPE,
          audience: resource,
          accessTokenTTL: HOUR_SECONDS,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        };
      },
    },
  };
}

const claimsOf = ({ email, name, groups }: DemoIdentity) => ({ email, email_verified: true, name, groups });

/** Whether it is an http URL on loopback. */
export const isLocalUrl = (text: string): boolean => safeUrl(text)?.protocol === 'http:';

/** Values of the claim `groups` that grant a role on the admin listeners. */
export const ADMIN_GROUPS = { operator: 'sealgate-operators', viewer: 'sealgate-viewers' } as const;

/** The same for the roles that only the case gate has. */
export const CASE_GROUPS = { reviewer: 'sealgate-reviewers', author: 'sealgate-authors' } as const;

const person = (role: string, name: string, groups: readonly string[] = []): DemoIdentity => {
  const subject = `demo-${role.replaceAll('_', '-')}`;
  return { role, subject, email: `${subject}@example.com`, name, groups };
};

/** One person for each role of surface A; and an operator, a reviewer and an author, who belong to no organisation. */
export const DEMO_IDENTITIES: readonly DemoIdentity[] = [
  person('operator', 'Operator (demo)', [ADMIN_GROUPS.operator]),
  person('owner', 'Owner (demo)'),
  person('admin', 'Administrator (demo)'),
  person('risk_manager', 'Risk manager (demo)'),
  person('auditor', 'Auditor (demo)'),
  person('contributor', 'Contributor (demo)'),
  person('viewer', 'Viewer (demo)', [ADMIN_GROUPS.viewer]),
  person('partner_read', 'Partner machine (demo)'),
  person('reviewer', 'Reviewer (demo)', [CASE_GROUPS.reviewer]),
  person('author', 'Author (demo)', [CASE_GROUPS.author]),
];
