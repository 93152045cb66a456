import type { JWTPayload } from 'jose';

/** Why a token was refused: `tokenRefused` in the log line of the request. Callers get the same 401 for all. */
export type TokenRefusal =
  /** More than 16 KiB. */
  | 'too_long'
  /** Three parts, but not the header and claims of a signed JWT. */
  | 'malformed'
  | 'unknown_issuer'
  /** No audience of this listener is configured for the issuer. */
  | 'no_audience_configured'
  | 'algorithm'
  /** `typ` of the header is not that of an access token. */
  | 'type'
  /** The header names a key of its own, nests a token, or has a critical extension. */
  | 'header'
  | 'unknown_key'
  | 'signature'
  | 'id_token'
  | 'refresh_token'
  /** Nothing in it says that it is an access token. */
  | 'no_access_token'
  | 'audience'
  | 'expired'
  | 'not_yet_valid'
  /** `exp` is missing or no number, or the token is valid for more than a day. */
  | 'lifetime'
  /** No usable `sub`, or no usable identity claim. */
  | 'subject'
  /** A claim that would be stored contains control characters or lone surrogates. */
  | 'claim_text'
  /** Valid, but the claims grant no role on this admin listener. */
  | 'no_role'
  /** As `no_role`: the provider left a claim of the rules out, as it has too many values (`_claim_names`). */
  | 'claim_elsewhere'
  /** Valid, but linked to nobody. */
  | 'not_linked'
  /** Valid, but not a member of the organisation that X-Organization names. */
  | 'organization';

const MAX_LIFETIME_SECONDS = 86_400;
export const LEEWAY_SECONDS = 60;

/** Claims that only access tokens have. */
const ACCESS_CLAIMS = ['scope', 'scp', 'client_id', 'cid', 'appid', 'idtyp'] as const;
/** Hashes of other tokens of the same response: only an ID token has them (OpenID Connect Core, section 3.3.2.11). */
const ID_TOKEN_CLAIMS = ['at_hash', 'c_hash'] as const;
/** The claim `typ` of Keycloak's tokens that are no access tokens. */
const OTHER_KINDS: Readonly<Record<string, TokenRefusal>> = {
  ID: 'id_token',
  Refresh: 'refresh_token',
  Offline: 'refresh_token',
  Logout: 'no_access_token',
};

const isGiven = (value: unknown): boolean => (typeof value === 'string' || Array.isArray(value)) && value.length > 0;

/**
 * Whether the claims are those of an access token. ID tokens have the same issuer, keys and often the same audience, but
 * are sent to browsers: whoever sees one must not be able to use it here.
 * @param isTyped `typ` of the header is `at+jwt` (RFC 9068).
 */
export function kindFault(claims: Readonly<JWTPayload>, isTyped: boolean): TokenRefusal | undefined {
  if (ID_TOKEN_CLAIMS.some((name) => claims[name] !== undefined)) return 'id_token';
  const { token_use: use, typ: kind } = claims;
  if (use !== undefined && use !== 'access') return use === 'refresh' ? 'refresh_token' : 'id_token';
  const other = Object.entries(OTHER_KINDS).find(([name]) => name === kind);
  if (other !== undefined) return other[1];
  if (claims['nonce'] !== undefined && !isGiven(claims['scope']) && !isGiven(claims['scp'])) return 'id_token';
  return isTyped || ACCESS_CLAIMS.some((name) => isGiven(claims[name])) ? undefined : 'no_access_token';
}

/** Cognito's access tokens have no `aud`: there the client is compared. */
export function audienceFault(claims: Readonly<JWTPayload>, accepted: readonly string[]): TokenRefusal | undefined {
  const { aud, client_id: client, token_use: use } = claims;
  const given = aud === undefined && use === 'access' ? client : aud;
  return [given].flat().some((one) => accepted.some((audience) => audience === one)) ? undefined : 'audience';
}

/** A token valid for more than a day would be a key without revocation. */
export function lifetimeFault({ iat, exp = 0 }: JWTPayload, nowSeconds: number): TokenRefusal | undefined {
  if (iat !== undefined && iat > nowSeconds + LEEWAY_SECONDS) return 'not_yet_valid';
  return exp - (iat ?? nowSeconds - LEEWAY_SECONDS) <= MAX_LIFETIME_SECONDS ? undefined : 'lifetime';
}

const SUBJECT = /^\P{Cc}{1,255}$/u;

/** A subject as it is stored and logged. PostgreSQL cannot store U+0000, and UTF-8 has no lone surrogates. */
export const isSubject = (value: unknown): value is string =>
  typeof value === 'string' && value.isWellFormed() && SUBJECT.test(value);

/** The claims that are stored: `sub`, the identity claim and the e-mail address. */
export function textFault(claims: Readonly<JWTPayload>, identityClaim: string): TokenRefusal | undefined {
  const { sub, email } = claims;
  const subjects = [sub, ownMember(claims, identityClaim)];
  if (!subjects.every((one) => typeof one === 'string' && one !== '')) return 'subject';
  const isText = (one: unknown) => typeof one !== 'string' || (one.isWellFormed() && !/\p{Cc}/u.test(one));
  if (![...subjects, email].every(isText)) return 'claim_text';
  return subjects.every(isSubject) ? undefined : 'subject';
}

export const ownMember = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
