import { connect, type ClientHttp2Session, type ClientHttp2Stream, type SecureClientSessionOptions } from 'node:http2';
import { isIP } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import { status } from '@grpc/grpc-js';
import { CallFailure } from './call-failure.ts';
import { UnaryCall } from './unary-call.ts';

export interface GrpcConnectionOptions {
  /** `host:port`. */
  readonly endpoint: string;
  /** PEM. Absent: plaintext. */
  readonly tlsCa?: Buffer | undefined;
  /** The name in the peer's certificate, where it is not that of the endpoint. */
  readonly serverName?: string | undefined;
  /** Of one answer. */
  readonly answerMaxBytes: number;
}

const CONNECT_WITHIN_MS = 5000;
/** After a connection could not be made, calls fail at once for so long. */
const REST_MS = 100;
/** Fabric peers hang up on clients that ping more often than once a minute. */
const PING_EVERY_MS = 120_000;
const PONG_WITHIN_MS = 20_000;
/** What a peer may send before it hears from us: answers of many calls at once, each a whole transaction. */
const STREAM_WINDOW_BYTES = 1024 * 1024;
const CONNECTION_WINDOW_BYTES = 16 * 1024 * 1024;

/**
 * Unary gRPC calls over one HTTP/2 connection (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md), which is
 * made when it is first needed and again when it has broken. Nothing is ever sent twice: whether to, the caller decides.
 *
 * Beside grpc-js, which carries the streams, because its unary call costs about three times as much: objects for
 * interceptors, load balancing, retries and call credentials, none of which a call to a gateway peer has.
 */
export class GrpcConnection {
  readonly #options: GrpcConnectionOptions;
  /** Names and values in turn, those of HTTP/2 itself first: of all forms this one costs Node the least. */
  readonly #headers: readonly string[];
  #session: ClientHttp2Session | undefined;
  #restUntilMs = 0;
  #brokeOff = '';
  #closed = false;

  constructor(options: GrpcConnectionOptions) {
    this.#options = options;
    this.#headers = [
      ...[':method', 'POST'],
      ...[':scheme', options.tlsCa === undefined ? 'http' : 'https'],
      ...[':authority', options.serverName ?? options.endpoint],
      ...['content-type', 'application/grpc'],
      ...['te', 'trailers'],
      ...['user-agent', 'sealgate'],
    ];
  }

  /**
   * Sends a message, and resolves with the answer's.
   *
   * @param method `/package.Service/Method`.
   * @throws CallFailure: DEADLINE_EXCEEDED after `withinMs`, at the latest.
   */
  call(method: string, message: Uint8Array, withinMs: number): Promise<Buffer> {
    const timeoutMs = Math.max(1, Math.ceil(withinMs));
    try {
      const [session, stream] = this.#open([':path', method, ...this.#headers, 'grpc-timeout', `${timeoutMs}m`]);
      const { answerMaxBytes } = this.#options;
      return new UnaryCall(session, stream, { timeoutMs, answerMaxBytes }).run(message);
    } catch (error) {
      return Promise.reject(error instanceof CallFailure ? error : unavailable(error));
    }
  }

  /** Calls under way fail. */
  close(): void {
    this.#closed = true;
    this.#session?.destroy();
  }

  #open(headers: readonly string[]): [ClientHttp2Session, ClientHttp2Stream] {
    const session = this.#connected();
    try {
      return [session, session.request(headers)];
    } catch {
      // It is about to end, or has used up its stream ids (RFC 9113 section 5.1.1): nothing was sent.
      this.#session = undefined;
      session.close();
    }
    const next = this.#connected();
    return [next, next.request(headers)];
  }

  #connected(): ClientHttp2Session {
    const session = this.#session;
    if (session !== undefined && !session.closed && !session.destroyed) return session;
    if (this.#closed) throw new CallFailure(status.UNAVAILABLE, 'The connection was closed.');
    if (performance.now() < this.#restUntilMs) throw new CallFailure(status.UNAVAILABLE, this.#brokeOff);
    return (this.#session = this.#connect());
  }

  #connect(): ClientHttp2Session {
    const { endpoint, tlsCa } = this.#options;
    const session = connect(`${tlsCa === undefined ? 'http' : 'https'}://${endpoint}`, {
      ...tlsOptions(this.#options),
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
      // What is under way at once is bounded by the window of calls, and not by a share of messages that fit.
      maxSessionMemory: Number.MAX_SAFE_INTEGER,
    });
    const late = setTimeout(() => session.destroy(new Error('No connection was made in time.')), CONNECT_WITHIN_MS);
    const keepAlive = setInterval(() => ping(session), PING_EVERY_MS).unref();
    let isUp = false;
    session.once('connect', () => {
      isUp = true;
      clearTimeout(late);
      session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
    });
    session.on('error', (error) => {
      this.#brokeOff = `The connection to ${endpoint} broke off: ${error.message}`;
    });
    // The peer is about to stop: calls under way end there, new ones go over a new connection.
    session.on('goaway', () => {
      if (this.#session === session) this.#session = undefined;
    });
    session.once('close', () => {
      clearTimeout(late);
      clearInterval(keepAlive);
      if (this.#session === session) this.#session = undefined;
      if (!isUp) this.#restUntilMs = performance.now() + REST_MS;
    });
    return session;
  }
}

function tlsOptions({ tlsCa, serverName }: GrpcConnectionOptions): SecureClientSessionOptions {
  if (tlsCa === undefined) return {};
  if (serverName === undefined) return { ca: tlsCa };
  return {
    ca: tlsCa,
    // A name to be sent is never an address (RFC 6066 section 3).
    ...(isIP(serverName) === 0 ? { servername: serverName } : {}),
    checkServerIdentity: (_host, certificate) => checkServerIdentity(serverName, certificate),
  };
}

/** A peer that is gone without a word is found out by its silence. */
function ping(session: ClientHttp2Session): void {
  const silent = setTimeout(() => session.destroy(new Error('The peer is silent.')), PONG_WITHIN_MS).unref();
  const isSent = !session.destroyed && session.ping(() => clearTimeout(silent));
  if (!isSent) clearTimeout(silent);
}

function unavailable(error: unknown): CallFailure {
  return new CallFailure(status.UNAVAILABLE, error instanceof Error ? error.message : String(error));
}
