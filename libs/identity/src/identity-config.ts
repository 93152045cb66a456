import { safeUrl } from '@sealgate/auth';

/** The listeners that accept access tokens: each has audiences of its own. */
const TOKEN_LISTENERS = ['api', 'admin', 'mcp'] as const;

export type TokenListener = (typeof TOKEN_LISTENERS)[number];

/** An OpenID Connect provider whose access tokens are accepted. */
export interface OidcIssuer {
  /** The exact `iss` of its tokens. */
  readonly issuer: string;
  /** Accepted audiences by listener. A listener without any accepts no token of this issuer. */
  readonly audience: Readonly<Partial<Record<TokenListener, readonly string[]>>>;
  /** Scopes that clients of the tools are told to ask for. */
  readonly scopes?: { readonly mcp?: readonly string[] };
  /** The claim that identifies a person, in place of `sub`: `oid` for Entra ID. */
  readonly identityClaim?: string;
  /** URL of its keys; default: discovery (OpenID Connect Discovery 1.0 section 4). */
  readonly jwksUri?: string;
}

/**
 * Roles on an admin listener, the strongest first: an `operator` may do everything, a `viewer` may only read. Surfaces
 * with cases also have a `reviewer`, who decides them, and an `author`, who drafts policies.
 */
export const ADMIN_ROLES = ['operator', 'reviewer', 'author', 'viewer'] as const;

export type AdminRole = (typeof ADMIN_ROLES)[number];

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
    requireMembers(entry, ['issuer', 'audience', 'scopes', 'identityClaim', 'jwksUri']);
    const { issuer, audience, scopes, identityClaim, jwksUri } = entry;
    requireUrl(issuer, 'issuer');
    const audiences = textsBy(audience, { member: 'audience', names: TOKEN_LISTENERS, isText: isShortText });
    const told =
      scopes === undefined ? undefined : textsBy(scopes, { member: 'scopes', names: ['mcp'], isText: isScope });
    if (identityClaim !== undefined && !isShortText(identityClaim)) throw new Error('identityClaim must be a text');
    if (jwksUri !== undefined) requireUrl(jwksUri, 'jwksUri');
    return {
      issuer,
      audience: audiences,
      ...(told === undefined ? {} : { scopes: told }),
      ...(identityClaim === undefined ? {} : { identityClaim }),
      ...(jwksUri === undefined ? {} : { jwksUri }),
    };
  });
  if (new Set(issuers.map(({ issuer }) => issuer)).size < issuers.length) throw new Error('must name each issuer once');
  return issuers;
}

/**
 * Parses ADMIN_OIDC of a surface with these roles.
 * @throws Error stating the expected format, without quoting the text.
 */
export function parseAdminRules(
  text: string,
  roles: readonly AdminRole[] = ['operator', 'viewer'],
): readonly AdminRule[] {
  return entriesOf(text).map((entry): AdminRule => {
    requireMembers(entry, ['issuer', 'claim', 'value', 'role']);
    const { issuer, claim, value } = entry;
    const role = roles.find((known) => known === entry['role']);
    if (issuer !== undefined) requireUrl(issuer, 'issuer');
    if (!isShortText(claim) || !isShortText(value)) throw new Error('claim and value must be texts');
    if (role === undefined) throw new Error(`role must be ${roles.join(' or ')}`);
    return { claim, value, role, ...(issuer === undefined ? {} : { issuer }) };
  });
}

/** @throws Error naming the form, also for a plain list, which says nothing about listeners. */
function textsBy<Name extends string>(
  value: unknown,
  {
    member,
    names,
    isText,
  }: { readonly member: string; readonly names: readonly Name[]; readonly isText: (one: unknown) => boolean },
): Partial<Record<Name, readonly string[]>> {
  const form = `{${names.map((name) => `"${name}": [...]`).join(', ')}}`;
  if (!isObject(value)) throw new Error(`${member} must be an object with a list for each listener: ${form}`);
  const isKnown = (name: string) => names.some((known) => known === name);
  const isList = (list: unknown) => Array.isArray(list) && list.length <= MAX_ENTRIES && list.every(isText);
  if (!Object.keys(value).every(isKnown) || !Object.values(value).every(isList))
    throw new Error(`${member} must be ${form} or a part of it, with at most ${MAX_ENTRIES} texts in each list`);
  return value as Partial<Record<Name, readonly string[]>>; // Checked above.
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** RFC 6749, section 3.3. */
const isScope = (value: unknown): boolean => isShortText(value) && /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(value);

function entriesOf(text: string): Record<string, unknown>[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new Error('must be JSON');
  }
  if (!Array.isArray(parsed) || parsed.length === 0 || parsed.length > MAX_ENTRIES || !parsed.every(isObject))
    throw new Error(`must be a list of 1 to ${MAX_ENTRIES} objects`);
  return parsed;
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
