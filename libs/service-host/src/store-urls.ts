import { readFileSync } from 'node:fs';

export const POSTGRES_FORM =
  'a URL that begins with `postgres://` or `postgresql://`; several servers as `host:port,host:port`; ' +
  'or `file:///path` of a file that holds it, read again for new connections';

/** The URL of each server that a URL names: libpq and Redis list them before the path, separated by commas. */
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

/** What stands in the file of a `file:` URL, without blanks around it; every other text is itself. @throws Error */
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

/** A list that may stand in a file: there it has an entry. @throws Error */
export function listText(text: string): string {
  const list = textOrFile(text);
  if (list === '') throw new Error('must name a file that is not empty');
  return list;
}

/**
 * The URL of one server or several, none of which may be a standby, or of a file that holds it: given back as it came.
 * @throws Error saying what it must be
 */
export function parsePostgresUrl(text: string): string {
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
    // What a standby answers is of the past, and nothing can be written there.
    if (attributes !== null && attributes !== 'read-write' && attributes !== 'primary')
      throw new Error('target_session_attrs must be read-write or primary: a service writes');
  }
}

/** Each with its form and how many servers it may name. */
const REDIS_FORMS: readonly [protocol: RegExp, path: RegExp, mostServers: number][] = [
  [/^rediss?:$/, /^(\/\d*)?$/, 1],
  [/^rediss?\+sentinel:$/, /^\/[^/]+(\/\d+)?$/, Infinity],
  // A cluster has one database.
  [/^rediss?-cluster:$/, /^(\/0?)?$/, Infinity],
];
export const REDIS_FORM =
  '`redis://host:port/db`, `redis+sentinel://host:port,host:port/name/db` or `redis-cluster://host:port,host:port`; with TLS `rediss`';

/** The URL of a server, of sentinels or of a cluster. @throws Error saying what it must be */
export function parseRedisUrl(text: string): string {
  const servers = serverUrls(text);
  const [{ protocol, pathname } = { protocol: '', pathname: '' }] = servers;
  const fits = REDIS_FORMS.some(
    ([ofProtocol, ofPath, most]) => ofProtocol.test(protocol) && ofPath.test(pathname) && servers.length <= most,
  );
  if (!fits) throw new Error(`must be ${REDIS_FORM}`);
  return text;
}
