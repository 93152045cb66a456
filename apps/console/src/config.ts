import { safeUrl } from '@sealgate/auth';
import {
  customField,
  integerField,
  listenerFaults,
  listenerFields,
  loadConfig,
  publicUrlFields,
  storeFields,
  textField,
  tracingFields,
  type Config,
  type Environment,
} from '@sealgate/service-host';
import { parseSurfaces } from './domain/parse-surfaces.ts';

const {
  port,
  host,
  opsPort,
  opsHost,
  tlsCertFile,
  tlsKeyFile,
  tlsTerminatedUpstream,
  trustProxy,
  drainDelayMs,
  drainTimeoutMs,
  logLevel,
} = listenerFields;

const providerFields = {
  oidcIssuer: customField({
    name: 'OIDC_ISSUER',
    description: 'The OpenID Connect provider where people sign in.',
    form: 'a URL that begins with `https://`, or on loopback with `http://`',
    parse: parseIssuer,
  }),
  oidcClientId: textField({ name: 'OIDC_CLIENT_ID', description: 'What the console is called there.' }),
  oidcClientSecret: customField<string | undefined>({
    name: 'OIDC_CLIENT_SECRET',
    description: 'By which the console proves itself there (`client_secret_basic`). Without it, it is a public client.',
    form: 'text',
    isSecret: true,
    fallback: { value: undefined, shown: 'none' },
    parse: (text) => text,
  }),
  oidcScope: textField({
    name: 'OIDC_SCOPE',
    description: 'Which scopes are asked for; a refresh token is needed.',
    default: 'openid profile email offline_access',
  }),
};

/** Every variable of the console. The table in the README is made from this. There is no admin listener, and no database. */
export const fields = {
  ...{ port, host, opsPort, opsHost, tlsCertFile, tlsKeyFile, tlsTerminatedUpstream, trustProxy },
  ...{ drainDelayMs, drainTimeoutMs, logLevel },
  ...tracingFields,
  ...providerFields,
  publicUrl: customField({
    name: 'PUBLIC_URL',
    description: 'How browsers reach the console. `<PUBLIC_URL>/signed-in` is its redirect URI at the provider.',
    form: 'a URL that begins with `https://`, or on loopback with `http://`, without path or trailing slash',
    parse: parseOrigin,
  }),
  serverSecrets: customField({
    ...storeFields.serverSecrets,
    description: 'Secrets that session cookies are sealed with: the first seals, all open. The same for all replicas.',
  }),
  surfaces: customField({
    name: 'CONSOLE_SURFACES',
    description: 'Which surfaces there are, and where; see below.',
    form: 'a JSON list of `{"id", "apiUrl"?, "apiAudience"?, "publicUrl"?, "adminUrl"?, "adminAudience"?, "opsUrl"?}`',
    parse: parseSurfaces,
  }),
  sessionMaxSeconds: integerField({
    name: 'SESSION_MAX_SECONDS',
    description: 'How long somebody stays signed in, at most.',
    min: 300,
    max: 604_800,
    default: 43_200,
  }),
  bodyMaxBytes: integerField({
    name: 'BODY_MAX_BYTES',
    description: 'Largest body that is passed on; each surface has a limit of its own.',
    min: 1024,
    max: 67_108_864,
    default: 8_388_608,
  }),
};

export type ConsoleConfig = Config<typeof fields> & {
  readonly adminHost: string;
  readonly adminPort: undefined;
};

/** @throws ConfigError naming every fault at once. */
export function readConfig(env: Environment): ConsoleConfig {
  const config = loadConfig(fields, env, {
    check: (variables) => listenerFaults({ ...variables, oidcIssuers: [], adminOidc: [] }),
  });
  return Object.freeze({ ...config, adminHost: '127.0.0.1', adminPort: undefined });
}

/** Cookies of the console hold for its host, whatever the path. @throws Error */
function parseOrigin(text: string): string {
  const url = publicUrlFields.publicUrl.parse(text) ?? '';
  if (new URL(url).origin !== url) throw new Error('must have no path');
  return url;
}

/** @throws Error */
function parseIssuer(text: string): string {
  const url = safeUrl(text);
  if (url === undefined)
    throw new Error('must be a URL that begins with https://, or on loopback with http://, without a user');
  if (url.search !== '' || url.hash !== '') throw new Error('must have no query or fragment');
  return text;
}
