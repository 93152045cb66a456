import type { OAuthClientProvider } from '@modelcontextprotocol/client';

type Saved<Name extends 'saveTokens' | 'saveClientInformation' | 'saveDiscoveryState'> = Parameters<
  NonNullable<OAuthClientProvider[Name]>
>[0];

/** What a tool client keeps between its sign-in and its calls, here in memory, and the person at its browser. */
export interface OauthMemory {
  readonly provider: OAuthClientProvider;
  /** Where the browser was sent in the end. */
  returned(): Promise<URL>;
  /** The parameters of the last authorization request. */
  asked(): URLSearchParams | undefined;
  timesAsked(): number;
  /** Leaves the refresh token as it is. */
  spoilAccessToken(): void;
}

/** @param browse does what the person does, from the authorization URL to the redirect back. */
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
        ...{ client_name: 'A tool client', redirect_uris: [redirectUrl], token_endpoint_auth_method: 'none' },
        ...{ grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] },
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
      if (returned === undefined) throw new Error('The browser was sent nowhere.');
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
