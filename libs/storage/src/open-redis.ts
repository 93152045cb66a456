import { Cluster, Redis, type RedisOptions } from 'ioredis';
import {
  isOnlyClosed,
  lastingProblem,
  redisProblem,
  redisRefusal,
  saysLittle,
  sentinelRefusal,
} from './redis-problem.ts';
import { redisSettings, type RedisSettings } from './redis-settings.ts';
import { reportingConnector, sentinelConnector } from './redis-connectors.ts';

/** `away` once the connection is known to be lost or silent; commands then fail at once. */
export type RedisState = 'ready' | 'away';

/** A Redis client of which no call hangs and that emits no unhandled error. */
export interface RedisHandle {
  /** Every command rejects within the command timeout; while the state is `away`, at once. */
  readonly client: Redis | Cluster;
  readonly state: RedisState;
  /** Why it is away, or what it refuses to its user, as one sentence; undefined if nothing is known to be wrong. */
  readonly problem: string | undefined;
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
   * `rediss` instead of `redis` uses TLS, to sentinels too. Then `?caFile=` names the only authorities to trust (PEM),
   * and `?certFile=` with `&keyFile=` a client certificate. They are read once.
   */
  readonly url: string;
  /** Shown in CLIENT LIST. */
  readonly name: string;
  readonly connectTimeoutMs: number;
  readonly commandTimeoutMs: number;
  /**
   * Called on each change, with the problem if it is known; while the server is away, also with the first problem after
   * the start, and with each that lasts until an operator acts, once.
   */
  readonly onStateChange?: (state: RedisState, problem?: string) => void;
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
 *
 * @throws Error if a file that the URL names cannot be read.
 */
export function openRedis(options: RedisHandleOptions): RedisHandle {
  const status = new Status(options.onStateChange);
  const settings = redisSettings(options.url);
  const client = connect(settings, options, status);
  client.on('ready', () => {
    status.ready();
    // Without INFO, ioredis takes any server that the sentinels name, also one that is no primary any more.
    if (settings.kind === 'sentinel')
      (client as Redis).info('replication').catch((error: unknown) => status.failed(error));
  });
  client.on('error', (error: Error) => status.failed(error));
  client.on('node error', (error: Error) => status.failed(error));
  client.on('close', () => status.away());
  client.on('end', () => {
    status.away();
    // ioredis gives up where sentinels announce another primary while it is connecting.
    if (!status.isClosing) setTimeout(() => void client.connect().catch(() => undefined), MAX_RETRY_MS).unref();
  });

  return {
    client,
    get state() {
      return status.state;
    },
    get problem() {
      return status.problem;
    },
    close: async () => {
      status.close();
      await client.quit().catch(() => undefined);
      client.disconnect();
    },
  };
}

/** The state of a connection, and what is wrong with it. */
class Status {
  #state: RedisState = 'away';
  #problem: string | undefined;
  readonly #onChange: RedisHandleOptions['onStateChange'];
  #readySinceMs = 0;
  #isClosing = false;
  #isReported = false;
  /** Lasting problems that were reported since the server was ready. */
  readonly #told = new Set<string>();
  /** Why the connection will be lost, if it is. */
  #cause: string | undefined;
  /** The last error of a connection that ioredis opened for itself. */
  #hidden: Error | undefined;

  constructor(onChange: RedisHandleOptions['onStateChange']) {
    this.#onChange = onChange;
  }

  get state(): RedisState {
    return this.#state;
  }

  get problem(): string | undefined {
    return this.#problem;
  }

  get isClosing(): boolean {
    return this.#isClosing;
  }

  /** Whether a server that is a read-only replica may be left: sentinels or DNS may know the primary. */
  get mayLeave(): boolean {
    return performance.now() - this.#readySinceMs > READ_ONLY_RECONNECT_MS;
  }

