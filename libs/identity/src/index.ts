export { accessTokens, isTokenForm } from './access-tokens.ts';
export type { AccessToken, AccessTokens, AccessTokensOptions } from './access-tokens.ts';
export { adminPeople } from './admin-people.ts';
export type { AdminPerson } from './admin-people.ts';
export { parseAdminRules, parseIssuers } from './identity-config.ts';
export type { AdminRole, AdminRule, OidcIssuer } from './identity-config.ts';
