import { AppError } from '@sealgate/errors';
import type { AccessToken } from './access-tokens.ts';
import type { PendingSignIn, Session } from './session.ts';

/** What a code was exchanged for. */
export interface SignedIn {
  readonly subject: string;
  readonly name: string | undefined;
  readonly email: string | undefined;
  /** Undefined: the provider gave none. */
  readonly refreshToken: string | undefined;
  /** For the first of the audiences. */
  readonly accessToken: AccessToken;
}

/** The provider, as far as a sign-in goes. Each call ends within a deadline of its own. */
export interface SignInProvider {
  readonly issuer: string;
  /** Where the browser is sent to. @throws AppError UNAVAILABLE */
  authorizationUrl(pending: PendingSignIn, audiences: readonly string[]): Promise<string>;
  /**
   * Exchanges the code of the callback, checking state, nonce and issuer.
   * @throws AppError FORBIDDEN where the provider refused the sign-in, INVALID_REQUEST where the callback does not fit,
   * UNAVAILABLE where it does not answer.
   */
  exchange(callback: URL, pending: PendingSignIn, audience: string | undefined): Promise<SignedIn>;
}

export interface SignInOptions {
  readonly provider: SignInProvider;
  readonly audiences: readonly string[];
  readonly sessionMaxMs: number;
  readonly now: () => number;
  readonly newId: () => string;
  /** An unguessable text of at least 43 characters of base64url, as RFC 7636 asks of a code verifier. */
  readonly newSecret: () => string;
}

/** How long the way to the provider and back may take. */
const PENDING_MS = 600_000;

/** Signing in by code flow with PKCE, state and nonce (RFC 6749, RFC 7636, OpenID Connect Core). */
export function signInFlow({ provider, audiences, sessionMaxMs, now, newId, newSecret }: SignInOptions) {
  return {
    /** @throws AppError UNAVAILABLE */
    async begin(returnTo: string): Promise<{ readonly location: string; readonly pending: PendingSignIn }> {
      const pending: PendingSignIn = {
        state: newSecret(),
        nonce: newSecret(),
        codeVerifier: newSecret(),
        returnTo,
        endsAtMs: now() + PENDING_MS,
      };
      return { location: await provider.authorizationUrl(pending, audiences), pending };
    },

    /** @throws AppError as `exchange`, and UNAVAILABLE where the provider gave no refresh token. */
    async finish(
      callback: URL,
      pending: PendingSignIn,
    ): Promise<{ readonly session: Session; readonly audience: string | undefined; readonly token: AccessToken }> {
      const [audience] = audiences;
      const { accessToken, refreshToken, ...person } = await provider.exchange(callback, pending, audience);
      if (refreshToken === undefined)
        throw new AppError(
          'UNAVAILABLE',
          'The identity provider gave no refresh token: its client for the console must be allowed offline_access.',
        );
      const endsAtMs = Math.floor(now()) + sessionMaxMs;
      const session = { id: newId(), issuer: provider.issuer, ...person, refreshToken, renewals: 0, endsAtMs };
      return { session, audience, token: accessToken };
    },
  };
}

export type SignInFlow = ReturnType<typeof signInFlow>;
