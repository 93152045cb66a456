import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError } from '@sealgate/errors';
import { payloadTooLarge } from './content-coding.ts';

/** How much of a body that nobody wants is thrown away, so that its sender gets to read the refusal. */
const MAX_DISCARDED_BYTES = 16 * 1024 * 1024;

/** The client went away before it had sent the whole body, so there is nobody to answer. */
export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError';
}

export interface BodyLimits {
  readonly maxBytes: number;
  /** What a 413 names: the limit on the decoded body. */
  readonly namedMaxBytes: number;
  readonly timeoutMs: number | undefined;
}

/** What the server's own request timeout does about a body that is being waited for, by connection. */
const pending = new WeakMap<object, () => void>();

/** Requests whose sender waits for 100 Continue before it sends the body. */
const awaitingContinue = new WeakSet<IncomingMessage>();

export function markAwaitingContinue(request: IncomingMessage): void {
  awaitingContinue.add(request);
}

/**
 * Ends the wait for the body on this connection: with 408, or without a word where the request was answered before.
 * @returns whether anything waited.
 */
export function expireBody(socket: object): boolean {
  const expire = pending.get(socket);
  expire?.();
  return expire !== undefined;
}

/** Whether a body was announced at all. */
export function announcesBody(request: IncomingMessage): boolean {
  const length = request.headers['content-length'];
  return request.headers['transfer-encoding'] !== undefined || (length !== undefined && Number(length) > 0);
}

/** Whether all of the body has come; Node says `complete` a little after it has handed over the last byte. */
export function isBodyThere(request: IncomingMessage): boolean {
  return request.complete || request.readableLength === Number(request.headers['content-length']);
}

/**
 * The bytes of the body, joined once. Most bodies came in one packet with their headers and are taken without waiting.
 *
 * Rejects with PAYLOAD_TOO_LARGE at the first byte past the limit, REQUEST_TIMEOUT when it takes too long, and
 * ClientGoneError when the client goes away. It cannot hang: the server's request timeout ends it too.
 */
export function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  limits: BodyLimits,
): Buffer | Promise<Buffer> {
  const announced = Number(request.headers['content-length'] ?? Number.NaN);
  if (announced > limits.maxBytes) throw payloadTooLarge(limits.namedMaxBytes);
  if (isBodyThere(request)) {
    const bytes: unknown = request.read();
    // Nothing is left but the end of the stream, which must be taken note of for the stream to be let go.
    if (!request.complete) request.resume();
    // Null when the body was empty.
    if (!(bytes instanceof Buffer)) return Buffer.alloc(0);
    if (bytes.length > limits.maxBytes) throw payloadTooLarge(limits.namedMaxBytes);
    return bytes;
  }
  if (request.headers.expect !== undefined && awaitingContinue.has(request)) response.writeContinue();
  return collect(request, limits);
}

/** Throws away what remains of a refused request's body, and cuts the connection where that is too much. */
export function discardBody(request: IncomingMessage): void {
  const { socket } = request;
  let discarded = 0;
  pending.set(socket, () => request.destroy());
  request.on('end', () => pending.delete(socket));
  request.on('data', (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > MAX_DISCARDED_BYTES) request.destroy();
  });
}

function collect(request: IncomingMessage, limits: BodyLimits): Promise<Buffer> {
  const { socket } = request;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const settle = () => {
      clearTimeout(timer);
      pending.delete(socket);
      request.off('data', onData).off('end', onEnd).off('close', onGone).off('error', onGone);
      // A request that is destroyed later still reports an error, which is then nobody's.
      request.on('error', () => undefined);
    };
    const fail = (error: Error) => {
      settle();
      reject(error);
    };
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size > limits.maxBytes) fail(payloadTooLarge(limits.namedMaxBytes));
      else chunks.push(chunk);
    };
    const onEnd = () => {
      settle();
      resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size));
    };
    const onGone = () => fail(new ClientGoneError('The client went away.'));
    const timer =
      limits.timeoutMs === undefined ? undefined : setTimeout(() => fail(requestTimeout()), limits.timeoutMs);
    pending.set(socket, () => fail(requestTimeout()));
    request.on('data', onData).on('end', onEnd).on('close', onGone).on('error', onGone);
    if (request.destroyed && !request.complete) onGone();
  });
}

function requestTimeout(): AppError {
  return new AppError('REQUEST_TIMEOUT', 'The request did not arrive in time.');
}
