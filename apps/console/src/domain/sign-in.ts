import { AppError } from '@sealgate/errors';
import type { AccessToken } from './access-tokens.ts';
import type { PendingSignIn, Session } from './session.ts';
import type { Audience } from './surfaces.ts';

/** The result of a code exchange. */
export interface SignedIn {
  readonly subject: string;
  readonly name: string | undefined;
  readonly email: string | undefined;
  /** Undefined if the provider issued none. */
  readonly refreshToken: string | undefined;
  /** The access token for the first audience. */
  readonly accessToken: AccessToken;
}

/** The provider calls of a sign-in. Each has a deadline. */
export interface SignInProvider {
  readonly issuer: string;
  /** The authorization URL to redirect the browser to. @throws AppError UNAVAILABLE */
  authorizationUrl(pending: PendingSignIn, audiences: readonly Audience[]): Promise<string>;
  /**
   * Exchanges the code of the callback, checking state, nonce and issuer.
   * @throws AppError FORBIDDEN if the provider refused the sign-in, INVALID_REQUEST if the callback does not match,
   *   UNAVAILABLE if the provider does not respond.
   */
  exchange(callback: URL, pending: PendingSignIn, audience: Audience | undefined): Promise<SignedIn>;
}

/** Time limit of a sign-in, from the redirect to the callback. */
const PENDING_MS = 600_000;

/** Sign-in by authorization code flow with PKCE, state and nonce (RFC 6749, RFC 7636, OpenID Connect Core). */
export function signInFlow({
  provider,
  audiences,
  sessionMaxMs,
  now,
  newId,
  newSecret,
}: {
  readonly provider: SignInProvider;
  readonly audiences: readonly Audience[];
  readonly sessionMaxMs: number;
  readonly now: () => number;
  readonly newId: () => string;
  /** A random text of at least 43 base64url characters, as RFC 7636 requires of a code verifier. */
  readonly newSecret: () => string;
}) {
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

    /** @throws AppError as `exchange`, and UNAVAILABLE if the provider issued no refresh token. */
    async finish(
      callback: URL,
      pending: PendingSignIn,
    ): Promise<{ readonly session: Session; readonly audience: Audience | undefined; readonly token: AccessToken }> {
      const [audience] = audiences;
      const { accessToken, refreshToken, ...person } = await provider.exchange(callback, pending, audience);
      if (refreshToken === undefined)
        throw new AppError(
          'UNAVAILABLE',
          "The identity provider issued no refresh token: allow offline_access for the console's client.",
        );
      const endsAtMs = Math.floor(now()) + sessionMaxMs;
      const session = { id: newId(), issuer: provider.issuer, ...person, refreshToken, renewals: 0, endsAtMs };
      return { session, audience, token: accessToken };
    },
  };
}

export type SignInFlow = ReturnType<typeof signInFlow>;

const RETURN_TO_MAX_CHARACTERS = 2048;
/** One slash, not followed by another: browsers treat a backslash as a slash, and drop tabs and line breaks. */
const RETURN_PATH = /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/;

/**
 * The path to return to after a sign-in, with query and fragment.
 * @throws AppError INVALID_REQUEST for anything that could lead to another origin.
 */
export function checkedReturnTo(path: string, publicUrl: string): string {
  const isOurs = path.length <= RETURN_TO_MAX_CHARACTERS && RETURN_PATH.test(path) && isOfOrigin(path, publicUrl);
  if (isOurs) return path;
  const fault = { in: 'query', pointer: '/returnTo', detail: 'must be a path of this console' } as const;
  throw new AppError('INVALID_REQUEST', 'A sign-in can only return to a path of this console.', { faults: [fault] });
}

const isOfOrigin = (path: string, publicUrl: string): boolean =>
  URL.canParse(path, publicUrl) && new URL(path, publicUrl).origin === new URL(publicUrl).origin;
