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

/** One request on its way through. */
export interface Passage {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Of the listener, without trailing slash. */
  readonly baseUrl: string;
  /** Path and query behind it, as they are to be sent. */
  readonly target: string;
  /** What the surface knows the sender by, and the ids of this request. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

export type PassageOutcome = 'answered' | 'unreachable' | 'unknown' | 'refused' | 'cut';

export interface ForwarderOptions {
  readonly bodyMaxBytes: number;
  readonly onOutcome?: (outcome: PassageOutcome) => void;
  /** From the request to the head of its answer; streams may then be silent for so long too. */
  readonly answerWithinMs?: number;
  readonly connectWithinMs?: number;
  /** Requests under way at once, streams among them. */
  readonly mostAtOnce?: number;
}

const AGENT_OPTIONS = {
  keepAlive: true,
  maxSockets: 512,
  maxFreeSockets: 64,
  timeout: 60_000,
  scheduling: 'lifo',
} as const;
const WITHOUT_BODY: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE']);
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** The connection took too long to come about: nothing was sent. */
class ConnectTimeoutError extends Error {
  override readonly name = 'ConnectTimeoutError';
}

/** The surface said nothing for too long. */
class SilenceError extends Error {
  override readonly name = 'SilenceError';
}

/** The body grew past its limit, and was not sent on to its end. */
class BodyTooLongError extends Error {
  override readonly name = 'BodyTooLongError';
}

/** Hands requests on to the surfaces and streams what they answer, on connections that are kept. */
export class Forwarder {
  readonly #options: Required<Omit<ForwarderOptions, 'onOutcome'>>;
  readonly #onOutcome: (outcome: PassageOutcome) => void;
  readonly #http = new HttpAgent(AGENT_OPTIONS);
  readonly #https = new HttpsAgent(AGENT_OPTIONS);
  #atOnce = 0;

  constructor({ onOutcome = () => undefined, ...options }: ForwarderOptions) {
    this.#options = { answerWithinMs: 60_000, connectWithinMs: 3_000, mostAtOnce: 1_024, ...options };
    this.#onOutcome = onOutcome;
  }

  /**
   * Ends once the head of the answer has been written; its body goes on, and is cut where the surface cuts it. A client
   * that goes away takes its request along.
   * @throws AppError before anything was written: PAYLOAD_TOO_LARGE, OVERLOADED, UNAVAILABLE where the surface did nothing,
   * OUTCOME_UNKNOWN where a change may have happened.
   */
  async forward(passage: Passage): Promise<void> {
    const { bodyMaxBytes, mostAtOnce } = this.#options;
    const announced = Number(passage.request.headers['content-length'] ?? 0);
    if (announced > bodyMaxBytes) throw this.#refuse(tooLong(bodyMaxBytes));
    if (this.#atOnce >= mostAtOnce) throw this.#refuse(new AppError('OVERLOADED', 'Too many requests are under way.'));
    this.#atOnce += 1;
    passage.response.once('close', () => (this.#atOnce -= 1));
    let answer: IncomingMessage;
    try {
      answer = await this.#answerOf(passage);
    } catch (error) {
      throw this.#refusalOf(error, passage);
    }
    this.#stream(answer, passage);
  }

  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }

  /** A kept connection may have been closed just as it was used; a read is then sent once more, on a new one. */
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
      // After the head of the answer this is nobody's any more: the stream of the answer tells of it as well.
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
    const { connectWithinMs, answerWithinMs } = this.#options;
    outgoing.setTimeout(answerWithinMs, () => outgoing.destroy(new SilenceError('The surface was silent.')));
    outgoing.once('socket', (socket) => {
      if (!socket.connecting) return;
      const late = () => outgoing.destroy(new ConnectTimeoutError('The surface did not take the connection.'));
      const timer = setTimeout(late, connectWithinMs);
      const clear = () => clearTimeout(timer);
      socket.once('connect', clear).once('close', clear);
    });
  }

  /** By hand, since a pipeline that fails would cut the client's connection, and with it the answer that says why. */
  #sendBody(request: IncomingMessage, outgoing: ClientRequest, method: string): void {
    if (WITHOUT_BODY.has(method)) {
      outgoing.end();
      return;
    }
    const { bodyMaxBytes } = this.#options;
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      // What nobody waits for any more is thrown away, so that its sender reads the answer; but not without end.
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

  #stream(answer: IncomingMessage, { response }: Passage): void {
    const headers = answerHeaders(answer);
    response.writeHead(answer.statusCode ?? 502, Object.fromEntries(headers));
    // A stream may say nothing for a while, and its reader waits for the head. Else both go out together.
    if (!headers.has('content-length')) response.flushHeaders();
    pipeline(answer, response, (error) => this.#onOutcome(error == null ? 'answered' : 'cut'));
  }

  #refuse(error: AppError): AppError {
    this.#onOutcome('refused');
    return error;
  }

  #refusalOf(error: unknown, { request, response }: Passage): AppError {
    if (response.destroyed) {
      this.#onOutcome('cut');
      return new AppError('UNAVAILABLE', 'The client went away.', { cause: error });
    }
    if (error instanceof BodyTooLongError) return this.#refuse(tooLong(this.#options.bodyMaxBytes));
    const wasSent = !isBeforeSending(error);
    if (!wasSent || READS.has(request.method ?? '')) {
      this.#onOutcome('unreachable');
      return new AppError('UNAVAILABLE', 'This service cannot be reached, or does not answer in time.', {
        cause: error,
      });
    }
    this.#onOutcome('unknown');
    const detail =
      'The service did not answer in time, or its connection was lost: what became of this change is not known. Look before you try it again.';
    return new AppError('OUTCOME_UNKNOWN', detail, { cause: error });
  }
}

/** A kept connection was closed before anything of the answer came. */
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
  // TLS fails before a byte of the request goes out.
  return BEFORE_SENDING.has(code) || /^ERR_TLS|CERT|^UNABLE_TO|^DEPTH_ZERO/.test(code);
}

const tooLong = (maxBytes: number): AppError =>
  new AppError('PAYLOAD_TOO_LARGE', `A body may have ${maxBytes} bytes at most.`);
