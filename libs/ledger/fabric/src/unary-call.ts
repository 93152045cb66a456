import { constants, type ClientHttp2Session, type ClientHttp2Stream, type IncomingHttpHeaders } from 'node:http2';
import { status } from '@grpc/grpc-js';
import { CallFailure, failureOfHttpStatus, failureOfReset, failureOfTrailers } from './call-failure.ts';

/** A stream on which nothing has been sent yet, and whose it is: a stream forgets that when it ends. */
export interface OpenedCall {
  readonly session: ClientHttp2Session;
  readonly stream: ClientHttp2Stream;
}

export interface UnaryCallOptions {
  readonly timeoutMs: number;
  readonly answerMaxBytes: number;
}

/** A byte that says whether the message is compressed, and its length in four. */
const PREFIX_BYTES = 5;
const HTTP_OK = 200;

/** One message there, one message back, over a stream of its own. */
export class UnaryCall {
  readonly #stream: ClientHttp2Stream;
  readonly #session: ClientHttp2Session;
  readonly #options: UnaryCallOptions;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #answered = false;
  #httpStatus = HTTP_OK;
  #trailers: IncomingHttpHeaders | undefined;
  #problem = 'The connection broke off.';
  #resolve!: (message: Buffer) => void;
  #reject!: (failure: CallFailure) => void;
  #timer: NodeJS.Timeout | undefined;

  constructor({ session, stream }: OpenedCall, options: UnaryCallOptions) {
    this.#session = session;
    this.#stream = stream;
    this.#options = options;
  }

  /** Sends what `framed` made. @throws CallFailure. To be called once. */
  run(frame: Buffer): Promise<Buffer> {
    const stream = this.#stream;
    const promise = new Promise<Buffer>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#timer = setTimeout(
      () => this.#giveUp(status.DEADLINE_EXCEEDED, 'No answer in time.'),
      this.#options.timeoutMs,
    );
    stream.on('response', (headers, flags) => {
      this.#answered = true;
      this.#httpStatus = headers[':status'] ?? 0;
      // A refusal comes without a message: then the headers are all there is, and hold its status.
      if ((flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0) this.#trailers = headers;
    });
    stream.on('data', (chunk: Buffer) => this.#take(chunk));
    stream.on('trailers', (trailers) => {
      this.#trailers = trailers;
    });
    stream.on('end', () => {
      if (this.#trailers !== undefined) this.#settle();
    });
    // 'close' always follows.
    stream.on('error', (error) => {
      this.#problem = error.message;
    });
    stream.on('close', () => this.#settle());
    stream.end(frame);
    return promise;
  }

  #take(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#options.answerMaxBytes + PREFIX_BYTES)
      return this.#giveUp(
        status.RESOURCE_EXHAUSTED,
        `The answer is larger than ${this.#options.answerMaxBytes} bytes.`,
      );
    this.#chunks.push(chunk);
  }

  /** The first word counts: what comes after it changes nothing. */
  #settle(): void {
    clearTimeout(this.#timer);
    // Answered before all was sent: the rest is for nobody.
    if (!this.#stream.writableFinished && !this.#stream.closed) this.#stream.close(constants.NGHTTP2_CANCEL);
    const answer =
      this.#failure() ?? messageOf(this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks));
    if (answer instanceof CallFailure) this.#reject(answer);
    else this.#resolve(answer);
  }

  #failure(): CallFailure | undefined {
    if (this.#trailers?.['grpc-status'] !== undefined) return failureOfTrailers(this.#trailers);
    if (this.#answered && this.#httpStatus !== HTTP_OK) return failureOfHttpStatus(this.#httpStatus);
    const { rstCode } = this.#stream;
    const isBroken = this.#session.closed || this.#session.destroyed || rstCode === constants.NGHTTP2_NO_ERROR;
    if (isBroken) return new CallFailure(status.UNAVAILABLE, this.#problem);
    return failureOfReset(rstCode);
  }

  #giveUp(code: number, message: string): void {
    clearTimeout(this.#timer);
    this.#reject(new CallFailure(code, message));
    this.#stream.close(constants.NGHTTP2_CANCEL);
  }
}

/** A message with gRPC's prefix. */
export function framed(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, PREFIX_BYTES);
  return frame;
}

function messageOf(frame: Buffer): Buffer | CallFailure {
  const isWhole = frame.length >= PREFIX_BYTES && frame.readUInt32BE(1) === frame.length - PREFIX_BYTES;
  // Nothing was said of compression, so no peer may use it.
  if (!isWhole || frame[0] !== 0) return new CallFailure(status.INTERNAL, 'The peer answered with no whole message.');
  return frame.subarray(PREFIX_BYTES);
}
