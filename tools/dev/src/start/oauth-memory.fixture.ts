import type { OAuthClientProvider } from '@modelcontextprotocol/client';

type Saved<Name extends 'saveTokens' | 'saveClientInformation' | 'saveDiscoveryState'> = Parameters<
  NonNullable<OAuthClientProvider[Name]>
>[0];

/** The OAuth state of an MCP client, in memory, with a simulated user at the browser. */
interface OauthMemory {
  readonly provider: OAuthClientProvider;
  /** The final URL of the browser. */
  returned(): Promise<URL>;
  /** The parameters of the last authorization request. */
  asked(): URLSearchParams | undefined;
  timesAsked(): number;
  /** Keeps the refresh token. */
  spoilAccessToken(): void;
}

/** @param browse simulates the user, from the authorization URL to the redirect back. */
export function oauthMemory(browse: (url: URL) => Promise<URL>): OauthMemory {
  const asked: URLSearchParams[] = [];
  let client: Saved<'saveClientInformation'> | undefined;
  let tokens: Saved<'saveTokens'> | undefined;
  let discovery: Saved<'saveDiscoveryState'> | undefined;
  let verifier = '';
  let returned: Promise<URL> | undefined;
  const redirectUrl = 'http://localhost:6274/oauth/callback';
  return {
    provider: {
      redirectUrl,
      clientMetadata: {
        client_name: 'A tool client',
        redirect_uris: [redirectUrl],
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
      },
      clientInformation: () => client,
      saveClientInformation: (given) => void (client = given),
      tokens: () => tokens,
      saveTokens: (given) => void (tokens = given),
      discoveryState: () => discovery,
      saveDiscoveryState: (given) => void (discovery = given),
      codeVerifier: () => verifier,
      saveCodeVerifier: (given) => void (verifier = given),
      redirectToAuthorization(url) {
        asked.push(url.searchParams);
        returned = browse(url);
      },
    },
    async returned() {
      if (returned === undefined) throw new Error('There was no redirect.');
      return returned;
    },
    asked: () => asked.at(-1),
    timesAsked: () => asked.length,
    spoilAccessToken() {
      if (tokens === undefined) throw new Error('There is no token yet.');
      tokens = { ...tokens, access_token: tokens.access_token.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')) };
    },
  };
}
