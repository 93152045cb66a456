import type { AccessTokens } from './access-tokens.ts';
import { isTokenForm } from './access-tokens.ts';
import type { AdminRole, AdminRule } from './identity-config.ts';

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
