import { types } from 'node:util';
import { AppError } from '@sealgate/errors';
import { isLoopback } from '@sealgate/auth';
import * as oidc from 'openid-client';
import type { AccessToken, Renewed, TokenEndpoint } from '../domain/access-tokens.ts';
import type { PendingSignIn, Session } from '../domain/session.ts';
import type { Audience } from '../domain/surfaces.ts';
import type { SignedIn, SignInProvider } from '../domain/sign-in.ts';
import { boundedText, TooLongError } from './bounded-fetch.ts';

interface ProviderOptions {
  readonly issuer: string;
  readonly clientId: string;
  /** Undefined for a public client. */
  readonly clientSecret: string | undefined;
  readonly scope: string;
  readonly publicUrl: string;
  readonly now: () => number;
  /** Called for each failed call, with a reason from a closed set. */
  readonly onFailure: (call: ProviderCall, reason: string) => void;
}

export type ProviderCall = 'discovery' | 'code' | 'refresh' | 'introspection' | 'revocation';

export interface Provider extends SignInProvider, TokenEndpoint {
  /** Revokes the refresh token. Never rejects: signing out always succeeds locally. */
  revoke(session: Session): Promise<void>;
  /**
   * Whether the refresh token is active (RFC 7662); undefined if the provider does not tell, or says no: it may not know
   * refresh tokens there, so an exchange decides.
   * @throws AppError UNAVAILABLE, OVERLOADED
   */
  isActive(session: Session): Promise<true | undefined>;
  /** The provider's end-session URL for the browser; undefined if unknown. Never rejects. */
  endSessionUrl(): Promise<string | undefined>;
  /** Why the provider is unreachable; undefined if it is reachable. Never rejects. */
  problem(): Promise<string | undefined>;
}

const DEADLINE_SECONDS = 5;
const ANSWER_MAX_BYTES = 262_144;
const DISCOVERED_MS = 3_600_000;
const CLOCK_TOLERANCE_SECONDS = 60;
const MAX_CALLS = 64;
/** Of these for sign-ins, which anybody can start: the rest is for people who are signed in. */
const MAX_SIGN_IN_CALLS = 32;
const OF_SIGN_INS: ReadonlySet<ProviderCall> = new Set(['code']);
/** Assumed lifetime of a token without `expires_in` (optional by RFC 6749, section 5.1). */
const UNSAID_LIFETIME_SECONDS = 60;

/** The identity provider, discovered at first use and again every hour. */
export function openIdProvider(options: ProviderOptions): Provider {
  const { issuer, publicUrl, now, onFailure } = options;
  const redirectUri = `${publicUrl}/signed-in`;
  const discovered = discoveries(options);
  let [calls, signInCalls] = [0, 0];
  const call = async <Result>(kind: ProviderCall, work: (config: oidc.Configuration) => Promise<Result>) => {
    const ofSignIn = OF_SIGN_INS.has(kind) ? 1 : 0;
    if (calls >= MAX_CALLS || (ofSignIn === 1 && signInCalls >= MAX_SIGN_IN_CALLS))
      throw new AppError('OVERLOADED', 'Too many concurrent calls to the identity provider.');
    calls += 1;
    signInCalls += ofSignIn;
    try {
      return await work(await discovered());
    } catch (error) {
      throw refusalOf(error, (reason) => onFailure(kind, reason));
    } finally {
      calls -= 1;
      signInCalls -= ofSignIn;
    }
  };
  const tokenOf = (answer: oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers): AccessToken => ({
    token: answer.access_token,
    endsAtMs: now() + 1000 * (answer.expiresIn() ?? UNSAID_LIFETIME_SECONDS),
  });

  return {
    issuer,
    authorizationUrl: (pending, audiences) =>
      call('discovery', async (config) => {
        const asked = new URLSearchParams({
          redirect_uri: redirectUri,
          scope: scopesOf(options.scope, audiences),
          state: pending.state,
          nonce: pending.nonce,
          code_challenge: await oidc.calculatePKCECodeChallenge(pending.codeVerifier),
          code_challenge_method: 'S256',
        });
        for (const { by, value } of audiences) if (by === 'resource') asked.append('resource', value);
        return oidc.buildAuthorizationUrl(config, asked).href;
      }),
    exchange: (callback, pending, audience) =>
      call('code', async (config) => {
        const answer = await oidc.authorizationCodeGrant(config, callback, checksOf(pending), askingFor(audience));
        return { ...personOf(answer.claims()), refreshToken: answer.refresh_token, accessToken: tokenOf(answer) };
      }),
    renew: (refreshToken, audience) =>
      call('refresh', async (config): Promise<Renewed | 'ended'> => {
        try {
          const answer = await oidc.refreshTokenGrant(config, refreshToken, askingFor(audience));
          return { ...tokenOf(answer), refreshToken: answer.refresh_token };
        } catch (error) {
          if (error instanceof oidc.ResponseBodyError && error.error === 'invalid_grant') return 'ended';
          throw error;
        }
      }),
    revoke: ({ refreshToken }) =>
      quietly(() =>
        call('revocation', async (config) => {
          if (config.serverMetadata().revocation_endpoint !== undefined)
            await oidc.tokenRevocation(config, refreshToken, { token_type_hint: 'refresh_token' });
        }),
      ),
    isActive: introspection(call),
    endSessionUrl: () =>
      quietly(() =>
        call('discovery', async (config) => {
          if (config.serverMetadata().end_session_endpoint === undefined) return undefined;
          return oidc.buildEndSessionUrl(config, { post_logout_redirect_uri: `${publicUrl}/` }).href;
        }),
      ),
    async problem() {
      try {
        await call('discovery', () => Promise.resolve());
        return undefined;
      } catch (error) {
        if (error instanceof AppError) return error.message;
        throw error;
      }
    },
  };
}

