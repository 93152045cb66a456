export { accessTokens, isRefused, isTokenForm, notesOf, type AccessToken, type AccessTokens } from './access-tokens.ts';
export { adminPeople, hasClaim } from './admin-people.ts';
export {
  ADMIN_ROLES,
  parseAdminRules,
  parseIssuers,
  type AdminRole,
  type AdminRule,
  type OidcIssuer,
} from './identity-config.ts';
export type { TokenRefusal } from './judge-claims.ts';
