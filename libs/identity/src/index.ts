export { accessTokens, adminPeople, isTokenForm, type AccessToken, type AccessTokens } from './access-tokens.ts';
export { parseAdminRules, parseIssuers, type AdminRule, type OidcIssuer } from './identity-config.ts';
