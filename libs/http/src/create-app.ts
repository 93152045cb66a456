import assert from 'node:assert/strict';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Log, type RequestLog, withSpan } from '@sealgate/observability';
import express, { type Express, type Request, type RequestHandler, type Response } from 'express';
import helmet from 'helmet';
import { AnswerWriter } from './answer.ts';
import type { CompileTime } from './check-shape.ts';
import { Compression } from './content-coding.ts';
import { type AppServices, Exchange } from './exchange.ts';
import type { Guard } from './guard.ts';
import { allowHeader, checkRoutes, type Meters, type MountedRoute, type PathTable, pathTables } from './mount.ts';
import { directRoutes } from './paths.ts';
import { Pipelines, SERVER_OPTIONS, SLOW_READER_MS } from './pipelines.ts';
import { expireBody, markAwaitingContinue } from './read-body.ts';
import type { Route } from './route.ts';
import { serve, serveUnmatched } from './serve.ts';

/** Express's `trust proxy`: addresses, subnets or number of hops whose X-Forwarded-* headers are trusted. */
type TrustProxy = boolean | number | string | readonly string[];

export interface AppOptions<Caller> {
  readonly routes: readonly Route<Caller>[];
  /** May be undefined only if every route is open. */
  readonly guard: Guard<Caller> | undefined;
  readonly log: Log & { readonly requests: RequestLog };
  /** `httpMetrics` of the process; its listeners share it. */
  readonly metrics: Meters;
  /** Milliseconds since the epoch, with fractions; also used to measure durations. */
  readonly now: () => number;
  readonly newRequestId: () => string;
  readonly trustProxy: TrustProxy;
  /** Refuse requests that a trusted proxy received over plain HTTP. */
  readonly tlsTerminatedUpstream: boolean;
  /** Answer HEAD on every GET route. */
  readonly head: boolean;
  /** Compress answers above 1,024 bytes for clients that accept it. */
  readonly compress?: boolean;
  /** Close a connection whose client reads nothing of its answers for this long; default 10 s. */
  readonly slowReaderMs?: number;
  /** Default `at-start`, so that tests fail on a schema that does not compile; services use `at-first-use`. */
  readonly compileSchemas?: CompileTime;
}

/** Options that the apps of all listeners of a process share. */
export type AppBase = Pick<
  AppOptions<never>,
  'log' | 'metrics' | 'now' | 'newRequestId' | 'trustProxy' | 'tlsTerminatedUpstream' | 'compileSchemas'
>;

/** An app: a request listener, and what the host of its server needs. */
export interface App {
  (request: IncomingMessage, response: ServerResponse): void;
  /** Options for `http.createServer`. */
  readonly serverOptions: typeof SERVER_OPTIONS;
  /**
   * Attaches the app to the server; use it in place of passing the app to `createServer`. It adds the 408 for slow
   * bodies and the limits on clients that do not read.
   */
  attachTo(server: Server): void;
  /** From now on every answer closes its connection. */
  drain(): void;
}

/**
 * Mounts the routes of a surface: one Express route per path, no middleware, one function for every request. Plain
 * paths bypass the Express router.
 * @throws Error that lists every fault of every route.
 */
export function createApp<Caller>(options: AppOptions<Caller>): App {
  const tables = checkedTables(options);
  const server = express();
  server.disable('x-powered-by').enable('case sensitive routing').enable('strict routing');
  server.set('trust proxy', options.trustProxy);
  const constantHeaders = securityHeaders();
  const services = servicesOf(options, server, constantHeaders);
  const missed = new WeakMap<object, PathTable[]>();
  for (const table of tables) server.route(table.path).all(dispatcher(table, services, missed));
  const { slowReaderMs = SLOW_READER_MS } = options;
  const unmatched = options.metrics.route('other', 'none');
  const direct = directRoutes(tables, server);
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    const found = direct(request);
    if (found !== undefined) {
      serveTraced(new Exchange(found.request, response as Response, services, found.mounted), found.mounted);
      return;
    }
    // Express turns these into its own Request and Response by replacing their prototypes.
    const [from, to] = [request as Request, response as Response];
    server(from, to, (error?: unknown) => {
      const candidates = missed.get(from);
      const exchange = new Exchange(from, to, services, candidates?.[0]?.otherMethods);
      void serveUnmatched(exchange, candidates && allowHeader(candidates), error).then(() => {
        if (candidates === undefined) unmatched.observe(exchange.record.status, exchange.record.durationMs);
      });
    });
  };
  return Object.assign(listener, {
    serverOptions: SERVER_OPTIONS,
    attachTo: (httpServer: Server) => attach(httpServer, listener, { constantHeaders, slowReaderMs }),
    drain: () => {
      services.draining = true;
    },
  });
}

