import { isRefused, notesOf, type AccessTokens, type TokenNotes } from './access-tokens.ts';
import { ADMIN_ROLES, type AdminRole, type AdminRule } from './identity-config.ts';
import { ownMember } from './judge-claims.ts';

/** A signed-in person on an admin listener. */
interface AdminPerson {
  /** `oidc:<issuer>#<subject>`, the actor of audit events. */
  readonly actor: string;
  /** The strongest first; at least one. */
  readonly roles: readonly AdminRole[];
  readonly identity: { readonly issuer: string; readonly subject: string };
  /** Of the token, for `hasClaim`. */
  readonly claims: Claims;
  /** What the token calls the person, for display; undefined where it says nothing that can be shown. */
  readonly name: string | undefined;
}

type Claims = Readonly<Record<string, unknown>>;

const NAME_CLAIMS = ['name', 'email', 'preferred_username'];
const SHOWABLE = /^(?!\s*$)[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]{1,200}$/u;

const nameIn = (claims: Claims): string | undefined =>
  NAME_CLAIMS.map((claim) => ownMember(claims, claim)).find(
    (value): value is string => typeof value === 'string' && SHOWABLE.test(value),
  );

/**
 * Returns a function that finds the person and role behind an access token for the admin listener; a refusal if the
 * token is invalid or grants no role. Without rules there is no sign-in, and no such function.
 */
export function adminPeople(
  tokens: AccessTokens,
  rules: readonly AdminRule[],
): ((presented: string) => Promise<AdminPerson | { readonly refused: TokenNotes }>) | undefined {
  if (rules.length === 0) return undefined;
  return async (presented) => {
    const token = await tokens.check(presented, 'admin');
    if (isRefused(token)) return { refused: notesOf(token) };
    const { issuer, subject, claims } = token;
    const ofIssuer = rules.filter((rule) => (rule.issuer ?? issuer) === issuer);
    const granted = ofIssuer.filter((rule) => hasClaim(claims, rule)).map(({ role }) => role);
    const roles = ADMIN_ROLES.filter((role) => granted.includes(role));
    if (roles.length === 0) {
      const isElsewhere = ofIssuer.some(({ claim }) => ownMember(claims['_claim_names'], claim) !== undefined);
      return { refused: notesOf({ refused: isElsewhere ? 'claim_elsewhere' : 'no_role', issuer, subject }) };
    }
    return { actor: `oidc:${issuer}#${subject}`, roles, identity: { issuer, subject }, claims, name: nameIn(claims) };
  };
}

/**
 * Whether a claim has a value, or is a list with it. The claim is a name, or an RFC 6901 pointer if it begins with `/`.
 */
export const hasClaim = (claims: Claims, { claim, value }: Pick<AdminRule, 'claim' | 'value'>): boolean =>
  holds(claimAt(claims, claim), value);

function claimAt(claims: Claims, claim: string): unknown {
  if (!claim.startsWith('/')) return ownMember(claims, claim);
  const steps = claim
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  return steps.reduce<unknown>((value, step) => ownMember(value, step), claims);
}

const holds = (claim: unknown, value: string): boolean =>
  claim === value || (Array.isArray(claim) && claim.includes(value));
