import { IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { expireBody, markAwaitingContinue } from './read-body.ts';

/**
 * Requests of one connection that are served in one turn of the event loop; others wait for the next. Else a client
 * whose requests are refused without I/O could send the next ones as fast as they are served, and libuv reads a
 * connection up to 32 times in a turn: with a hundred such clients one turn took seconds.
 */
const SERVED_IN_TURN = 4;

/** Requests of one connection that are unanswered, or whose answers the client has not read yet. */
const MAX_UNREAD = 64;

/**
 * Node parses a whole read of up to 64 KiB at once, also after the socket is destroyed: about 2,600 minimal requests,
 * which then take 4 MB. Its parser stops only at a request that upgrades its connection, so a request after that claims
 * to be one. Real upgrade requests are not treated as such: nothing here supports upgrades.
 */
class StoppableMessage extends IncomingMessage {
  get upgrade(): boolean {
    return this.method === 'CONNECT' || this.socket.destroyed;
  }

  /** Node assigns it from the headers; ignored. */
  set upgrade(_: unknown) {}
}

/**
 * Options for the HTTP server of an app. Late bodies are answered with a problem if `attachTo` is used; late headers
 * are refused by Node's parser. `attachTo` also refuses requests without Host, with the common headers.
 */
export const SERVER_OPTIONS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 5_000,
  keepAliveTimeout: 65_000,
  // Room for an access token of 16 KiB beside the other headers.
  maxHeaderSize: 32_768,
  requireHostHeader: false,
  IncomingMessage: StoppableMessage,
} as const;

/** Default time after which a client that reads nothing is disconnected. */
export const SLOW_READER_MS = 10_000;

/** A connection has stalled if its unsent bytes are unchanged for this many checks. */
const STALLED_AFTER_CHECKS = 10;

/** Status lines for errors of Node's HTTP parser; all others are a 400. */
const STATUS_LINES: ReadonlyMap<string, string> = new Map([
  ['HPE_HEADER_OVERFLOW', '431 Request Header Fields Too Large'],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', '413 Payload Too Large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', '408 Request Timeout'],
]);

/**
 * Handles what a plain request listener never sees: 408 for slow bodies, 100 Continue only once a body is wanted, and
 * refusals of Node's parser with the common headers. It also closes connections whose answers are not read.
 */
export function acceptConnections(
  server: Server,
  listener: RequestListener,
  { constantHeaders, slowReaderMs }: { readonly constantHeaders: readonly string[]; readonly slowReaderMs: number },
): void {
  const refusal = (status: string) => `HTTP/1.1 ${status}\r\n${headerLines(constantHeaders)}\r\n`;
  const connections = new Connections();
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    if (hasHost(request)) listener(request, response);
    else response.writeHead(400, [...constantHeaders, ...EMPTY_AND_CLOSE]).end();
  };
  const take = (request: IncomingMessage, response: ServerResponse) =>
    connections.take(request, response, () => serve(request, response));
  server.on('close', connections.watch(slowReaderMs));
  server.on('request', take);
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    markAwaitingContinue(request);
    take(request, response);
  });
  // Ignore an unknown Expect, as RFC 9110 section 10.1.1 allows.
  server.on('checkExpectation', take);
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

/** RFC 9112 section 3.2. Checked here and not by Node, whose refusal lacks the common headers. */
function hasHost({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.host !== undefined || httpVersion !== '1.1';
}

/** State of one connection. */
class Connection {
  unread = 0;
  servedInTurn = 0;
  /** Oldest first. */
  waiting: (() => void)[] = [];
  unsentBytes = 0;
  checksUnchanged = 0;
}

/**
 * Bounds the memory of a connection: one whose client has too many answers to read, or reads none for a while, is
 * closed. Node keeps pipelined answers in order, and reads no further requests while the answers fill its buffers.
 */
class Connections {
  readonly #connections = new Map<Socket, Connection>();
  /** Those with requests in this turn of the event loop. */
  #busy: Connection[] = [];

  /**
   * Counts a request until its answer is sent, and serves it, now or in a later turn. It is not served if its connection
   * is closed meanwhile, because nothing can be answered.
   */
  take({ socket }: IncomingMessage, response: ServerResponse, serve: () => void): void {
    if (socket.destroyed) return;
    const connection = this.#connections.get(socket) ?? this.#follow(socket);
    connection.unread += 1;
    response.on('close', () => (connection.unread -= 1));
    if (connection.unread > MAX_UNREAD) socket.destroy();
    if (socket.destroyed) return;
    if (connection.servedInTurn === 0) this.#enter(connection);
    if (connection.servedInTurn === SERVED_IN_TURN) {
      connection.waiting.push(() => socket.destroyed || serve());
      return;
    }
    connection.servedInTurn += 1;
    serve();
  }

  #enter(connection: Connection): void {
    if (this.#busy.push(connection) === 1) setImmediate(this.#nextTurn);
  }

  readonly #nextTurn = (): void => {
    const busy = this.#busy;
    this.#busy = [];
    for (const connection of busy) {
      const next = connection.waiting.splice(0, SERVED_IN_TURN);
      connection.servedInTurn = next.length;
      if (next.length === 0) continue;
      this.#enter(connection);
      for (const serve of next) serve();
    }
  };

  /**
   * Checks for stalled clients ten times per `stallMs`; returns a function that stops it. Data in kernel buffers is not
   * visible, so progress shows in steps of their size.
   */
  watch(stallMs: number): () => void {
    const timer = setInterval(() => {
      for (const [socket, connection] of this.#connections) if (hasStalled(socket, connection)) socket.destroy();
    }, stallMs / STALLED_AFTER_CHECKS).unref();
    return () => clearInterval(timer);
  }

  #follow(socket: Socket): Connection {
    const connection = new Connection();
    this.#connections.set(socket, connection);
    socket.once('close', () => this.#connections.delete(socket));
    return connection;
  }
}

function hasStalled(socket: Socket, connection: Connection): boolean {
  const unsent = unsentBytes(socket);
  const isUnchanged = unsent > 0 && unsent === connection.unsentBytes;
  connection.unsentBytes = unsent;
  connection.checksUnchanged = isUnchanged ? connection.checksUnchanged + 1 : 0;
  return connection.checksUnchanged >= STALLED_AFTER_CHECKS;
}

/** Bytes not yet taken by the kernel. A large answer is one write, whose progress only the handle shows. */
function unsentBytes(socket: Socket & { readonly _handle?: { readonly writeQueueSize?: number } | null }): number {
  return socket.writableLength === 0 ? 0 : socket.writableLength + (socket._handle?.writeQueueSize ?? 0);
}
