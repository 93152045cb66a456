import { safeUrl, ServerSecrets, tokenHashes } from '@sealgate/auth';
import { parseAdminRules, parseIssuers } from '@sealgate/identity';
import { LOG_LEVELS } from '@sealgate/observability';
import { MOST_PROCESSES } from './config-faults.ts';
import { booleanField, choiceField, customField, integerField, textField } from './config-field.ts';
import { listText, parsePostgresUrl, parseRedisUrl, POSTGRES_FORM, REDIS_FORM } from './store-urls.ts';
import { tracingFields } from './tracing-fields.ts';
import { parseTrustProxy } from './trust-proxy.ts';
import { witnessFields } from './witness-fields.ts';

const port = { min: 0, max: 65_535 } as const;

/** What every service says about its listeners: spread it into the fields of a surface. */
export const listenerFields = {
  port: integerField({ ...port, name: 'PORT', description: 'Port of the public listener.', default: 8080 }),
  host: textField({ name: 'HOST', description: 'Address of the public listener.', default: '127.0.0.1' }),
  opsPort: integerField({ ...port, name: 'OPS_PORT', description: 'Port for probes and scrapers.', default: 8081 }),
  opsHost: textField({ name: 'OPS_HOST', description: 'Address for probes and scrapers.', default: '127.0.0.1' }),
  adminPort: integerField({
    ...port,
    name: 'ADMIN_PORT',
    description: 'Port of the admin listener, which is off unless this is set.',
    default: undefined,
  }),
  adminHost: textField({ name: 'ADMIN_HOST', description: 'Address of the admin listener.', default: '127.0.0.1' }),
  adminTokenHashes: customField({
    name: 'ADMIN_TOKEN_HASHES',
    description: 'Who may use the admin listener; without any, each of its paths is a 404.',
    form: 'SHA-256 hashes in hex, separated by commas; or `file:///path` of a file that holds them, read again while it runs',
    isSecret: true,
    fallback: { value: tokenHashes(() => ''), shown: 'none' },
    parse: (text) => tokenHashes(() => listText(text)),
  }),
  oidcIssuers: customField({
    name: 'OIDC_ISSUERS',
    description: 'OpenID Connect providers whose access tokens are taken, with what they call this service.',
    form: 'a JSON list of `{"issuer", "audience": [...], "jwksUri"?}`; URLs are https, or http on loopback',
    fallback: { value: [], shown: 'none' },
    parse: parseIssuers,
  }),
  adminOidc: customField({
    name: 'ADMIN_OIDC',
    description:
      'Which claim of an access token gives which role on the admin listener: operators may do all, viewers read.',
    form: 'a JSON list of `{"claim", "value", "role": "operator" or "viewer", "issuer"?}`; a claim is a name or a JSON pointer',
    fallback: { value: [], shown: 'none' },
    parse: parseAdminRules,
  }),
  tlsCertFile: textField({
    name: 'TLS_CERT_FILE',
    description: 'PEM certificate chain of the public listener, read again when it changes.',
    default: undefined,
  }),
  tlsKeyFile: textField({ name: 'TLS_KEY_FILE', description: 'PEM key of that certificate.', default: undefined }),
  tlsTerminatedUpstream: booleanField({
    name: 'TLS_TERMINATED_UPSTREAM',
    description: 'Whether a proxy in front speaks TLS; needed to listen off loopback without a certificate.',
    default: false,
  }),
  trustProxy: customField({
    name: 'TRUST_PROXY',
    description: 'Whose X-Forwarded-For and X-Forwarded-Proto are believed.',
    form: '`false`, a number of hops, or addresses and subnets separated by commas',
    fallback: { value: false, shown: '`false`' },
    parse: parseTrustProxy,
  }),
  drainDelayMs: integerField({
    name: 'DRAIN_DELAY_MS',
    description: 'How long a stopping service goes on listening, so that load balancers see that it is not ready.',
    min: 0,
    max: 60_000,
    default: 0,
  }),
  drainTimeoutMs: integerField({
    name: 'DRAIN_TIMEOUT_MS',
    description: 'How long a stopping service waits for requests in flight.',
    min: 0,
    max: 300_000,
    default: 20_000,
  }),
  logLevel: choiceField({
    name: 'LOG_LEVEL',
    description: 'The least urgent lines that are logged.',
    choices: LOG_LEVELS,
    default: 'info',
  }),
  ...tracingFields,
};