function checkedTables<Caller>(options: AppOptions<Caller>): PathTable[] {
  const faults = checkRoutes(options.routes);
  if (options.guard === undefined) {
    const closed = options.routes.filter(({ permit }) => permit !== 'open');
    faults.push(...closed.map(({ operationId }) => `${operationId}: a route that is not open needs a guard`));
  }
  // Compiling malformed routes would only report the same faults again, less clearly.
  const tables = faults.length === 0 ? pathTables(options, faults) : [];
  if (faults.length === 0) return tables;
  throw new Error(`The routes cannot be mounted:\n${faults.map((fault) => `- ${fault}`).join('\n')}`);
}

function serveTraced(exchange: Exchange, mounted: MountedRoute): void {
  if (exchange.span === undefined) void serve(exchange, mounted);
  else void withSpan(exchange.span, () => serve(exchange, mounted));
}

/** If the path lacks the method, Express tries the next matching path, so that Allow lists all methods. */
function dispatcher(table: PathTable, services: AppServices, missed: WeakMap<object, PathTable[]>): RequestHandler {
  return (request, response, next) => {
    const mounted = table.methods.get(request.method);
    if (mounted !== undefined) {
      serveTraced(new Exchange(request, response, services, mounted), mounted);
      return;
    }
    const tables = missed.get(request);
    if (tables === undefined) missed.set(request, [table]);
    else tables.push(table);
    next();
  };
}

function servicesOf<Caller>(
  options: AppOptions<Caller>,
  server: Express,
  constantHeaders: readonly string[],
): AppServices {
  const { guard, log, now, newRequestId } = options;
  // Express compiles `trust proxy` into this function.
  const trusts: (address: string, hop: number) => boolean = server.get('trust proxy fn');
  return {
    // A guard receives only callers that it returned itself, so their type may be erased.
    guard,
    log,
    requests: log.requests,
    writer: new AnswerWriter(constantHeaders),
    compression: options.compress === true ? new Compression() : undefined,
    now,
    newRequestId,
    refusesPlainHttpFrom: options.tlsTerminatedUpstream ? (address) => trusts(address, 0) : undefined,
    undeclaredCodes: new Set(),
    draining: false,
  };
}

/** Status lines for errors of Node's HTTP parser; all others are a 400. */
const STATUS_LINES: ReadonlyMap<string, string> = new Map([
  ['HPE_HEADER_OVERFLOW', '431 Request Header Fields Too Large'],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', '413 Payload Too Large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', '408 Request Timeout'],
]);

interface AttachOptions {
  /** Headers of every answer, as a flat list of names and values. */
  readonly constantHeaders: readonly string[];
  /** Close a connection whose client reads nothing of its answers for this long. */
  readonly slowReaderMs: number;
}

/**
 * Handles what a plain request listener never sees: 408 for slow bodies, 100 Continue only once a body is wanted, and
 * refusals of Node's parser with the common headers. It also bounds pipelined requests of a connection.
 */
function attach(server: Server, listener: RequestListener, options: AttachOptions): void {
  const { constantHeaders, slowReaderMs } = options;
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

/**
 * Helmet's default headers as a flat list of names and values, for `writeHead`.
 *
 * Helmet runs once, against a response that records its headers: they are the same for every request, and running it
 * per request costs more than all the rest of this library.
 */
function securityHeaders(): readonly string[] {
  const recorded: string[] = [];
  const response = {
    setHeader(name: string, value: string) {
      recorded.push(name, value);
    },
    removeHeader: () => undefined,
  };
  let finished = false;
  // Helmet's defaults ignore the request and only set and remove headers of the response.
  helmet()({} as IncomingMessage, response as unknown as ServerResponse, (error?: unknown) => {
    assert(error === undefined, 'Helmet must accept its own defaults.');
    finished = true;
  });
  assert(finished, 'Helmet must finish at once.');
  assert(recorded.length > 0, 'Helmet must set headers.');
  return recorded;
}
