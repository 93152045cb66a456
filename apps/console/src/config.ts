import { safeUrl } from '@sealgate/auth';
import {
  customField,
  integerField,
  listenerFaults,
  loadConfig,
  publicListenerFields,
  publicUrlFields,
  storeFields,
  textField,
  type Config,
  type Environment,
} from '@sealgate/service-host';
import { audienceFaults, parseAudiences, parseSurfaces, withAudiences } from './domain/surfaces.ts';

const providerFields = {
  oidcIssuer: customField({
    name: 'OIDC_ISSUER',
    description: 'The OpenID Connect provider that people sign in with.',
    form: 'a URL that begins with `https://`, or on loopback with `http://`',
    parse: parseIssuer,
  }),
  oidcClientId: textField({ name: 'OIDC_CLIENT_ID', description: 'Client id of the console at the provider.' }),
  oidcClientSecret: customField<string | undefined>({
    name: 'OIDC_CLIENT_SECRET',
    description: 'Client secret (`client_secret_basic`). Without it the console is a public client.',
    form: 'text',
    isSecret: true,
    fallback: { value: undefined, shown: 'none' },
    parse(text) {
      // Copied or mounted with a line break, it would be refused by the provider at each sign-in.
      if (text !== text.trim()) throw new Error('has white space at its beginning or end');
      return text;
    },
  }),
  oidcScope: textField({
    name: 'OIDC_SCOPE',
    description: 'Requested scopes; the provider must issue a refresh token.',
    default: 'openid profile email offline_access',
  }),
  oidcAudiences: customField({
    name: 'OIDC_AUDIENCES',
    description:
      'How to ask the provider for the token of each listener: by `resource` (RFC 8707), or by scopes where it refuses that. A listener without an entry gets no token.',
    form: 'a JSON list of `{"surface", "listener": "api" or "admin", "resource" or "scope"}`',
    fallback: { value: [], shown: 'none' },
    parse: parseAudiences,
  }),
};

/**
 * Every environment variable of the console. The table in the README is generated from this. There is no admin listener
 * and no database.
 */
export const fields = {
  ...publicListenerFields,
  ...providerFields,
  publicUrl: customField({
    name: 'PUBLIC_URL',
    description: 'Public origin of the console. `<PUBLIC_URL>/signed-in` is its redirect URI at the provider.',
    form: 'a URL that begins with `https://`, or on loopback with `http://`, without path or trailing slash',
    parse: parseOrigin,
  }),
  serverSecrets: customField({
    ...storeFields.serverSecrets,
    description: 'Secrets that encrypt session cookies: the first encrypts, all decrypt. The same for all replicas.',
  }),
  surfaces: customField({
    name: 'CONSOLE_SURFACES',
    description: 'The surfaces and their URLs; see CONSOLE_SURFACES in the README.',
    form: 'a JSON list of `{"id", "apiUrl"?, "publicUrl"?, "adminUrl"?, "opsUrl"?}`',
    parse: parseSurfaces,
  }),
  redisUrl: customField({
    ...storeFields.redisUrl,
    description: 'Redis for sessions that were signed out, so that every replica refuses them; see Signing out.',
  }),
  prometheusUrl: customField<string | undefined>({
    name: 'PROMETHEUS_URL',
    description:
      'Prometheus that scrapes the surfaces, asked by the server of the console alone: four fixed queries for rates, the 95th percentile of durations, and firing alerts on the start page of operators.',
    form: 'an `http://` or `https://` URL without a user, query, fragment or trailing slash',
    fallback: { value: undefined, shown: 'none' },
    parse: parsePrometheus,
  }),
  sessionMaxSeconds: integerField({
    name: 'SESSION_MAX_SECONDS',
    description: 'Maximum lifetime of a session.',
    min: 300,
    max: 604_800,
    default: 43_200,
  }),
  bodyMaxBytes: integerField({
    name: 'BODY_MAX_BYTES',
    description: 'Maximum size of a forwarded request body; each surface has its own limit as well.',
    min: 1024,
    max: 67_108_864,
    default: 8_388_608,
  }),
};

export type ConsoleConfig = Config<typeof fields> & {
  readonly adminHost: string;
  readonly adminPort: undefined;
};

/** @throws ConfigError naming every fault. */
export function readConfig(env: Environment): ConsoleConfig {
  const config = loadConfig(fields, env, {
    check: (variables) => [
      ...listenerFaults({ ...variables, oidcIssuers: [], adminOidc: [] }),
      ...audienceFaults(variables.surfaces, variables.oidcAudiences),
    ],
  });
  const surfaces = withAudiences(config.surfaces, config.oidcAudiences);
  return Object.freeze({ ...config, surfaces, adminHost: '127.0.0.1', adminPort: undefined });
}

/** Cookies of the console are valid for its host on every path. @throws Error */
function parseOrigin(text: string): string {
  const url = publicUrlFields.publicUrl.parse(text) ?? '';
  if (new URL(url).origin !== url) throw new Error('must have no path');
  return url;
}

/** @throws Error */
function parsePrometheus(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.search === '';
  if (!isPlain || url.password !== '' || url.hash !== '' || text.endsWith('/'))
    throw new Error('must be a URL of http or https without user, query, fragment or trailing slash');
  return text;
}

/** @throws Error */
function parseIssuer(text: string): string {
  const url = safeUrl(text);
  if (url === undefined)
    throw new Error('must be a URL that begins with https://, or on loopback with http://, without a user');
  if (url.search !== '' || url.hash !== '') throw new Error('must have no query or fragment');
  return text;
}
