import {
  Agent as HttpAgent,
  request as httpRequest,
  type ClientRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { pipeline } from 'node:stream';
import { types } from 'node:util';
import { AppError } from '@sealgate/errors';
import { answerHeaders, requestHeaders } from './forwarded-headers.ts';

/** One request to forward. */
interface Passage {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Base URL of the listener, without trailing slash. */
  readonly baseUrl: string;
  /** Path and query, sent unchanged. */
  readonly target: string;
  /** The credential for the surface, and the ids of this request. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

export type PassageOutcome = 'answered' | 'unreachable' | 'unknown' | 'refused' | 'cut';

interface ForwarderOptions {
  readonly bodyMaxBytes: number;
  readonly onOutcome?: (outcome: PassageOutcome) => void;
  /** Timeout until the response head, and of idle streams. */
  readonly responseTimeoutMs?: number;
  readonly connectTimeoutMs?: number;
}

/** Maximum concurrent requests of a surface, including streams; the agent never queues any. */
export const MAX_CONCURRENT = 1_024;

const AGENT_OPTIONS = {
  keepAlive: true,
  maxSockets: MAX_CONCURRENT,
  maxFreeSockets: 64,
  timeout: 60_000,
  scheduling: 'lifo',
} as const;
const WITHOUT_BODY: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE']);
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** The connection was not established in time: nothing was sent. */
class ConnectTimeoutError extends Error {
  override readonly name = 'ConnectTimeoutError';
}

/** The surface sent nothing within the timeout. */
class SilenceError extends Error {
  override readonly name = 'SilenceError';
}

/** The body exceeded the limit and was not sent completely. */
class BodyTooLongError extends Error {
  override readonly name = 'BodyTooLongError';
}

/** Forwards requests to the surfaces over keep-alive connections and streams the responses. */
export class Forwarder {
  readonly #options: Required<Omit<ForwarderOptions, 'onOutcome'>>;
  readonly #onOutcome: (outcome: PassageOutcome) => void;
  readonly #http = new HttpAgent(AGENT_OPTIONS);
  readonly #https = new HttpsAgent(AGENT_OPTIONS);

  constructor({ onOutcome = () => undefined, ...options }: ForwarderOptions) {
    this.#options = { responseTimeoutMs: 60_000, connectTimeoutMs: 3_000, ...options };
    this.#onOutcome = onOutcome;
  }

  /**
   * Resolves once the response head has been written; the body follows, and is cut off if the surface cuts it off. If
   * the client disconnects, the request is aborted.
   * @returns a promise in a member that resolves once nothing of this request is under way any more.
   * @throws AppError before anything was written: PAYLOAD_TOO_LARGE, UNAVAILABLE if the surface did nothing,
   *   OUTCOME_UNKNOWN if a change may have happened.
   */
  async forward(passage: Passage): Promise<{ readonly settled: Promise<void> }> {
    const { bodyMaxBytes } = this.#options;
    const announced = Number(passage.request.headers['content-length'] ?? 0);
    if (announced > bodyMaxBytes) throw this.#refuse(tooLong(bodyMaxBytes));
    // It may have disconnected while its token was fetched: `close` is not emitted again.
    if (passage.response.destroyed) throw this.#refusalOf(new Error('The client disconnected.'), passage);
    let answer: IncomingMessage;
    try {
      answer = await this.#answerOf(passage);
    } catch (error) {
      throw this.#refusalOf(error, passage);
    }
    return { settled: this.#stream(answer, passage) };
  }

  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }

  /**
   * The surface may close an idle connection just as it is reused; a read is then retried once, on a new connection.
   */
  async #answerOf(passage: Passage): Promise<IncomingMessage> {
    try {
      return await this.#send(passage);
    } catch (error) {
      if (!(error instanceof StaleConnectionError)) throw error;
      return this.#send(passage);
    }
  }

  #send(passage: Passage): Promise<IncomingMessage> {
    const { request, response, baseUrl, target, headers } = passage;
    const { method = 'GET' } = request;
    const base = new URL(baseUrl);
    const isSecure = base.protocol === 'https:';
    const outgoing = (isSecure ? httpsRequest : httpRequest)({
      agent: isSecure ? this.#https : this.#http,
      hostname: base.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: base.port,
      path: `${base.pathname === '/' ? '' : base.pathname}${target}`,
      method,
      headers: requestHeaders(request, { host: base.host, hasBody: !WITHOUT_BODY.has(method), added: headers }),
    });
    return new Promise((resolve, reject) => {
      // After the response head this error is not needed: the response stream reports it as well.
      const onGone = () => outgoing.destroy();
      response.once('close', onGone);
      outgoing.on('error', (error) => reject(isStale(error, outgoing, method) ? new StaleConnectionError() : error));
      outgoing.on('response', (answer) => {
        response.off('close', onGone);
        resolve(answer);
      });
      this.#watch(outgoing);
      this.#sendBody(request, outgoing, method);
    });
  }

  #watch(outgoing: ClientRequest): void {
    const { connectTimeoutMs, responseTimeoutMs } = this.#options;
    outgoing.setTimeout(responseTimeoutMs, () => outgoing.destroy(new SilenceError('The surface sent nothing.')));
    outgoing.once('socket', (socket) => {
      if (!socket.connecting) return;
      const late = () => outgoing.destroy(new ConnectTimeoutError('The surface did not accept the connection.'));
      const timer = setTimeout(late, connectTimeoutMs);
      const clear = () => clearTimeout(timer);
      socket.once('connect', clear).once('close', clear);
    });
  }

  /** Not by `pipeline`, which would destroy the client's connection on failure, and with it the error response. */
  #sendBody(request: IncomingMessage, outgoing: ClientRequest, method: string): void {
    if (WITHOUT_BODY.has(method)) {
      outgoing.end();
      return;
    }
    const { bodyMaxBytes } = this.#options;
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      // Discards a body that is no longer needed, within a limit, so that the client reads the response.
      if (size > 2 * bodyMaxBytes) request.destroy();
      else if (outgoing.destroyed || outgoing.writableEnded) return;
      else if (size > bodyMaxBytes) outgoing.destroy(new BodyTooLongError('The body is too long.'));
      else if (!outgoing.write(chunk)) request.pause();
    });
    request.on('end', () => outgoing.end());
    request.on('error', () => outgoing.destroy());
    outgoing.on('drain', () => request.resume());
    outgoing.on('close', () => request.resume());
  }

  /** Never rejects. A response whose client has disconnected is destroyed, and its connection with it. */
  #stream(answer: IncomingMessage, { response }: Passage): Promise<void> {
    if (response.destroyed) {
      answer.destroy();
      this.#onOutcome('cut');
      return Promise.resolve();
    }
    const headers = answerHeaders(answer);
    response.writeHead(answer.statusCode ?? 502, Object.fromEntries(headers));
    // Streams may be silent at first, so their head is flushed at once; otherwise head and body are sent together.
    if (!headers.has('content-length')) response.flushHeaders();
    return new Promise((resolve) => {
      let hasSettled = false;
      const settle = (outcome: PassageOutcome) => {
        if (hasSettled) return;
        hasSettled = true;
        this.#onOutcome(outcome);
        resolve();
      };
      // Not told of a response that lost its connection, or never had its turn on it, while it waited to be drained.
      pipeline(answer, response, (error) => settle(error == null ? 'answered' : 'cut'));
      response.once('close', () => {
        settle(response.writableFinished ? 'answered' : 'cut');
        answer.destroy();
      });
    });
  }

  #refuse(error: AppError): AppError {
    this.#onOutcome('refused');
    return error;
  }

  #refusalOf(error: unknown, { request, response }: Passage): AppError {
    if (response.destroyed) {
      this.#onOutcome('cut');
      return new AppError('UNAVAILABLE', 'The client disconnected.', { cause: error });
    }
    if (error instanceof BodyTooLongError) return this.#refuse(tooLong(this.#options.bodyMaxBytes));
    const wasSent = !isBeforeSending(error);
    if (!wasSent || READS.has(request.method ?? '')) {
      this.#onOutcome('unreachable');
      return new AppError('UNAVAILABLE', 'This service is unreachable or did not respond in time.', {
        cause: error,
      });
    }
    this.#onOutcome('unknown');
    const detail =
      'The service did not respond in time, or the connection was lost: it is not known whether this change was made. Check before you try again.';
    return new AppError('OUTCOME_UNKNOWN', detail, { cause: error });
  }
}

/** A reused connection was closed before any byte of the response. */
class StaleConnectionError extends Error {
  override readonly name = 'StaleConnectionError';
}

const isStale = (error: NodeJS.ErrnoException, outgoing: ClientRequest, method: string): boolean =>
  READS.has(method) && outgoing.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');

const BEFORE_SENDING: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
]);

function isBeforeSending(error: unknown): boolean {
  if (error instanceof ConnectTimeoutError) return true;
  if (!types.isNativeError(error) || !('code' in error)) return false;
  const code = String(error.code);
  // TLS fails before any byte of the request is sent.
  return BEFORE_SENDING.has(code) || /^ERR_TLS|CERT|^UNABLE_TO|^DEPTH_ZERO/.test(code);
}

const tooLong = (maxBytes: number): AppError =>
  new AppError('PAYLOAD_TOO_LARGE', `A body may have at most ${maxBytes} bytes.`);