type Call = <Result>(kind: ProviderCall, work: (config: oidc.Configuration) => Promise<Result>) => Promise<Result>;

function introspection(call: Call): Provider['isActive'] {
  let isAllowed = true;
  return ({ refreshToken }) => {
    if (!isAllowed) return Promise.resolve(undefined);
    return call('introspection', async (config) => {
      if (config.serverMetadata().introspection_endpoint === undefined) return undefined;
      try {
        const hint = { token_type_hint: 'refresh_token' };
        return (await oidc.tokenIntrospection(config, refreshToken, hint)).active ? true : undefined;
      } catch (error) {
        const isRefused =
          error instanceof oidc.ResponseBodyError || error instanceof oidc.WWWAuthenticateChallengeError;
        if (!isRefused) throw error;
        isAllowed = false; // This client may not introspect; the next start tries again.
        return undefined;
      }
    });
  };
}

/** Ignores failures while signing out: they are counted, and the local session ends anyway. */
async function quietly<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

const checksOf = ({ state, nonce, codeVerifier }: PendingSignIn): oidc.AuthorizationCodeGrantChecks => ({
  expectedState: state,
  expectedNonce: nonce,
  pkceCodeVerifier: codeVerifier,
  idTokenExpected: true,
});

/** Consent is asked once, for the scopes of all listeners. */
const scopesOf = (scope: string, audiences: readonly Audience[]): string => {
  const ofListeners = audiences.filter(({ by }) => by === 'scope').map(({ value }) => value);
  return [...new Set([scope, ...ofListeners].flatMap((one) => one.split(' ')))].join(' ');
};

const askingFor = (audience: Audience | undefined): Record<string, string> =>
  audience === undefined ? {} : { [audience.by]: audience.value };

const MAX_CHARACTERS = 200;

/** The person, for display; permissions come from each surface. */
function personOf(claims: oidc.IDToken | undefined): Pick<SignedIn, 'subject' | 'name' | 'email'> {
  if (claims === undefined) throw new Error('A response with an ID token has claims.');
  const text = (value: unknown) => (typeof value === 'string' ? value.slice(0, MAX_CHARACTERS) : undefined);
  return { subject: claims.sub, name: text(claims['name']), email: text(claims['email']) };
}