/** What a service says that names itself in its OpenAPI document, or to whoever asks for its metadata. */
export const publicUrlFields = {
  publicUrl: customField<string | undefined>({
    name: 'PUBLIC_URL',
    description: 'How clients reach the public listener: the server of the OpenAPI document, which else is relative.',
    form: 'a URL that begins with `https://`, or on loopback with `http://`, without trailing slash, query or fragment',
    fallback: { value: undefined, shown: 'none' },
    parse: parsePublicUrl,
  }),
};

/** Clients send their keys to this URL, and it is joined with paths and read as a template. @throws Error */
function parsePublicUrl(text: string): string {
  if (safeUrl(text) === undefined)
    throw new Error('must be a URL that begins with https://, or on loopback with http://, without a user');
  if (!/^https?:\/\/[!-~]+$/i.test(text) || /[?#{}\\]|\/$/.test(text))
    throw new Error('must be in ASCII, without trailing slash, query, fragment or braces');
  return text;
}

const postgres = { form: POSTGRES_FORM, isSecret: true } as const;
const poolSize = { min: 1, max: 500 } as const;

/** What a service says about where its data lives. */
export const storeFields = {
  databaseUrl: customField({
    ...postgres,
    name: 'DATABASE_URL',
    description:
      'PostgreSQL under the role of run time, which changes no tables. Of several servers the one that takes writes is used.',
    parse: parsePostgresUrl,
  }),
  databasePreparedStatements: customField<boolean | undefined>({
    name: 'DATABASE_PREPARED_STATEMENTS',
    description:
      'Whether statements are prepared. `auto`: unless a pooler is found between; `true` for a pooler that carries them.',
    form: '`auto`, `true` or `false`',
    fallback: { value: undefined, shown: '`auto`' },
    parse: (text) => {
      if (!['auto', 'true', 'false'].includes(text)) throw new Error('must be auto, true or false');
      return text === 'auto' ? undefined : text === 'true';
    },
  }),
  databasePoolSize: integerField({
    ...poolSize,
    min: 2,
    name: 'DATABASE_POOL_SIZE',
    description: 'Most connections of this process to DATABASE_URL; see how many N replicas take.',
    default: 12,
  }),
  redisUrl: customField<string | undefined>({
    name: 'REDIS_URL',
    description: 'Redis, which makes things faster and shares limits; the service is right without it.',
    form: REDIS_FORM,
    isSecret: true,
    fallback: { value: undefined, shown: 'none' },
    parse: parseRedisUrl,
  }),
  replicas: integerField({
    name: 'REPLICAS',
    description: 'How many replicas, each of WORKERS processes, share the limits while Redis is away.',
    min: 1,
    max: MOST_PROCESSES,
    default: 1,
  }),
  workers: integerField({
    name: 'WORKERS',
    description:
      'Processes that answer requests on one port, for machines with several cores: each with its own memory and pool.',
    min: 1,
    max: 64,
    default: 1,
  }),
  serverSecrets: customField({
    name: 'SERVER_SECRETS',
    description: 'Secrets behind fingerprints, derived ids and cursors: the first makes, all check.',
    form: '`id:value` pairs separated by commas, each value at least 32 characters',
    isSecret: true,
    parse: (text) => ServerSecrets.parse(text),
  }),
};

/** What a service says whose admin listener has the ledger of other surfaces too. */
export const operatorFields = {
  adminDatabaseUrl: customField<string | undefined>({
    ...postgres,
    name: 'ADMIN_DATABASE_URL',
    description:
      "PostgreSQL under the operator's role, for the ledger on the admin listener. Without it that reaches the channels " +
      'of the role of DATABASE_URL alone, and that role may audit and erase.',
    fallback: { value: undefined, shown: 'none' },
    parse: parsePostgresUrl,
  }),
  adminDatabasePoolSize: integerField({
    ...poolSize,
    name: 'ADMIN_DATABASE_POOL_SIZE',
    description: 'Most connections of this process to ADMIN_DATABASE_URL.',
    default: 3,
  }),
  ledgerArchiveDir: textField({
    name: 'LEDGER_ARCHIVE_DIR',
    description:
      'Folder of the archive of the ledger: archived records are read from it, and the process with LEDGER_INTEGRATOR=true ' +
      'writes it. Without it they are answered with RECORD_ARCHIVED.',
    default: undefined,
  }),
};

/** What the migration job of a service is told. */
export const migrationFields = {
  migrationDatabaseUrl: customField({
    ...postgres,
    name: 'MIGRATION_DATABASE_URL',
    description: 'PostgreSQL under a role that may change tables.',
    parse: parsePostgresUrl,
  }),
  databaseUrl: customField<string | undefined>({
    ...postgres,
    name: 'DATABASE_URL',
    description: 'What the service itself will use; its role is given the rights it needs, and no others.',
    fallback: { value: undefined, shown: 'none' },
    parse: parsePostgresUrl,
  }),
};

/** What a service says about the ledger it writes to. */
export const ledgerFields = {
  ledgerDriver: choiceField({
    name: 'LEDGER_DRIVER',
    description: 'Which ledger is written to.',
    choices: ['embedded', 'fabric'],
    default: 'embedded',
  }),
  fabricConfig: textField({
    name: 'FABRIC_CONFIG',
    description: 'The connection file of the Fabric network; needed where LEDGER_DRIVER is fabric.',
    default: undefined,
  }),
  ledgerOrigin: customField({
    name: 'LEDGER_ORIGIN',
    description: 'Name of the ledger in checkpoints; the origin of a channel is this, a slash and the channel.',
    form: 'a host name, with a path or without',
    parse: (text) => {
      // What a C2SP key name forbids (spaces and pluses), and what would be mistaken for the separator.
      if (!/^[\x21-\x2a\x2c-\x7e]{1,200}$/.test(text) || text.endsWith('/')) throw new Error('must be a name');
      return text;
    },
  }),
  ledgerIntegrator: booleanField({
    name: 'LEDGER_INTEGRATOR',
    description: 'Whether this process builds the tree and signs checkpoints.',
    default: false,
  }),
  ledgerSigningKey: customField<string | undefined>({
    name: 'LEDGER_SIGNING_KEY',
    description: 'The key that signs checkpoints; only the integrator has it. Of several, each signs.',
    form: '`PRIVATE+KEY+name+hash+key` (C2SP signed notes), separated by commas',
    isSecret: true,
    fallback: { value: undefined, shown: 'none' },
    parse: (text) => {
      if (!text.startsWith('PRIVATE+KEY+')) throw new Error('must begin with PRIVATE+KEY+');
      return text;
    },
  }),
  ledgerVerifierKeys: customField<readonly string[]>({
    name: 'LEDGER_VERIFIER_KEYS',
    description:
      'Keys that check checkpoints, retired ones too, besides that of LEDGER_SIGNING_KEY: a checkpoint that none of them ' +
      'signed is neither served nor used in a proof. Without any, checkpoints are handed on as the database holds them. ' +
      'The ledger peer lists them in `/.well-known/jwks.json`, so it needs them where it does not sign.',
    form: '`name+hash+key` (C2SP signed notes), separated by commas',
    fallback: { value: [], shown: 'none' },
    parse: (text) => text.split(',').map((key) => key.trim()),
  }),
  checkpointDir: textField({
    name: 'CHECKPOINT_DIR',
    description: 'Folder outside the database where every checkpoint is kept too.',
    default: undefined,
  }),
  ...witnessFields,
};
