import { IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';

/** Requests of one connection that are worked on, or whose answers its client has not read yet. */
const MOST_AT_ONCE = 16;

/** Requests of one connection that are parsed besides, before its parser is stopped. */
const MOST_PARSED = 16;

/** Requests of all connections of a listener that are parsed and wait; a connection that adds to them is cut. */
const MOST_WAITING = 4096;

/** What a connection that has pipelined so much is parsed by. It holds some 50 of the smallest requests. */
const SLICE_BYTES = 1024;

/** Node drops headers past these (names and values), so the head of such a request cannot be made again. */
const MAX_RAW_HEADERS = 2000;

/** Connections whose parser has to stop at the request after this one. */
const stopping = new WeakMap<Socket, IncomingMessage>();

/**
 * Node parses whatever it reads at once, up to 64 KiB, some 2,600 of the smallest requests, which then take 4 MB. Its
 * parser stops for nothing but a request that upgrades its connection. So the first request that is too many calls itself
 * one. A request whose client asks for an upgrade does not: there is nothing here to upgrade to.
 */
class PipelinedMessage extends IncomingMessage {
  get upgrade(): boolean {
    const last = stopping.get(this.socket);
    return this.method === 'CONNECT' || (last !== undefined && last !== this);
  }

  /** Node sets what the headers say. */
  set upgrade(_: unknown) {}
}

/**
 * Options for the HTTP server of an app: headers within 10 s, the whole request within 30 s, looked at every 5 s. A body
 * that is late is answered with a problem where `attachTo` was used; late headers are refused by Node's parser. A request
 * without Host is refused by `attachTo` too, which bounds how many are answered at once.
 */
export const SERVER_OPTIONS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 5_000,
  keepAliveTimeout: 65_000,
  requireHostHeader: false,
  IncomingMessage: PipelinedMessage,
} as const;

/** How long a client may take nothing of what it was answered. */
export const SLOW_READER_MS = 10_000;

/** A connection whose unsent bytes have stayed the same for so many looks has stalled. */
const STALLED_AFTER_LOOKS = 10;

/** Listeners of Node's that it removes with the parser, though answers still need them. */
const KEPT_EVENTS = ['close', 'drain', 'error', 'timeout'] as const;

type Listener = (...values: unknown[]) => void;

/** One connection from its first request to its end. */
class Pipeline {
  readonly waiting: ServerResponse[] = [];
  atOnce = 0;
  isRefilling = false;
  /** Its parser was stopped, and it begins again when all that was parsed has been answered. */
  isStopped = false;
  /** It has begun again. */
  isSliced = false;
  kept: (readonly [event: (typeof KEPT_EVENTS)[number], listener: Listener])[] = [];
  unsent = 0;
  looksUnchanged = 0;
}

/**
 * Stands between Node's server and an app, and bounds what one connection can make the process keep: a client that
 * pipelines gets so many requests worked on at once, is not read from while more of them wait, and is cut off where it
 * takes nothing of its answers. The answers come in order; Node sees to that.
 */
export class Pipelines {
  readonly #pipelines = new Map<Socket, Pipeline>();
  readonly #server: Server;
  readonly #listener: RequestListener;
  #waiting = 0;

  constructor(server: Server, listener: RequestListener) {
    this.#server = server;
    this.#listener = listener;
  }

  /** Hands a request on, at once or when those before it have been answered. */
  take(response: ServerResponse): void {
    const { socket } = response.req;
    // Node goes on parsing what it has read when the connection is cut half way.
    if (socket.destroyed) return;
    const pipeline = this.#pipelines.get(socket) ?? this.#follow(socket);
    if (pipeline.atOnce < MOST_AT_ONCE && pipeline.waiting.length === 0) {
      this.#begin(pipeline, response);
    } else if (this.#waiting < MOST_WAITING) {
      pipeline.waiting.push(response);
      this.#waiting += 1;
      socket.pause();
      if (pipeline.waiting.length >= MOST_PARSED && !pipeline.isSliced) stopAfter(response.req, pipeline);
    } else {
      socket.destroy();
    }
  }

  /** Takes over a connection whose parser has stopped at this request; `rest` is what came after its head. */
  stopped(request: IncomingMessage, rest: Buffer): void {
    const { socket } = request;
    const pipeline = this.#pipelines.get(socket);
    if (pipeline === undefined || socket.destroyed || request.rawHeaders.length >= MAX_RAW_HEADERS) {
      socket.destroy();
      return;
    }
    pipeline.isStopped = true;
    pipeline.kept = pipeline.kept.filter(([event, listener]) => !socket.listeners(event).includes(listener));
    for (const [event, listener] of pipeline.kept) socket.on(event, listener);
    socket.pause();
    socket.unshift(Buffer.concat([headOf(request), rest]));
  }

