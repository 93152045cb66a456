import type { Log } from '@sealgate/observability';
import {
  decodeJwt,
  decodeProtectedHeader,
  errors,
  jwtVerify,
  type JWTPayload,
  type ProtectedHeaderParameters,
} from 'jose';
import type { OidcIssuer } from './identity-config.ts';
import { IssuerKeys } from './issuer-keys.ts';

/** A token that has been checked: who it is, by `issuer` and `subject`, and everything else that it says. */
export interface AccessToken {
  readonly issuer: string;
  readonly subject: string;
  readonly claims: Readonly<JWTPayload>;
}

export interface AccessTokens {
  /** Whether tokens are taken at all: an issuer is configured. */
  readonly isConfigured: boolean;
  /** What was configured, in order. */
  readonly issuers: readonly string[];
  /**
   * Checks an access token (RFC 9068) of a configured issuer; undefined for any fault of it. No I/O but for keys: they are
   * fetched where none of the issuer has been seen yet, and where the token names one that is not known, at most once in
   * 30 seconds.
   * @param audience one of which `aud` must hold, in place of the audience that the issuer is configured with.
   * @throws AppError UNAVAILABLE where the keys of its issuer have never been seen and cannot be had now.
   */
  check(token: string, audience?: readonly string[]): Promise<AccessToken | undefined>;
}

export interface AccessTokensOptions {
  readonly issuers: readonly OidcIssuer[];
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** The platform's unless given. */
  readonly fetch?: typeof fetch;
}

const MAX_TOKEN_BYTES = 8192;
const TOKEN_FORM = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;
const ALGORITHMS = ['EdDSA', 'ES256', 'ES384', 'PS256', 'RS256'];
const TYPES = ['at+jwt', 'application/at+jwt', 'jwt'];
/** Members by which a token brings or names the key that it is checked with. */
const BRINGS_A_KEY = ['jku', 'jwk', 'x5u', 'x5c'];
const LEEWAY_SECONDS = 60;
const MAX_LIFETIME_SECONDS = 86_400;
const SUBJECT = /^\P{Cc}{1,255}$/u;

/** Three parts of base64url joined by dots, and no more than 8 KiB: nothing else is looked at. */
export function isTokenForm(text: string): boolean {
  return text.length <= MAX_TOKEN_BYTES && TOKEN_FORM.test(text);
}

/** Keys are fetched ahead, so that the first token does not wait for them. */
export function accessTokens({ issuers, now, log, fetch: ask = fetch }: AccessTokensOptions): AccessTokens {
  const known = new Map(
    issuers.map((issuer) => [issuer.issuer, { issuer, keys: new IssuerKeys({ issuer, now, log, fetch: ask }) }]),
  );
  for (const { keys } of known.values()) keys.prefetch();
  return {
    isConfigured: issuers.length > 0,
    issuers: [...known.keys()],
    async check(token, audience) {
      const read = isTokenForm(token) ? readUnchecked(token) : undefined;
      const found = read === undefined ? undefined : known.get(read.claims.iss ?? '');
      if (read === undefined || found === undefined || !isTaken(read.header)) return undefined;
      const { issuer, keys } = found;
      const options = {
        ...{ algorithms: ALGORITHMS, issuer: issuer.issuer, audience: [...(audience ?? issuer.audience)] },
        ...{ clockTolerance: LEEWAY_SECONDS, currentDate: new Date(now()), requiredClaims: ['sub', 'exp'] },
      };
      const claims = await keys.use((keyOf) => claimsOf(token, keyOf, options));
      return claims !== undefined && isShortLived(claims, now() / 1000) && SUBJECT.test(claims.sub ?? '')
        ? { issuer: issuer.issuer, subject: claims.sub!, claims }
        : undefined;
    },
  };
}

function readUnchecked(token: string): { header: ProtectedHeaderParameters; claims: JWTPayload } | undefined {
  try {
    return { header: decodeProtectedHeader(token), claims: decodeJwt(token) };
  } catch {
    return undefined; // Not JSON, or no object: nothing that anybody signed as a token.
  }
}

function isTaken(header: ProtectedHeaderParameters): boolean {
  const { alg = '', typ, cty } = header;
  if (!ALGORITHMS.includes(alg) || cty !== undefined) return false;
  return typeof typ === 'string' && TYPES.includes(typ.toLowerCase()) && !BRINGS_A_KEY.some((name) => name in header);
}

type KeyOf = Parameters<typeof jwtVerify>[1];

/** Undefined for a token that does not hold. @throws JWKSNoMatchingKey where its key is not among those that are known. */
async function claimsOf(
  token: string,
  keyOf: KeyOf,
  options: Parameters<typeof jwtVerify>[2],
): Promise<JWTPayload | undefined> {
  try {
    return (await jwtVerify(token, keyOf, options)).payload;
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) throw error;
    return undefined;
  }
}

/** A token that lives for longer than a day is a key without a way to revoke it. */
function isShortLived({ iat, exp = 0 }: JWTPayload, nowSeconds: number): boolean {
  if (iat !== undefined && iat > nowSeconds + LEEWAY_SECONDS) return false;
  return exp - (iat ?? nowSeconds - LEEWAY_SECONDS) <= MAX_LIFETIME_SECONDS;
}
