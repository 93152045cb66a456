import { readFileSync } from 'node:fs';
import { ServerSecrets } from '@sealgate/auth';
import { customField, integerField, textField } from './load-config.ts';

const POSTGRES_FORM =
  'a URL that begins with `postgres://` or `postgresql://`; several servers as `host:port,host:port`; ' +
  'or `file:///path` of a file with it, re-read for new connections';

/** Splits a multi-host URL: libpq and Redis list hosts before the path, separated by commas. */
export function serverUrls(text: string): URL[] {
  const [head = '', scheme = '', user = '', hosts = ''] =
    /^([a-z][a-z+-]*:\/\/)((?:[^/?#]*@)?)([^/?#]*)/i.exec(text) ?? [];
  const rest = text.slice(head.length);
  return hosts.split(',').map((host) => {
    const url = `${scheme}${user}${host}${rest}`;
    const isHost = host !== '' || hosts === '';
    if (!isHost || !URL.canParse(url)) throw new Error('must name each server as `host:port`, separated by commas');
    return new URL(url);
  });
}

/** The trimmed contents of the file of a `file:` URL; any other text unchanged. @throws Error */
export function textOrFile(text: string): string {
  if (!/^file:/i.test(text)) return text;
  if (!/^file:\/\/\/[^?#]/i.test(text)) throw new Error('must name a file as file:///path');
  try {
    return readFileSync(new URL(text), 'utf8').trim();
  } catch {
    // The cause would quote the variable.
    throw new Error('must name a file that can be read');
  }
}

/** A list, given directly or in a file, which must not be empty. @throws Error */
export function listText(text: string): string {
  const list = textOrFile(text);
  if (list === '') throw new Error('must name a file that is not empty');
  return list;
}

/**
 * Checks the URL of one or several servers, none of which may be a standby, or of a file with it; returned unchanged.
 * @throws Error stating the expected format
 */
function parsePostgresUrl(text: string): string {
  checkServers(textOrFile(text));
  return text;
}

function checkServers(text: string): void {
  if (!/^postgres(ql)?:\/\//i.test(text)) throw new Error(`must be ${POSTGRES_FORM}`);
  const servers = serverUrls(text);
  for (const { searchParams } of servers) {
    if (searchParams.get('host')?.includes(',') === true)
      throw new Error('must name several servers before the database, as `host:port,host:port`');
    const attributes = searchParams.get('target_session_attrs');
    // A standby returns stale data and accepts no writes.
    if (attributes !== null && attributes !== 'read-write' && attributes !== 'primary')
      throw new Error('target_session_attrs must be read-write or primary: a service writes');
  }
}

/** Accepted forms and the maximum number of servers. */
const REDIS_FORMS: readonly [protocol: RegExp, path: RegExp, mostServers: number][] = [
  [/^rediss?:$/, /^(\/\d*)?$/, 1],
  [/^rediss?\+sentinel:$/, /^\/[^/]+(\/\d+)?$/, Infinity],
  // A cluster has only database 0.
  [/^rediss?-cluster:$/, /^(\/0?)?$/, Infinity],
];
const REDIS_FORM =
  '`redis://host:port/db`, `redis+sentinel://host:port,host:port/name/db` or `redis-cluster://host:port,host:port`; with TLS `rediss`, and `?caFile=`, `?certFile=` and `&keyFile=`';

const SENTINEL_PARAMETERS = ['sentinelUsername', 'sentinelPassword'];
const TLS_PARAMETERS = ['caFile', 'certFile', 'keyFile'];

/** Checks the URL of a server, of sentinels or of a cluster. @throws Error stating the expected format */
function parseRedisUrl(text: string): string {
  const servers = serverUrls(text);
  const [{ protocol, pathname, searchParams, username, password } = new URL('none:')] = servers;
  const fits = REDIS_FORMS.some(
    ([ofProtocol, ofPath, most]) => ofProtocol.test(protocol) && ofPath.test(pathname) && servers.length <= most,
  );
  if (!fits) throw new Error(`must be ${REDIS_FORM}`);
  if (!isPercentEncoded(username) || !isPercentEncoded(password))
    throw new Error('must have user and password percent-encoded');
  checkRedisParameters(protocol, searchParams);
  return text;
}

function isPercentEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** A misspelt one would be ignored, and the password in it with it. @throws Error */
function checkRedisParameters(protocol: string, parameters: URLSearchParams): void {
  const known = [
    ...(protocol.includes('+sentinel') ? SENTINEL_PARAMETERS : []),
    ...(protocol.startsWith('rediss') ? TLS_PARAMETERS : []),
  ];
  const names = [...parameters.keys()];
  if (names.some((name, index) => !known.includes(name) || names.indexOf(name) !== index))
    throw new Error(
      'may have only the parameters sentinelUsername and sentinelPassword (with sentinels), and caFile, certFile and ' +
        'keyFile (with rediss), each once',
    );
  if (parameters.has('certFile') !== parameters.has('keyFile'))
    throw new Error('needs certFile and keyFile, or neither');
  for (const name of TLS_PARAMETERS) {
    const file = parameters.get(name);
    if (file !== null) checkPem(name, file);
  }
}

function checkPem(name: string, file: string): void {
  let text = '';
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    // The cause would quote the variable.
  }
  if (!text.includes('-----BEGIN ')) throw new Error(`must name a PEM file that can be read as ${name}`);
}

/** Maximum number of processes that share rate limits. */
const MAX_PROCESSES = 1000;

const postgres = { form: POSTGRES_FORM, isSecret: true } as const;
const poolSize = { min: 1, max: 500 } as const;
/** One for each of the three pools. */
const LEAST_POOL_SIZE = 3;

/** Settings of the data stores of a service. */
export const storeFields = {
  databaseUrl: customField({
    ...postgres,
    name: 'DATABASE_URL',
    description: 'PostgreSQL with the runtime role, which changes no tables. Of several servers the primary is used.',
    parse: parsePostgresUrl,
  }),
  databasePreparedStatements: customField<boolean | undefined>({
    name: 'DATABASE_PREPARED_STATEMENTS',
    description:
      'Whether to use prepared statements. `auto`: unless a pooler is detected; `true` for a pooler that supports them.',
    form: '`auto`, `true` or `false`',
    fallback: { value: undefined, shown: '`auto`' },
    parse: (text) => {
      if (!['auto', 'true', 'false'].includes(text)) throw new Error('must be auto, true or false');
      return text === 'auto' ? undefined : text === 'true';
    },
  }),
  databasePoolSize: integerField({
    ...poolSize,
    min: LEAST_POOL_SIZE,
    name: 'DATABASE_POOL_SIZE',
    description:
      'Maximum connections of this process to DATABASE_URL; multiply by the number of replicas. A quarter is for lists ' +
      'and other reads that look, a sixth for background work, the rest for what decides.',
    default: 12,
  }),
  stateDir: textField({
    name: 'STATE_DIR',
    description:
      'Folder in which a process remembers the newest timeline of its database, so that it does not write to a former ' +
      'primary after a restart; needed if several servers are listed and Redis may lose its data. Processes may share it.',
    default: undefined,
  }),
  redisUrl: customField<string | undefined>({
    name: 'REDIS_URL',
    description: 'Redis, for caching and shared rate limits; the service works correctly without it.',
    form: REDIS_FORM,
    isSecret: true,
    fallback: { value: undefined, shown: 'none' },
    parse: parseRedisUrl,
  }),
  replicas: integerField({
    name: 'REPLICAS',
    description: 'Number of replicas that share the limits while Redis is unavailable.',
    min: 1,
    max: MAX_PROCESSES,
    default: 1,
  }),
  serverSecrets: customField({
    name: 'SERVER_SECRETS',
    description: 'Secrets for fingerprints, derived ids and cursors: the first one signs, all verify.',
    form: '`id:value` pairs separated by commas, each value at least 32 characters',
    isSecret: true,
    parse: (text) => ServerSecrets.parse(text),
  }),
};

/** Settings of a service whose admin listener serves the whole ledger. */
export const operatorFields = {
  adminDatabaseUrl: customField<string | undefined>({
    ...postgres,
    name: 'ADMIN_DATABASE_URL',
    description:
      "PostgreSQL with the operator's role, for the ledger on the admin listener. Without it the listener reaches only " +
      'channels of the role of DATABASE_URL, and that role may audit and erase.',
    fallback: { value: undefined, shown: 'none' },
    parse: parsePostgresUrl,
  }),
  adminDatabasePoolSize: integerField({
    ...poolSize,
    name: 'ADMIN_DATABASE_POOL_SIZE',
    description: 'Maximum connections of this process to ADMIN_DATABASE_URL.',
    default: 3,
  }),
  ledgerArchiveDir: textField({
    name: 'LEDGER_ARCHIVE_DIR',
    description:
      'Folder of the ledger archive: archived records are read from it, and the process with LEDGER_INTEGRATOR=true ' +
      'writes to it. Without it they answer RECORD_ARCHIVED.',
    default: undefined,
  }),
};

/** Settings of the migration job of a service. */
export const migrationFields = {
  migrationDatabaseUrl: customField({
    ...postgres,
    name: 'MIGRATION_DATABASE_URL',
    description: 'PostgreSQL with a role that may change tables.',
    parse: parsePostgresUrl,
  }),
  databaseUrl: customField<string | undefined>({
    ...postgres,
    name: 'DATABASE_URL',
    description: 'Database URL of the service itself; the job grants its role the privileges it needs, and no others.',
    fallback: { value: undefined, shown: 'none' },
    parse: parsePostgresUrl,
  }),
};
