export { accessTokens, isRefused, isTokenForm, notesOf, type AccessToken, type AccessTokens } from './access-tokens.ts';
export { adminPeople } from './admin-people.ts';
export { parseAdminRules, parseIssuers, type AdminRule, type OidcIssuer } from './identity-config.ts';
export type { TokenRefusal } from './judge-claims.ts';
