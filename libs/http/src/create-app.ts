import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { withSpan, type Log, type RequestLog } from '@sealgate/observability';
import express, { type Express, type Request, type RequestHandler, type Response } from 'express';
import { AnswerWriter } from './answer.ts';
import type { AppServices } from './app-services.ts';
import { checkRoutes } from './check-routes.ts';
import type { CompileTime } from './check-shape.ts';
import { Compression } from './compression.ts';
import { directRoutes } from './direct-routes.ts';
import { Exchange } from './exchange.ts';
import type { Guard } from './guard.ts';
import type { Meters, MountedRoute } from './mounted-route.ts';
import { allowHeader, pathTables, type PathTable } from './path-table.ts';
import type { Route } from './route.ts';
import { securityHeaders } from './security-headers.ts';
import { serve, serveUnmatched } from './serve.ts';
import { Pipelines, SERVER_OPTIONS, SLOW_READER_MS } from './pipelines.ts';
import { expireBody, markAwaitingContinue } from './read-body.ts';

/** Express's `trust proxy`: the addresses, subnets or number of hops whose X-Forwarded-* headers are believed. */
export type TrustProxy = boolean | number | string | readonly string[];

export interface AppOptions<Caller> {
  readonly routes: readonly Route<Caller>[];
  /** Undefined only where every route is open. */
  readonly guard: Guard<Caller> | undefined;
  readonly log: Log & { readonly requests: RequestLog };
  /** `httpMetrics` of the process, shared by its listeners. */
  readonly metrics: Meters;
  /** Milliseconds since the epoch; durations are taken from it too, so fractions are welcome. */
  readonly now: () => number;
  readonly newRequestId: () => string;
  readonly trustProxy: TrustProxy;
  /** Refuse what a trusted proxy says came over plain HTTP. */
  readonly tlsTerminatedUpstream: boolean;
  /** Answer HEAD wherever there is a GET. */
  readonly head: boolean;
  /** Compress answers of more than 1,024 bytes for clients that ask for it by Accept-Encoding. */
  readonly compress?: boolean;
  /** A client that takes nothing of its answers for so long is cut off; default 10 s. */
  readonly slowReaderMs?: number;
  /** Default `at-start`, so that no test passes over a schema that does not compile; services compile at first use. */
  readonly compileSchemas?: CompileTime;
}

/** What the apps of all listeners of a process have in common. */
export type AppBase = Pick<
  AppOptions<never>,
  'log' | 'metrics' | 'now' | 'newRequestId' | 'trustProxy' | 'tlsTerminatedUpstream' | 'compileSchemas'
>;

/** An app: a request listener, and what the host of its server needs. */
export interface App {
  (request: IncomingMessage, response: ServerResponse): void;
  /** For `http.createServer`. */
  readonly serverOptions: typeof SERVER_OPTIONS;
  /**
   * Listens on the server, in place of passing the app to `createServer`: slow bodies get their 408 then, and clients that
   * do not read are bounded.
   */
  attachTo(server: Server): void;
  /** From now on every answer tells its connection to close. */
  drain(): void;
}

/**
 * Mounts the routes of a surface: one Express route for each path, no middleware, one function for every request. Plain
 * paths are looked up without Express's router.
 * @throws Error naming every fault of every route at once.
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
    // Express makes its own Request and Response of these, by changing their prototypes.
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
  // Compiling what is not well formed would only find the same faults again, in worse words.
  const tables = faults.length === 0 ? pathTables(options, faults) : [];
  if (faults.length === 0) return tables;
  throw new Error(`The routes cannot be mounted:\n${faults.map((fault) => `- ${fault}`).join('\n')}`);
}

function serveTraced(exchange: Exchange, mounted: MountedRoute): void {
  if (exchange.span === undefined) void serve(exchange, mounted);
  else void withSpan(exchange.span, () => serve(exchange, mounted));
}

/** Express tries the next path that fits where this one has no such method, so that Allow lists them all. */
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
    // A guard only ever gets back the callers it made itself, so which type they have is its own affair.
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

/** The status lines of what Node's parser refuses; everything else is a 400. */
const STATUS_LINES: ReadonlyMap<string, string> = new Map([
  ['HPE_HEADER_OVERFLOW', '431 Request Header Fields Too Large'],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', '413 Payload Too Large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', '408 Request Timeout'],
]);

export interface AttachOptions {
  /** Names and values of what every answer carries. */
  readonly constantHeaders: readonly string[];
  /** A client that takes nothing of its answers for so long is cut off. */
  readonly slowReaderMs: number;
}

/**
 * Lets an app answer what a plain request listener never sees: a body that takes too long gets its problem, 100 Continue
 * is sent only once a body is wanted, and the refusals of Node's parser carry the headers of every answer. It also bounds
 * what one connection may ask for without reading its answers.
 */
export function attach(server: Server, listener: RequestListener, options: AttachOptions): void {
  const { constantHeaders, slowReaderMs } = options;
  const refusal = (status: string) => `HTTP/1.1 ${status}\r\n${headerLines(constantHeaders)}\r\n`;
  const pipelines = new Pipelines(server, (request, response) => {
    if (hasHost(request)) listener(request, response);
    else response.writeHead(400, [...constantHeaders, ...LAST_AND_EMPTY]).end();
  });
  const take = (_request: IncomingMessage, response: ServerResponse) => pipelines.take(response);
  server.on('close', pipelines.watch(slowReaderMs));
  server.on('request', take);
  server.on('checkContinue', (request: IncomingMessage, response) => {
    markAwaitingContinue(request);
    pipelines.take(response);
  });
  // An Expect that Node does not know is refused by nobody: RFC 9110 section 10.1.1 lets a server ignore it.
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

const LAST_AND_EMPTY = ['Content-Length', '0', 'Connection', 'close'] as const;

function headerLines(constantHeaders: readonly string[]): string {
  const list = [...constantHeaders, ...LAST_AND_EMPTY];
  let lines = '';
  for (let i = 0; i + 1 < list.length; i += 2) lines += `${list[i]}: ${list[i + 1]}\r\n`;
  return lines;
}

/** RFC 9112 section 3.2. Node would refuse it as well, but for as many requests at once as somebody likes to send. */
function hasHost({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.host !== undefined || httpVersion !== '1.1';
}
