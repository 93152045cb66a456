export { accessTokens, isTokenForm, type AccessToken, type AccessTokens } from './access-tokens.ts';
export { adminPeople } from './admin-people.ts';
export { parseAdminRules, parseIssuers, type AdminRule, type OidcIssuer } from './identity-config.ts';
