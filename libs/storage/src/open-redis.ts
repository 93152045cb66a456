import { Cluster, Redis, type RedisOptions } from 'ioredis';

/** `away` once the connection is known to be lost or silent; commands then fail at once. */
export type RedisState = 'ready' | 'away';

/** A Redis client of which no call hangs and that emits no unhandled error. */
export interface RedisHandle {
  /** Every command rejects within the command timeout; while the state is `away`, at once. */
  readonly client: Redis | Cluster;
  readonly state: RedisState;
  /** Waits for running commands, then closes. Bounded by the command timeout. Never throws. */
  close(): Promise<void>;
}

interface RedisHandleOptions {
  /**
   * - `redis://user:password@host:6379/0`: one server
   * - `redis+sentinel://user:password@s1:26379,s2:26379/name/0`: the primary according to the sentinels;
   *   `?sentinelUsername=` and `?sentinelPassword=` are for the sentinels themselves
   * - `redis-cluster://user:password@h1:6379,h2:6379`: a cluster, discovered through any of these nodes
   *
   * `rediss` instead of `redis` uses TLS, to sentinels too.
   */
  readonly url: string;
  /** Shown in CLIENT LIST. */
  readonly name: string;
  readonly connectTimeoutMs: number;
  readonly commandTimeoutMs: number;
  /** Called on each change; with `away` comes the last error, if any. */
  readonly onStateChange?: (state: RedisState, cause?: Error) => void;
}

const FIRST_RETRY_MS = 20;
const MAX_RETRY_MS = 500;
/** The connection is closed after this many command timeouts without a byte from the server. */
const SILENCES = 2;
/** Minimum time between reconnects caused by a server that stays a read-only replica. */
const READ_ONLY_RECONNECT_MS = 5_000;

/**
 * Connects in the background and reconnects for as long as the process lives. Nothing is queued while the server is
 * away, and no command is sent twice: a lost one may have taken effect, which the caller must tolerate.
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
    // A socket with an outstanding reply for this long is destroyed, so that a frozen server becomes `away`.
    socketTimeout: SILENCES * options.commandTimeoutMs,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    maxLoadingRetryTime: MAX_RETRY_MS,
    reconnectOnError: (error: Error) =>
      error.message.startsWith('READONLY') && performance.now() - readySince > READ_ONLY_RECONNECT_MS,
  };
  const client = connect(options, common);

  const change = (to: RedisState): void => {
    if (state === to) return;
    state = to;
    if (closing) return; // Not reported: the caller asked for it.
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

const retryStrategy = (attempt: number): number => Math.min(FIRST_RETRY_MS * 2 ** (attempt - 1), MAX_RETRY_MS);

/** Maximum redirections of a command whose slot is moving to another node. */
const MAX_REDIRECTIONS = 3;
const SLOTS_REFRESH_MS = 5_000;

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
      maxRedirections: MAX_REDIRECTIONS,
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
    // Sentinels announce a new primary at once, even if the old one still answers.
    failoverDetector: true,
  });
}

/** One URL per server of a comma-separated host list. */
function serversOf(text: string): URL[] {
  const [head = '', scheme = '', user = '', hosts = ''] = /^([a-z+-]+:\/\/)((?:[^/?#]*@)?)([^/?#]*)/i.exec(text) ?? [];
  return hosts.split(',').map((host) => new URL(`${scheme}${user}${host}${text.slice(head.length)}`));
}

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1');
