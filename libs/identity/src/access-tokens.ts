import type { Log } from '@sealgate/observability';
import {
  decodeJwt,
  decodeProtectedHeader,
  errors,
  jwtVerify,
  type JWTPayload,
  type ProtectedHeaderParameters,
} from 'jose';
import type { OidcIssuer, TokenListener } from './identity-config.ts';
import { IssuerKeys } from './issuer-keys.ts';
import {
  audienceFault,
  isSubject,
  kindFault,
  LEEWAY_SECONDS,
  lifetimeFault,
  ownMember,
  textFault,
  type TokenRefusal,
} from './judge-claims.ts';

/** A verified token: issuer, subject and all claims. */
export interface AccessToken {
  readonly issuer: string;
  /** The value of `sub`, or of the issuer's `identityClaim`. */
  readonly subject: string;
  readonly claims: Readonly<JWTPayload>;
}

/** A token that is not accepted. Issuer and subject are known only if the signature was valid. */
interface RefusedToken {
  readonly refused: TokenRefusal;
  readonly issuer?: string;
  readonly subject?: string;
}

export const isRefused = (checked: object): checked is RefusedToken => 'refused' in checked;

/** The fields of a request's log line about a refused token. */
export interface TokenNotes {
  readonly tokenRefused: TokenRefusal;
  readonly issuer?: string;
  readonly subject?: string;
}

export const notesOf = ({ refused, ...identity }: RefusedToken): TokenNotes => ({ tokenRefused: refused, ...identity });

export interface AccessTokens {
  /** Whether any issuer is configured. */
  readonly isConfigured: boolean;
  /** The issuers whose tokens a listener accepts, in order. */
  issuersOf(listener: TokenListener): readonly OidcIssuer[];
  /**
   * Verifies an access token of a configured issuer for a listener. No I/O except to fetch keys: if none of the issuer is
   * cached, and if the token names an unknown key, at most once in 30 seconds.
   * @throws AppError UNAVAILABLE if no keys of the issuer are cached and they cannot be fetched.
   */
  check(token: string, listener: TokenListener): Promise<AccessToken | RefusedToken>;
}

const MAX_TOKEN_BYTES = 16_384;
const TOKEN_FORM = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;
const ALGORITHMS = ['EdDSA', 'ES256', 'ES384', 'PS256', 'RS256'];
/** RFC 9068; the media type may be written out (RFC 7515, section 4.1.9). */
const TYPED = /^(?:application\/)?at\+jwt$/i;
/** Header members by which a token supplies its own key. */
const KEY_MEMBERS = ['jku', 'jwk', 'x5u', 'x5c'];

/** Whether a text looks like a JWT: three base64url parts joined by dots, at most 16 KiB. */
export function isTokenForm(text: string): boolean {
  return text.length <= MAX_TOKEN_BYTES && TOKEN_FORM.test(text);
}

/** Creates the verifier. Keys are prefetched, so that the first token does not wait for them. */
export function accessTokens({
  issuers,
  now,
  log,
  fetch: ask = fetch,
}: {
  readonly issuers: readonly OidcIssuer[];
  readonly now: () => number;
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly fetch?: typeof fetch;
}): AccessTokens {
  const known = new Map(
    issuers.map((issuer) => [issuer.issuer, { issuer, keys: new IssuerKeys({ issuer, now, log, fetch: ask }) }]),
  );
  for (const { keys } of known.values()) keys.prefetch();
  return {
    isConfigured: issuers.length > 0,
    issuersOf: (listener) => issuers.filter(({ audience }) => (audience[listener] ?? []).length > 0),
    async check(token, listener) {
      if (token.length > MAX_TOKEN_BYTES) return { refused: 'too_long' };
      const read = isTokenForm(token) ? readUnchecked(token) : undefined;
      if (read === undefined) return { refused: 'malformed' };
      const found = known.get(read.claims.iss ?? '');
      if (found === undefined) return { refused: 'unknown_issuer' };
      const accepted = found.issuer.audience[listener] ?? [];
      const refused = accepted.length === 0 ? 'no_audience_configured' : headerFault(read.header);
      if (refused !== undefined) return { refused };
      const options = {
        algorithms: ALGORITHMS,
        issuer: found.issuer.issuer,
        requiredClaims: ['exp'],
        clockTolerance: LEEWAY_SECONDS,
        currentDate: new Date(now()),
      };
      const verified = await found.keys.use((keyOf) => verify(token, keyOf, options));
      if (verified === undefined) return { refused: 'unknown_key' };
      if ('refused' in verified) return verified;
      return judge(verified, { issuer: found.issuer, accepted, isTyped: isTyped(read.header), now: now() / 1000 });
    },
  };
}

/** What is said of a token whose signature was valid. */
function judge(
  { claims, timeFault }: Verified,
  ports: {
    readonly issuer: OidcIssuer;
    readonly accepted: readonly string[];
    readonly isTyped: boolean;
    readonly now: number;
  },
): AccessToken | RefusedToken {
  const { issuer, identityClaim = 'sub' } = ports.issuer;
  const refused =
    kindFault(claims, ports.isTyped) ??
    audienceFault(claims, ports.accepted) ??
    timeFault ??
    lifetimeFault(claims, ports.now) ??
    textFault(claims, identityClaim);
  const subject = ownMember(claims, identityClaim);
  if (!isSubject(subject)) return { refused: refused ?? 'subject', issuer };
  return refused === undefined ? { issuer, subject, claims } : { refused, issuer, subject };
}

function readUnchecked(token: string): { header: ProtectedHeaderParameters; claims: JWTPayload } | undefined {
  try {
    return { header: decodeProtectedHeader(token), claims: decodeJwt(token) };
  } catch {
    return undefined; // Not JSON objects, so not a token.
  }
}

const isTyped = ({ typ }: ProtectedHeaderParameters): boolean => typeof typ === 'string' && TYPED.test(typ);

/** Several providers set no `typ`; `judge` then needs another sign that it is an access token. */
function headerFault(header: ProtectedHeaderParameters): TokenRefusal | undefined {
  const { alg = '', typ, cty } = header;
  if (!ALGORITHMS.includes(alg)) return 'algorithm';
  if (cty !== undefined || KEY_MEMBERS.some((name) => name in header)) return 'header';
  return typ === undefined || isTyped(header) || (typeof typ === 'string' && /^jwt$/i.test(typ)) ? undefined : 'type';
}

interface Verified {
  readonly claims: JWTPayload;
  readonly timeFault: TokenRefusal | undefined;
}

/** @throws JWKSNoMatchingKey if its key is unknown. */
async function verify(
  token: string,
  keyOf: Parameters<typeof jwtVerify>[1],
  options: Parameters<typeof jwtVerify>[2],
): Promise<Verified | { readonly refused: TokenRefusal }> {
  try {
    return { claims: (await jwtVerify(token, keyOf, options)).payload, timeFault: undefined };
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) throw error;
    // The signature is checked before any claim.
    if (error instanceof errors.JWTExpired) return { claims: error.payload, timeFault: 'expired' };
    if (error instanceof errors.JWTClaimValidationFailed)
      return { claims: error.payload, timeFault: error.claim === 'nbf' ? 'not_yet_valid' : 'lifetime' };
    return { refused: signatureFault(error) };
  }
}

function signatureFault(error: unknown): TokenRefusal {
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'signature';
  if (error instanceof errors.JOSENotSupported) return 'header';
  if (error instanceof errors.JWSInvalid || error instanceof errors.JWTInvalid) return 'malformed';
  // Several keys fit a token without kid, or the published key cannot be used.
  return 'unknown_key';
}
