const BEARER = /^bearer +([\x21-\x7e]+)$/i;

/**
 * The token of an `Authorization` header (RFC 6750): `Bearer` in any case, one or more spaces, then visible ASCII to the
 * end. Undefined for every other value. Whether the token is a key is for `keyHashOf` or `HashedSecrets` to say.
 */
export function bearerToken(header: string): string | undefined {
  return BEARER.exec(header)?.[1];
}