  /**
   * Looks for clients that do not read, every tenth of `stallMs`; the function that it returns ends that. What the kernel
   * has taken is out of our sight, so progress shows in steps as large as its buffers.
   */
  watch(stallMs: number): () => void {
    const timer = setInterval(() => {
      for (const [socket, pipeline] of this.#pipelines) if (hasStalled(socket, pipeline)) socket.destroy();
    }, stallMs / STALLED_AFTER_LOOKS).unref();
    return () => clearInterval(timer);
  }

  #follow(socket: Socket): Pipeline {
    const pipeline = new Pipeline();
    this.#pipelines.set(socket, pipeline);
    socket.once('close', () => {
      this.#pipelines.delete(socket);
      this.#waiting -= pipeline.waiting.length;
      pipeline.waiting.length = 0;
    });
    // Node resumes it whenever a request has been read to its end.
    socket.on('resume', () => {
      if (pipeline.waiting.length > 0 || pipeline.isStopped) socket.pause();
    });
    return pipeline;
  }

  #begin(pipeline: Pipeline, response: ServerResponse): void {
    pipeline.atOnce += 1;
    response.on('close', () => {
      pipeline.atOnce -= 1;
      if (pipeline.waiting.length === 0 && !pipeline.isStopped) return;
      if (pipeline.isRefilling) return;
      pipeline.isRefilling = true;
      // Not within this turn, so that a long pipeline leaves room for the requests of others.
      setImmediate(() => this.#refill(pipeline, response.req.socket));
    });
    this.#listener(response.req, response);
  }

  #refill(pipeline: Pipeline, socket: Socket): void {
    pipeline.isRefilling = false;
    const next = pipeline.waiting.splice(0, MOST_AT_ONCE - pipeline.atOnce);
    this.#waiting -= next.length;
    for (const response of next) this.#begin(pipeline, response);
    if (pipeline.waiting.length > 0 || socket.destroyed) return;
    if (!pipeline.isStopped) {
      stopping.delete(socket);
      socket.resume();
      // Node keeps the answers of a connection in order, and takes this one for another from here on.
    } else if (pipeline.atOnce === 0) this.#beginAgain(pipeline, socket);
  }

  /** Gives the connection to Node once more, from here on in slices: that costs more, but Node stops between two. */
  #beginAgain(pipeline: Pipeline, socket: Socket): void {
    for (const [event, listener] of pipeline.kept) socket.off(event, listener);
    pipeline.kept = [];
    pipeline.isStopped = false;
    pipeline.isSliced = true;
    stopping.delete(socket);
    socket.setTimeout(0);
    this.#server.emit('setSecureContext' in this.#server ? 'secureConnection' : 'connection', socket);
    const [parse] = socket.listeners('data');
    if (parse === undefined) return;
    socket.off('data', parse as Listener);
    // The socket's own `on` would have Node forget that it may have to wait for the client before it goes on.
    Readable.prototype.on.call(socket, 'data', (chunk: Buffer) => {
      for (let from = 0; from < chunk.length && socket.writable; from += SLICE_BYTES) {
        if (pipeline.waiting.length > 0 || socket.isPaused()) {
          // Node resumes it at the end of each request.
          socket.pause();
          socket.unshift(chunk.subarray(from));
          return;
        }
        parse(chunk.subarray(from, from + SLICE_BYTES));
      }
    });
    socket.resume();
  }
}

function stopAfter(request: IncomingMessage, pipeline: Pipeline): void {
  const { socket } = request;
  stopping.set(socket, request);
  pipeline.kept = KEPT_EVENTS.flatMap((event) =>
    socket.listeners(event).map((listener) => [event, listener as Listener] as const),
  );
}

function headOf({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer {
  let head = `${method} ${url} HTTP/${httpVersion}\r\n`;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) head += `${rawHeaders[i]}:${rawHeaders[i + 1]}\r\n`;
  return Buffer.from(`${head}\r\n`, 'latin1');
}

function hasStalled(socket: Socket, pipeline: Pipeline): boolean {
  const unsent = unsentBytes(socket);
  const isUnchanged = unsent > 0 && unsent === pipeline.unsent;
  pipeline.unsent = unsent;
  pipeline.looksUnchanged = isUnchanged ? pipeline.looksUnchanged + 1 : 0;
  return pipeline.looksUnchanged >= STALLED_AFTER_LOOKS;
}

/** What the socket was given and the kernel has not taken. A large answer is one write, whose progress its handle knows. */
function unsentBytes(socket: Socket & { readonly _handle?: { readonly writeQueueSize?: number } | null }): number {
  return socket.writableLength === 0 ? 0 : socket.writableLength + (socket._handle?.writeQueueSize ?? 0);
}
