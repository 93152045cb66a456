import { readFileSync } from 'node:fs';

/** A parsed `REDIS_URL`. */
export interface RedisSettings {
  readonly kind: 'single' | 'sentinel' | 'cluster';
  /** Servers, or sentinels. */
  readonly servers: readonly { readonly host: string; readonly port: number }[];
  readonly access: Access;
  /** For the sentinels themselves. */
  readonly sentinelAccess: Access;
  /** Of the primary, as sentinels know it. */
  readonly name: string;
  readonly database: number;
  /** Undefined: not encrypted. */
  readonly tls: RedisTls | undefined;
}

interface Access {
  readonly username?: string;
  readonly password?: string;
}

interface RedisTls {
  /** PEM. Absent: the authorities that Node trusts, with NODE_EXTRA_CA_CERTS. */
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

const SERVER_PORT = 6379;
const SENTINEL_PORT = 26_379;

/**
 * Reads a URL, and the files that it names.
 *
 * @throws Error if a file cannot be read.
 */
export function redisSettings(url: string): RedisSettings {
  const servers = serversOf(url);
  const { protocol, pathname, searchParams, username, password } = servers[0]!;
  const kind = protocol.includes('-cluster') ? 'cluster' : protocol.includes('+sentinel') ? 'sentinel' : 'single';
  const [, first = '', second = ''] = pathname.split('/');
  const port = kind === 'sentinel' ? SENTINEL_PORT : SERVER_PORT;
  return {
    kind,
    servers: servers.map((server) => ({ host: hostOf(server), port: Number(server.port || port) })),
    access: given({ username: decodeURIComponent(username), password: decodeURIComponent(password) }),
    sentinelAccess: given({
      username: searchParams.get('sentinelUsername') ?? '',
      password: searchParams.get('sentinelPassword') ?? '',
    }),
    name: kind === 'sentinel' ? decodeURIComponent(first) : '',
    database: Number(kind === 'sentinel' ? second : first),
    tls: protocol.startsWith('rediss') ? tlsOf(searchParams) : undefined,
  };
}

function tlsOf(parameters: URLSearchParams): RedisTls {
  const read = (name: string): Buffer | undefined => {
    const file = parameters.get(name);
    return file === null ? undefined : readFileSync(file);
  };
  const [ca, cert, key] = [read('caFile'), read('certFile'), read('keyFile')];
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
}

const given = ({ username, password }: { username: string; password: string }): Access => ({
  ...(username === '' ? {} : { username }),
  ...(password === '' ? {} : { password }),
});

/** One URL per server of a comma-separated host list. */
function serversOf(text: string): URL[] {
  const [head = '', scheme = '', user = '', hosts = ''] = /^([a-z+-]+:\/\/)((?:[^/?#]*@)?)([^/?#]*)/i.exec(text) ?? [];
  return hosts.split(',').map((host) => new URL(`${scheme}${user}${host}${text.slice(head.length)}`));
}

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1');
