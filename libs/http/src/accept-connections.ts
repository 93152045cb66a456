import { IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { expireBody, markAwaitingContinue } from './read-body.ts';

/** Concurrent requests of one connection, including those whose answers the client has not read yet. */
const MAX_CONCURRENT = 16;

/** Further requests of one connection that are parsed before its parser is stopped. */
const MAX_PARSED = 16;

/** Queued requests of all connections of a listener; a connection that exceeds it is destroyed. */
const MAX_QUEUED = 4096;

/** Chunk size for a connection whose parser was stopped before. It holds about 50 minimal requests. */
const SLICE_BYTES = 1024;

/** Node drops headers beyond this number of names and values, so the head of such a request cannot be rebuilt. */
const MAX_RAW_HEADERS = 2000;

/** Connections whose parser must stop at the request after this one. */
const stopping = new WeakMap<Socket, IncomingMessage>();

/**
 * Node parses a whole read of up to 64 KiB at once: about 2,600 minimal requests, which then take 4 MB. Its parser
 * stops only at a request that upgrades its connection, so the first excess request claims to be one. Real upgrade
 * requests are not treated as such: nothing here supports upgrades.
 */
class PipelinedMessage extends IncomingMessage {
  get upgrade(): boolean {
    const last = stopping.get(this.socket);
    return this.method === 'CONNECT' || (last !== undefined && last !== this);
  }

  /** Node assigns it from the headers; ignored. */
  set upgrade(_: unknown) {}
}

/**
 * Options for the HTTP server of an app. Late bodies are answered with a problem if `attachTo` is used; late headers
 * are refused by Node's parser. `attachTo` also refuses requests without Host, within the limit of concurrent answers.
 */
export const SERVER_OPTIONS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 5_000,
  keepAliveTimeout: 65_000,
  // Room for an access token of 16 KiB beside the other headers.
  maxHeaderSize: 32_768,
  requireHostHeader: false,
  IncomingMessage: PipelinedMessage,
} as const;

/** Default time after which a client that reads nothing is disconnected. */
export const SLOW_READER_MS = 10_000;

/** A connection has stalled if its unsent bytes are unchanged for this many checks. */
const STALLED_AFTER_CHECKS = 10;

/** Node removes these listeners with the parser, though pending answers still need them. */
const KEPT_EVENTS = ['close', 'drain', 'error', 'timeout'] as const;

type Listener = (...values: unknown[]) => void;

/** Status lines for errors of Node's HTTP parser; all others are a 400. */
const STATUS_LINES: ReadonlyMap<string, string> = new Map([
  ['HPE_HEADER_OVERFLOW', '431 Request Header Fields Too Large'],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', '413 Payload Too Large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', '408 Request Timeout'],
]);

/**
 * Handles what a plain request listener never sees: 408 for slow bodies, 100 Continue only once a body is wanted, and
 * refusals of Node's parser with the common headers. It also bounds pipelined requests of a connection.
 */
export function acceptConnections(
  server: Server,
  listener: RequestListener,
  { constantHeaders, slowReaderMs }: { readonly constantHeaders: readonly string[]; readonly slowReaderMs: number },
): void {
  const refusal = (status: string) => `HTTP/1.1 ${status}\r\n${headerLines(constantHeaders)}\r\n`;
  const pipelines = new Pipelines(server, (request, response) => {
    if (hasHost(request)) listener(request, response);
    else response.writeHead(400, [...constantHeaders, ...EMPTY_AND_CLOSE]).end();
  });
  const take = (_request: IncomingMessage, response: ServerResponse) => pipelines.take(response);
  server.on('close', pipelines.watch(slowReaderMs));
  server.on('request', take);
  server.on('checkContinue', (request: IncomingMessage, response) => {
    markAwaitingContinue(request);
    pipelines.take(response);
  });
  // Ignore an unknown Expect, as RFC 9110 section 10.1.1 allows.
  server.on('checkExpectation', take);
  server.on('upgrade', (request: IncomingMessage, _socket: Socket, rest: Buffer) => pipelines.stopped(request, rest));
  server.on('connect', (_request: IncomingMessage, socket: Socket) => {
    socket.end(refusal('405 Method Not Allowed'));
    socket.destroySoon();
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && expireBody(socket)) return;
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    socket.end(refusal(STATUS_LINES.get(error.code ?? '') ?? '400 Bad Request'));
    socket.destroySoon();
  });
}

const EMPTY_AND_CLOSE = ['Content-Length', '0', 'Connection', 'close'] as const;

