import { Redis } from 'ioredis';

/** `away` as soon as the connection is known to be lost or silent; commands then fail at once. */
export type RedisState = 'ready' | 'away';

/** A Redis client of which no call hangs, and that never throws by itself. */
export interface RedisHandle {
  /** Every command on it rejects within the command timeout; while the state is `away`, at once. */
  readonly client: Redis;
  readonly state: RedisState;
  /** Waits for running commands, then closes. Bounded by the command timeout. Never throws. */
  close(): Promise<void>;
}

export interface RedisHandleOptions {
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

  const client = new Redis(options.url, {
    connectionName: options.name,
    connectTimeout: options.connectTimeoutMs,
    commandTimeout: options.commandTimeoutMs,
    // A socket that owes an answer for this long is destroyed, so that a frozen server is `away` and not just slow.
    socketTimeout: SILENCES * options.commandTimeoutMs,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    maxLoadingRetryTime: LAST_RETRY_MS,
    retryStrategy: (attempt) => Math.min(FIRST_RETRY_MS * 2 ** (attempt - 1), LAST_RETRY_MS),
    reconnectOnError: (error) =>
      error.message.startsWith('READONLY') && performance.now() - readySince > READ_ONLY_PATIENCE_MS,
  });

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