/** Shares one call among concurrent callers. Failures are not cached. */
function discoveries({ issuer, clientId, clientSecret, now }: ProviderOptions): () => Promise<oidc.Configuration> {
  const isOnLoopback = isLoopback(new URL(issuer).hostname);
  let kept: { readonly asking: Promise<oidc.Configuration>; readonly untilMs: number } | undefined;
  const discover = () =>
    oidc.discovery(
      new URL(issuer),
      clientId,
      { [oidc.clockTolerance]: CLOCK_TOLERANCE_SECONDS },
      clientSecret === undefined ? oidc.None() : oidc.ClientSecretBasic(clientSecret),
      {
        timeout: DEADLINE_SECONDS,
        [oidc.customFetch]: boundedFetch,
        ...(isOnLoopback && { execute: [oidc.allowInsecureRequests] }),
      },
    );
  return () => {
    if (kept !== undefined && now() < kept.untilMs) return kept.asking;
    const asking = discover();
    kept = { asking, untilMs: now() + DISCOVERED_MS };
    asking.catch(() => (kept = undefined));
    return asking;
  };
}

/** Does not follow redirects: only the configured provider may answer. */
const boundedFetch: oidc.CustomFetch = async (url, { body, ...init }) => {
  const response = await fetch(url, { ...init, redirect: 'manual', ...(body != null && { body: body as string }) });
  const text = await boundedText(response, ANSWER_MAX_BYTES);
  const { status, statusText, headers } = response;
  return new Response(status === 204 ? null : text, { status, statusText, headers });
};

/** Error code of openid-client for an ID token outside its validity time. */
const CLOCK_CODE = 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED';
const AWAY = 'The identity provider is unreachable or does not respond, so nobody can sign in. Try again.';

/** Maps errors of openid-client to AppErrors. None quotes the provider's response, which may contain what was sent. */
function refusalOf(error: unknown, tell: (reason: string) => void): unknown {
  if (error instanceof AppError) return error;
  const [reason, refusal] = kindOf(error);
  if (reason === undefined) return error;
  tell(reason);
  return refusal;
}

function kindOf(cause: unknown): readonly [reason: string | undefined, refusal?: AppError] {
  if (cause instanceof oidc.AuthorizationResponseError)
    return ['refused', new AppError('FORBIDDEN', 'The identity provider refused the sign-in.', { cause })];
  if (cause instanceof oidc.ResponseBodyError) return responseRefusal(cause);
  if (cause instanceof oidc.ClientError) return clientRefusal(cause);
  const isAway = isFetchFailure(cause) || cause instanceof DOMException || isTooLong(cause);
  return isAway ? ['away', new AppError('UNAVAILABLE', AWAY, { cause })] : [undefined];
}

function responseRefusal(cause: oidc.ResponseBodyError): readonly [string, AppError] {
  const { error } = cause;
  if (error === 'invalid_grant') {
    const detail = 'This sign-in is no longer valid at the identity provider; start again.';
    return ['invalid_grant', new AppError('INVALID_REQUEST', detail, { cause })];
  }
  const [reason, detail] =
    error === 'invalid_target'
      ? ['invalid_target', 'The identity provider issues no tokens for this surface: it does not know the audience.']
      : error === 'invalid_client' || error === 'unauthorized_client'
        ? ['invalid_client', 'The identity provider does not accept the client id or secret of the console.']
        : ['other', AWAY];
  return [reason, new AppError('UNAVAILABLE', detail, { cause })];
}

function clientRefusal(cause: oidc.ClientError): readonly [string, AppError] {
  if (cause.code === CLOCK_CODE) {
    const detail = 'The clocks of the console and the identity provider differ.';
    return ['clock', new AppError('UNAVAILABLE', detail, { cause })];
  }
  if (cause.code === 'OAUTH_TIMEOUT' || isFetchFailure(cause.cause) || isTooLong(cause.cause))
    return ['away', new AppError('UNAVAILABLE', AWAY, { cause })];
  const detail = 'The response of the identity provider is invalid.';
  return ['unexpected', new AppError('UNAVAILABLE', detail, { cause })];
}

/** `fetch` reports network errors as a TypeError with a cause; a TypeError without one is a bug. */
const isFetchFailure = (error: unknown): boolean =>
  types.isNativeError(error) && error.name === 'TypeError' && error.cause !== undefined;

const isTooLong = (cause: unknown): boolean => cause instanceof TooLongError;
