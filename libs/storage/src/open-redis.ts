import { Cluster, Redis, type RedisOptions } from 'ioredis';

/** `away` as soon as the connection is known to be lost or silent; commands then fail at once. */
export type RedisState = 'ready' | 'away';

/** A Redis client of which no call hangs, and that never throws by itself. */
export interface RedisHandle {
  /** Every command on it rejects within the command timeout; while the state is `away`, at once. */
  readonly client: Redis | Cluster;
  readonly state: RedisState;
  /** Waits for running commands, then closes. Bounded by the command timeout. Never throws. */
  close(): Promise<void>;
}

export interface RedisHandleOptions {
  /**
   * - `redis://user:password@host:6379/0`: one server
   * - `redis+sentinel://user:password@s1:26379,s2:26379/name/0`: the primary that the sentinels name; `?sentinelUsername=` and
   *   `?sentinelPassword=` are for the sentinels themselves
   * - `redis-cluster://user:password@h1:6379,h2:6379`: a cluster, found through any of these
   *
   * `rediss` instead of `redis` speaks TLS, to sentinels too.
   */
  readonly url: string;
  /** Shown in CLIENT LIST. */
  readonly name: string;
  readonly connectTimeoutMs: number;
  readonly commandTimeoutMs: number;
  /** Told each change; with `away` comes the error that was met, where there was one. */
  readonly onStateChange?: (state: RedisState, cause?: Error) => void;
}

const FIRST_RETRY_MS = 20;
const LAST_RETRY_MS = 500;
/** Command timeouts without a byte from the server until the connection is given up. */
const SILENCES = 2;
/** A replica that stays read-only is not asked again and again whether it became the primary. */
const READ_ONLY_PATIENCE_MS = 5_000;

/**
 * Connects in the background and for as long as the process lives. Nothing is queued for a server that is away, and
 * no command is sent twice: whether a lost one took effect is for the caller to bear.
 */
export function openRedis(options: RedisHandleOptions): RedisHandle {
  let state: RedisState = 'away';
  let readySince = 0;
  let lastError: Error | undefined;
  let closing = false;

  const common = {
    connectionName: options.name,
    connectTimeout: options.connectTimeoutMs,
    commandTimeout: options.commandTimeoutMs,
    // A socket that owes an answer for this long is destroyed, so that a frozen server is `away` and not just slow.
    socketTimeout: SILENCES * options.commandTimeoutMs,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    maxLoadingRetryTime: LAST_RETRY_MS,
    reconnectOnError: (error: Error) =>
      error.message.startsWith('READONLY') && performance.now() - readySince > READ_ONLY_PATIENCE_MS,
  };
  const client = connect(options, common);

  const change = (to: RedisState): void => {
    if (state === to) return;
    state = to;
    if (closing) return; // Going away on request is no news.
    options.onStateChange?.(to, to === 'away' ? lastError : undefined);
  };
  client.on('ready', () => {
    readySince = performance.now();
    lastError = undefined;
    change('ready');
  });
  client.on('error', (error: Error) => {
    lastError = error;
  });
  client.on('close', () => change('away'));
  client.on('end', () => change('away'));

  return {
    client,
    get state() {
      return state;
    },
    close: async () => {
      closing = true;
      await client.quit().catch(() => undefined);
      client.disconnect();
    },
  };
}

const retryStrategy = (attempt: number): number => Math.min(FIRST_RETRY_MS * 2 ** (attempt - 1), LAST_RETRY_MS);

/** A command that meets a slot on its way to another server is sent there; beyond this many times it fails. */
const MOST_REDIRECTIONS = 3;
const SLOTS_REFRESH_MS = 5_000;

/** Its own default stands. */
type Settings = Omit<RedisOptions, 'replyMapping'>;

function connect({ url, connectTimeoutMs }: RedisHandleOptions, common: Settings): Redis | Cluster {
  const servers = serversOf(url);
  const first = servers[0]!;
  const { protocol, pathname, searchParams } = first;
  const isEncrypted = protocol.startsWith('rediss');
  const access: Settings = {
    ...(first.username === '' ? {} : { username: decodeURIComponent(first.username) }),
    ...(first.password === '' ? {} : { password: decodeURIComponent(first.password) }),
    ...(isEncrypted ? { tls: {} } : {}),
  };
  const nodes = (port: number) =>
    servers.map((server) => ({ host: hostOf(server), port: Number(server.port || port) }));
  if (protocol.includes('-cluster')) {
    return new Cluster(nodes(6379), {
      redisOptions: { ...common, ...access },
      enableOfflineQueue: false,
      clusterRetryStrategy: retryStrategy,
      maxRedirections: MOST_REDIRECTIONS,
      retryDelayOnFailover: FIRST_RETRY_MS,
      retryDelayOnClusterDown: FIRST_RETRY_MS,
      retryDelayOnTryAgain: FIRST_RETRY_MS,
      slotsRefreshTimeout: connectTimeoutMs,
      slotsRefreshInterval: SLOTS_REFRESH_MS,
    });
  }
  const single = { ...common, enableOfflineQueue: false, retryStrategy };
  if (!protocol.includes('+sentinel')) return new Redis(url, single);
  const [, name = '', database = ''] = pathname.split('/');
  const [sentinelUsername, sentinelPassword] = ['sentinelUsername', 'sentinelPassword'].map((key) =>
    searchParams.get(key),
  );
  return new Redis({
    ...single,
    ...access,
    sentinels: nodes(26379),
    name: decodeURIComponent(name),
    db: Number(database),
    sentinelRetryStrategy: retryStrategy,
    sentinelCommandTimeout: connectTimeoutMs,
    ...(sentinelUsername == null ? {} : { sentinelUsername }),
    ...(sentinelPassword == null ? {} : { sentinelPassword }),
    enableTLSForSentinelMode: isEncrypted,
    ...(isEncrypted ? { sentinelTLS: {} } : {}),
    // Sentinels say at once when another primary was named, also where the one of before still answers.
    failoverDetector: true,
  });
}

/** A URL for each server; they stand before the path, separated by commas. */
function serversOf(text: string): URL[] {
  const [head = '', scheme = '', user = '', hosts = ''] = /^([a-z+-]+:\/\/)((?:[^/?#]*@)?)([^/?#]*)/i.exec(text) ?? [];
  return hosts.split(',').map((host) => new URL(`${scheme}${user}${host}${text.slice(head.length)}`));
}

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1');
