import { status } from '@grpc/grpc-js';
import { CallFailure } from './call-failure.ts';
import { openPeerSession, type PeerSession, type PeerSessionOptions } from './peer-session.ts';
import { framed, UnaryCall, type OpenedCall } from './unary-call.ts';

export interface GrpcConnectionOptions extends PeerSessionOptions {
  /** Of one answer. */
  readonly answerMaxBytes: number;
}

/** After a connection could not be made, calls fail at once for so long. */
const REST_MS = 100;
/** A `grpc-timeout` has eight digits at most. */
const LONGEST_TIMEOUT_MS = 99_999_999;

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
  /** The one that takes new calls is `#session`; the others are about to end. */
  readonly #sessions = new Set<PeerSession>();
  #session: PeerSession | undefined;
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
    try {
      if (!(withinMs > 0)) throw new CallFailure(status.DEADLINE_EXCEEDED, 'The time was over before the call.');
      const timeoutMs = Math.min(Math.ceil(withinMs), LONGEST_TIMEOUT_MS);
      const opened = this.#open([':path', method, ...this.#headers, 'grpc-timeout', `${timeoutMs}m`]);
      const { answerMaxBytes } = this.#options;
      return new UnaryCall(opened, { timeoutMs, answerMaxBytes }).run(framed(message));
    } catch (error) {
      return Promise.reject(error instanceof CallFailure ? error : unavailable(error));
    }
  }

  /** Calls under way fail. */
  close(): void {
    this.#closed = true;
    for (const session of this.#sessions) session.end();
  }

  #open(headers: readonly string[]): OpenedCall {
    const opened = openStream(this.#connected(), headers);
    if (opened !== undefined) return opened;
    // It is about to end, or has used up its stream ids (RFC 9113 section 5.1.1): nothing was sent.
    this.#session?.http2.close();
    this.#session = undefined;
    const again = openStream(this.#connected(), headers);
    if (again === undefined) throw new CallFailure(status.UNAVAILABLE, 'A new connection takes no call.');
    return again;
  }

  #connected(): PeerSession {
    const session = this.#session;
    if (session !== undefined && !session.http2.closed && !session.http2.destroyed) return session;
    if (this.#closed) throw new CallFailure(status.UNAVAILABLE, 'The connection was closed.');
    if (performance.now() < this.#restUntilMs) throw new CallFailure(status.UNAVAILABLE, this.#brokeOff);
    return (this.#session = this.#connect());
  }

  #connect(): PeerSession {
    const session = openPeerSession(this.#options, {
      onLeaving: () => {
        if (this.#session === session) this.#session = undefined;
      },
      onClosed: ({ wasUp, reason }) => {
        this.#sessions.delete(session);
        this.#brokeOff = reason;
        if (!wasUp) this.#restUntilMs = performance.now() + REST_MS;
      },
    });
    this.#sessions.add(session);
    return session;
  }
}

/** Undefined where the session takes no more: Node throws, or gives a stream that has ended. */
function openStream({ http2 }: PeerSession, headers: readonly string[]): OpenedCall | undefined {
  try {
    const stream = http2.request(headers);
    if (!stream.destroyed) return { session: http2, stream };
    stream.on('error', () => undefined);
  } catch {
    // The same.
  }
  return undefined;
}

function unavailable(error: unknown): CallFailure {
  return new CallFailure(status.UNAVAILABLE, error instanceof Error ? error.message : String(error));
}
