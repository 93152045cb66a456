import type { Log } from '@sealgate/observability';
import {
  decodeJwt,
  decodeProtectedHeader,
  errors,
  jwtVerify,
  type JWTPayload,
  type ProtectedHeaderParameters,
} from 'jose';
import type { AdminRole, AdminRule, OidcIssuer } from './identity-config.ts';
import { IssuerKeys } from './issuer-keys.ts';

/** A verified token: subject, issuer and all claims. */
export interface AccessToken {
  readonly issuer: string;
  readonly subject: string;
  readonly claims: Readonly<JWTPayload>;
}

export interface AccessTokens {
  /** Whether any issuer is configured. */
  readonly isConfigured: boolean;
  /** The configured issuers, in order. */
  readonly issuers: readonly string[];
  /**
   * Verifies an access token (RFC 9068) of a configured issuer; undefined if it is invalid. No I/O except to fetch
   * keys: if none of the issuer is cached, and if the token names an unknown key, at most once in 30 seconds.
   * @param audience accepted values of `aud`, in place of the issuer's configured audience.
   * @throws AppError UNAVAILABLE if no keys of the issuer are cached and they cannot be fetched.
   */
  check(token: string, audience?: readonly string[]): Promise<AccessToken | undefined>;
}

const MAX_TOKEN_BYTES = 8192;
const TOKEN_FORM = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;
const ALGORITHMS = ['EdDSA', 'ES256', 'ES384', 'PS256', 'RS256'];
const TYPES = ['at+jwt', 'application/at+jwt', 'jwt'];
/** Header members by which a token supplies its own key. */
const KEY_MEMBERS = ['jku', 'jwk', 'x5u', 'x5c'];
const LEEWAY_SECONDS = 60;
const MAX_LIFETIME_SECONDS = 86_400;
const SUBJECT = /^\P{Cc}{1,255}$/u;

/** Whether a text looks like a JWT: three base64url parts joined by dots, at most 8 KiB. */
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
    issuers: [...known.keys()],
    async check(token, audience) {
      const read = isTokenForm(token) ? readUnchecked(token) : undefined;
      const found = read === undefined ? undefined : known.get(read.claims.iss ?? '');
      if (read === undefined || found === undefined || !isAccepted(read.header)) return undefined;
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
    return undefined; // Not JSON objects, so not a token.
  }
}

function isAccepted(header: ProtectedHeaderParameters): boolean {
  const { alg = '', typ, cty } = header;
  if (!ALGORITHMS.includes(alg) || cty !== undefined) return false;
  return typeof typ === 'string' && TYPES.includes(typ.toLowerCase()) && !KEY_MEMBERS.some((name) => name in header);
}

type KeyOf = Parameters<typeof jwtVerify>[1];

/** Undefined for an invalid token. @throws JWKSNoMatchingKey if its key is unknown. */
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

/** A token valid for more than a day would be a key without revocation. */
function isShortLived({ iat, exp = 0 }: JWTPayload, nowSeconds: number): boolean {
  if (iat !== undefined && iat > nowSeconds + LEEWAY_SECONDS) return false;
  return exp - (iat ?? nowSeconds - LEEWAY_SECONDS) <= MAX_LIFETIME_SECONDS;
}

/** A signed-in person on an admin listener. */
interface AdminPerson {
  /** `oidc:<issuer>#<subject>`, the actor of audit events. */
  readonly actor: string;
  readonly role: AdminRole;
  readonly identity: { readonly issuer: string; readonly subject: string };
}

/**
 * Returns a function that finds the person and role behind an access token; undefined if the token is invalid or grants
 * no role. The strongest of several roles applies. Without rules there is no sign-in, and no such function.
 */
export function adminPeople(
  tokens: AccessTokens,
  rules: readonly AdminRule[],
): ((presented: string) => Promise<AdminPerson | undefined>) | undefined {
  if (rules.length === 0) return undefined;
  return async (presented: string): Promise<AdminPerson | undefined> => {
    const token = isTokenForm(presented) ? await tokens.check(presented) : undefined;
    if (token === undefined) return undefined;
    const { issuer, subject, claims } = token;
    const roles = rules
      .filter((rule) => (rule.issuer ?? issuer) === issuer && holds(claimAt(claims, rule.claim), rule.value))
      .map(({ role }) => role);
    if (roles.length === 0) return undefined;
    const role = roles.includes('operator') ? 'operator' : 'viewer';
    return { actor: `oidc:${issuer}#${subject}`, role, identity: { issuer, subject } };
  };
}

function claimAt(claims: Readonly<Record<string, unknown>>, claim: string): unknown {
  if (!claim.startsWith('/')) return ownMember(claims, claim);
  const steps = claim
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  return steps.reduce<unknown>((value, step) => ownMember(value, step), claims);
}

const ownMember = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;

const holds = (claim: unknown, value: string): boolean =>
  claim === value || (Array.isArray(claim) && claim.includes(value));
