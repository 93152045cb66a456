import { safeUrl } from '@sealgate/auth';

/** An OpenID Connect provider whose access tokens are accepted. */
export interface OidcIssuer {
  /** The exact `iss` of its tokens. */
  readonly issuer: string;
  /** Accepted audiences: `aud` of a token must contain one of them. */
  readonly audience: readonly string[];
  /** URL of its keys; default: discovery (OpenID Connect Discovery 1.0 section 4). */
  readonly jwksUri?: string;
}

/** An `operator` may do everything on an admin listener, a `viewer` may only read. */
export type AdminRole = 'operator' | 'viewer';

/** Grants a role on the admin listener. */
export interface AdminRule {
  /** Restricts the rule to this issuer; default: any configured one. */
  readonly issuer?: string;
  /** The name of a claim, or an RFC 6901 pointer if it begins with `/`. */
  readonly claim: string;
  /** The value of the claim, or an element if it is a list. */
  readonly value: string;
  readonly role: AdminRole;
}

const MAX_ENTRIES = 20;

/** Parses OIDC_ISSUERS. @throws Error stating the expected format, without quoting the text. */
export function parseIssuers(text: string): readonly OidcIssuer[] {
  const issuers = entriesOf(text).map((entry): OidcIssuer => {
    requireMembers(entry, ['issuer', 'audience', 'jwksUri']);
    const { issuer, audience, jwksUri } = entry;
    requireUrl(issuer, 'issuer');
    if (
      !Array.isArray(audience) ||
      audience.length === 0 ||
      audience.length > MAX_ENTRIES ||
      !audience.every(isShortText)
    )
      throw new Error(`audience must be a list of 1 to ${MAX_ENTRIES} texts`);
    if (jwksUri !== undefined) requireUrl(jwksUri, 'jwksUri');
    return { issuer, audience, ...(jwksUri === undefined ? {} : { jwksUri }) };
  });
  if (new Set(issuers.map(({ issuer }) => issuer)).size < issuers.length) throw new Error('must name each issuer once');
  return issuers;
}

/** Parses ADMIN_OIDC. @throws Error stating the expected format, without quoting the text. */
export function parseAdminRules(text: string): readonly AdminRule[] {
  return entriesOf(text).map((entry): AdminRule => {
    requireMembers(entry, ['issuer', 'claim', 'value', 'role']);
    const { issuer, claim, value, role } = entry;
    if (issuer !== undefined) requireUrl(issuer, 'issuer');
    if (!isShortText(claim) || !isShortText(value)) throw new Error('claim and value must be texts');
    if (role !== 'operator' && role !== 'viewer') throw new Error('role must be operator or viewer');
    return { claim, value, role, ...(issuer === undefined ? {} : { issuer }) };
  });
}

function entriesOf(text: string): Record<string, unknown>[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new Error('must be JSON');
  }
  const isEntry = (entry: unknown) => typeof entry === 'object' && entry !== null && !Array.isArray(entry);
  if (!Array.isArray(parsed) || parsed.length === 0 || parsed.length > MAX_ENTRIES || !parsed.every(isEntry))
    throw new Error(`must be a list of 1 to ${MAX_ENTRIES} objects`);
  return parsed as Record<string, unknown>[];
}

function requireMembers(entry: Record<string, unknown>, known: readonly string[]): void {
  const unknown = Object.keys(entry).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`each entry must have no members but ${known.join(', ')}`);
}

const isShortText = (value: unknown): value is string =>
  typeof value === 'string' && value.length > 0 && value.length <= 500;

function requireUrl(value: unknown, member: string): asserts value is string {
  if (!isShortText(value) || !isSafeUrl(value))
    throw new Error(`${member} must be a URL that begins with https://, or on loopback with http://, without a user`);
}

/** Keys fetched without transport security could be replaced by an attacker. */
export function isSafeUrl(text: string): boolean {
  return safeUrl(text)?.hash === '';
}