function headerLines(constantHeaders: readonly string[]): string {
  const list = [...constantHeaders, ...EMPTY_AND_CLOSE];
  let lines = '';
  for (let i = 0; i + 1 < list.length; i += 2) lines += `${list[i]}: ${list[i + 1]}\r\n`;
  return lines;
}

/** RFC 9112 section 3.2. Checked here and not by Node, whose check ignores the limit on pipelined requests. */
function hasHost({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.host !== undefined || httpVersion !== '1.1';
}

/** State of one connection. */
class Pipeline {
  readonly waiting: ServerResponse[] = [];
  atOnce = 0;
  isRefilling = false;
  /** The parser is stopped, and resumes when all parsed requests are answered. */
  isStopped = false;
  /** It was restarted, and is parsed in slices. */
  isSliced = false;
  kept: (readonly [event: (typeof KEPT_EVENTS)[number], listener: Listener])[] = [];
  unsent = 0;
  checksUnchanged = 0;
}

/**
 * Sits between Node's server and an app and bounds the memory of one connection: a limited number of pipelined requests
 * run concurrently, reading pauses while more are queued, and clients that do not read their answers are disconnected.
 * Node keeps answers in order.
 */
class Pipelines {
  readonly #pipelines = new Map<Socket, Pipeline>();
  readonly #server: Server;
  readonly #listener: RequestListener;
  #waiting = 0;

  constructor(server: Server, listener: RequestListener) {
    this.#server = server;
    this.#listener = listener;
  }

  /** Dispatches a request, at once or when earlier ones are answered. */
  take(response: ServerResponse): void {
    const { socket } = response.req;
    // Node keeps parsing data already read after the socket is destroyed.
    if (socket.destroyed) return;
    const pipeline = this.#pipelines.get(socket) ?? this.#follow(socket);
    if (pipeline.atOnce < MAX_CONCURRENT && pipeline.waiting.length === 0) {
      this.#begin(pipeline, response);
    } else if (this.#waiting < MAX_QUEUED) {
      pipeline.waiting.push(response);
      this.#waiting += 1;
      socket.pause();
      if (pipeline.waiting.length >= MAX_PARSED && !pipeline.isSliced) stopAfter(response.req, pipeline);
    } else {
      socket.destroy();
    }
  }

  /** Takes over a connection whose parser stopped at this request; `rest` is the data after its head. */
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
   * Checks for stalled clients ten times per `stallMs`; returns a function that stops it. Data in kernel buffers is not
   * visible, so progress shows in steps of their size.
   */
  watch(stallMs: number): () => void {
    const timer = setInterval(() => {
      for (const [socket, pipeline] of this.#pipelines) if (hasStalled(socket, pipeline)) socket.destroy();
    }, stallMs / STALLED_AFTER_CHECKS).unref();
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
    // Node resumes the socket whenever a request has been read completely.
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
      // Yield to the event loop, so that a long pipeline does not delay other requests.
      setImmediate(() => this.#refill(pipeline, response.req.socket));
    });
    this.#listener(response.req, response);
  }

  #refill(pipeline: Pipeline, socket: Socket): void {
    pipeline.isRefilling = false;
    const next = pipeline.waiting.splice(0, MAX_CONCURRENT - pipeline.atOnce);
    this.#waiting -= next.length;
    for (const response of next) this.#begin(pipeline, response);
    if (pipeline.waiting.length > 0 || socket.destroyed) return;
    if (!pipeline.isStopped) {
      stopping.delete(socket);
      socket.resume();
      // Restart only when all answers are sent: Node orders the answers of a connection, and treats this as a new one.
    } else if (pipeline.atOnce === 0) this.#restart(pipeline, socket);
  }

  /** Passes the connection to Node again, now in slices: slower, but Node can stop between slices. */
  #restart(pipeline: Pipeline, socket: Socket): void {
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
    // Socket's own `on` would reset Node's flow-control state for this connection.
    Readable.prototype.on.call(socket, 'data', (chunk: Buffer) => {
      for (let from = 0; from < chunk.length && socket.writable; from += SLICE_BYTES) {
        if (pipeline.waiting.length > 0 || socket.isPaused()) {
          // Node resumes the socket at the end of each request.
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
  pipeline.checksUnchanged = isUnchanged ? pipeline.checksUnchanged + 1 : 0;
  return pipeline.checksUnchanged >= STALLED_AFTER_CHECKS;
}

/** Bytes not yet taken by the kernel. A large answer is one write, whose progress only the handle shows. */
function unsentBytes(socket: Socket & { readonly _handle?: { readonly writeQueueSize?: number } | null }): number {
  return socket.writableLength === 0 ? 0 : socket.writableLength + (socket._handle?.writeQueueSize ?? 0);
}