  ready(): void {
    this.#readySinceMs = performance.now();
    this.#problem = undefined;
    this.#cause = undefined;
    this.#hidden = undefined;
    this.#told.clear();
    if (this.#state === 'away') this.#report('ready');
  }

  away(): void {
    if (this.#state === 'away') return;
    this.#problem = this.#cause ?? 'Redis is away: the connection was closed';
    this.#report('away');
  }

  /** Before the error that says only that the connection is closed. */
  connectionFailed(error: Error): void {
    this.#hidden = error;
  }

  failed(told: unknown): void {
    const error = isOnlyClosed(told) ? (this.#hidden ?? told) : told;
    const isRefused = redisRefusal(error) !== undefined;
    this.#cause = redisProblem(error);
    // Of a cluster, one node may be away while others answer.
    if (this.#state === 'ready' && !isRefused) return;
    const lasting = lastingProblem(error);
    // A server that refuses a client also cuts its connection.
    if (this.#problem === undefined || !saysLittle(error)) this.#problem = this.#cause;
    if (lasting === undefined ? !this.#isReported : !this.#told.has(lasting)) this.#report(this.#state);
    if (lasting !== undefined) this.#told.add(lasting);
  }

  /** A sentinel serves no announcements; the primary may still be ready. */
  sentinelRefused(error: unknown): void {
    const refusal = sentinelRefusal(error);
    if (refusal === undefined) return;
    this.#problem ??= refusal;
    if (!this.#told.has(refusal)) this.#report(this.#state);
    this.#told.add(refusal);
  }

  /** The caller asked for the end: no change is reported any more. */
  close(): void {
    this.#isClosing = true;
  }

  #report(state: RedisState): void {
    this.#state = state;
    this.#isReported = true;
    if (this.#isClosing) return;
    if (this.#problem === undefined) this.#onChange?.(state);
    else this.#onChange?.(state, this.#problem);
  }
}

const retryStrategy = (attempt: number): number => Math.min(FIRST_RETRY_MS * 2 ** (attempt - 1), MAX_RETRY_MS);

/** Maximum redirections of a command whose slot is moving to another node. */
const MAX_REDIRECTIONS = 3;
const SLOTS_REFRESH_MS = 5_000;

type Settings = Omit<RedisOptions, 'replyMapping'>;

function connect(
  settings: RedisSettings,
  { name, connectTimeoutMs, commandTimeoutMs }: RedisHandleOptions,
  status: Status,
): Redis | Cluster {
  const { kind, servers, access, tls } = settings;
  const common: Settings = {
    ...access,
    ...(tls === undefined ? {} : { tls }),
    connectionName: name,
    // Its commands would need a right that is of no use to a service.
    disableClientInfo: true,
    connectTimeout: connectTimeoutMs,
    commandTimeout: commandTimeoutMs,
    // A socket with an outstanding reply for this long is destroyed, so that a frozen server becomes `away`.
    socketTimeout: SILENCES * commandTimeoutMs,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    // A server that still loads its data refuses commands, as one that is out of memory does. Asking it before needs INFO.
    enableReadyCheck: kind === 'sentinel',
    maxLoadingRetryTime: MAX_RETRY_MS,
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY') && status.mayLeave,
  };
  if (kind === 'cluster') {
    return new Cluster([...servers], {
      redisOptions: { ...common, Connector: reportingConnector((error) => status.connectionFailed(error)) },
      enableOfflineQueue: false,
      enableReadyCheck: false,
      clusterRetryStrategy: retryStrategy,
      maxRedirections: MAX_REDIRECTIONS,
      retryDelayOnFailover: FIRST_RETRY_MS,
      retryDelayOnClusterDown: FIRST_RETRY_MS,
      retryDelayOnTryAgain: FIRST_RETRY_MS,
      slotsRefreshTimeout: connectTimeoutMs,
      slotsRefreshInterval: SLOTS_REFRESH_MS,
      // A certificate is for the name of a node; ioredis would connect to its address.
      ...(tls === undefined ? {} : { dnsLookup: (host, done) => done(null, host) }),
    });
  }
  const single = { ...common, db: settings.database, enableOfflineQueue: false, retryStrategy };
  if (kind === 'single') {
    // Its errors are those of the client, too.
    return new Redis({ ...single, ...servers[0]!, Connector: reportingConnector(() => undefined) });
  }
  const { username, password } = settings.sentinelAccess;
  return new Redis({
    ...single,
    Connector: sentinelConnector({
      onError: (error) => status.connectionFailed(error),
      onRefusal: (error) => status.sentinelRefused(error),
    }),
    sentinels: [...servers],
    name: settings.name,
    sentinelRetryStrategy: retryStrategy,
    sentinelCommandTimeout: connectTimeoutMs,
    ...(username === undefined ? {} : { sentinelUsername: username }),
    ...(password === undefined ? {} : { sentinelPassword: password }),
    ...(tls === undefined ? {} : { enableTLSForSentinelMode: true, sentinelTLS: tls }),
    // Sentinels announce a new primary at once, even if the old one still answers.
    failoverDetector: true,
  });
}
