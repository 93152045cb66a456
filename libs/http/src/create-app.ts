import assert from 'node:assert/strict';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { type Log, type RequestLog, withSpan } from '@sealgate/observability';
import express, { type Express, type Request, type RequestHandler, type Response } from 'express';
import helmet from 'helmet';
import { acceptConnections, SERVER_OPTIONS, SLOW_READER_MS } from './accept-connections.ts';
import type { BodyTurns } from './body-turns.ts';
import { areNames, type CompileTime } from './check-shape.ts';
import { type LookPlaces, lookPlaces } from './caller-places.ts';
import { Deciding } from './deciding.ts';
import { Compression } from './content-coding.ts';
import { type AppServices, Exchange, type RoutedRequest } from './exchange.ts';
import type { Guard } from './guard.ts';
import { allowHeader, checkRoutes, type PathTable, pathTables } from './mount.ts';
import type { Meters, MountedRoute } from './mounted-route.ts';
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
  /** Unique ids, here of requests: `req_` and a part that sorts by time. */
  readonly newId: (prefix: string) => string;
  readonly trustProxy: TrustProxy;
  /** Refuse requests that a trusted proxy received over plain HTTP. */
  readonly tlsTerminatedUpstream: boolean;
  /** Answer HEAD on every GET route. */
  readonly head: boolean;
  /** Compress answers above 1,024 bytes for clients that accept it. */
  readonly compress?: boolean;
  /** A JSON body above 16,384 bytes waits for its turn to be parsed and handled. Absent: it waits for nothing. */
  readonly bodyTurns?: BodyTurns;
  /** Of all listeners of a process. Default: the app's own. */
  readonly places?: LookPlaces;
  /** Of all listeners of a process: told of each request that does not look. Default: the app's own. */
  readonly deciding?: Deciding;
  /** Close a connection whose client reads nothing of its answers for this long; default 10 s. */
  readonly slowReaderMs?: number;
  /** Default `at-start`, so that tests fail on a schema that does not compile; services use `at-first-use`. */
  readonly compileSchemas?: CompileTime;
}

/** Options that the apps of all listeners of a process share. */
export type AppBase = Pick<
  AppOptions<never>,
  | 'log'
  | 'metrics'
  | 'now'
  | 'newId'
  | 'trustProxy'
  | 'tlsTerminatedUpstream'
  | 'compileSchemas'
  | 'places'
  | 'deciding'
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
  readonly drain: () => void;
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
  const services = servicesOf(options, server);
  const missed = new WeakMap<object, PathTable[]>();
  for (const table of tables) server.route(table.path).all(dispatcher(table, services, missed));
  const { slowReaderMs = SLOW_READER_MS } = options;
  const { constantHeaders } = services;
  const unmatched = options.metrics.route('other', 'none');
  const direct = directRoutes(tables, server);
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    const mounted = direct(request);
    if (mounted !== undefined) {
      serveTraced(new Exchange(request as RoutedRequest, response as Response, services, mounted), mounted);
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
    attachTo: (httpServer: Server) => acceptConnections(httpServer, listener, { constantHeaders, slowReaderMs }),
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
  if (options.guard !== undefined && options.guard.shareOf === undefined) {
    const looking = options.routes.filter(({ looks, permit }) => looks !== undefined && permit !== 'open');
    faults.push(...looking.map(({ operationId }) => `${operationId}: a route that looks needs shareOf of the guard`));
  }
  // Compiling malformed routes would only report the same faults again, less clearly.
  const tables = faults.length === 0 ? pathTables(options, faults) : [];
  if (faults.length === 0) return tables;
  throw new Error(`The routes cannot be mounted:\n${faults.map((fault) => `- ${fault}`).join('\n')}`);
}

const LITERAL_PATH = /^(?:\/[A-Za-z0-9._~-]+)+$/;
/** Literal segments (or none), then one parameter. */
const ENDS_IN_PARAMETER = /^((?:\/[A-Za-z0-9._~-]+)*)\/:([A-Za-z]\w*)$/;
/** One segment without percent-encoding. */
const PLAIN_SEGMENT = /^\/[A-Za-z0-9._~-]+$/;

interface Parametric {
  readonly table: PathTable;
  readonly name: string;
}

/**
 * Finds the route of a plain request: literal segments, optionally followed by one parameter as the last segment. This
 * avoids Express's router and its change of prototypes, a tenth of the cost of a small request. Returns undefined for
 * anything else, which Express then handles: percent-encoding, more parameters, an unknown method, raw routes.
 */
function directRoutes(
  tables: readonly PathTable[],
  app: Express,
): (request: IncomingMessage) => MountedRoute | undefined {
  const literals = new Map(tables.filter(({ path }) => LITERAL_PATH.test(path)).map((table) => [table.path, table]));
  const parametric = parametricTables(tables);
  return (request) => {
    const { url = '' } = request;
    const end = url.indexOf('?');
    const path = end < 0 ? url : url.slice(0, end);
    const literal = literals.get(path);
    if (literal !== undefined) return found(literal, request, { path, params: {}, app });
    const slash = path.lastIndexOf('/');
    const match = PLAIN_SEGMENT.test(path.slice(slash)) ? parametric.get(path.slice(0, slash)) : undefined;
    if (match === undefined) return undefined;
    return found(match.table, request, { path, params: { [match.name]: path.slice(slash + 1) }, app });
  };
}

/** Tables by the prefix before the parameter. Paths that differ only in the parameter's name are left to Express. */
function parametricTables(tables: readonly PathTable[]): Map<string, Parametric> {
  const byPrefix = new Map<string, Parametric>();
  const ambiguous = new Set<string>();
  for (const table of tables) {
    const [, prefix, name] = ENDS_IN_PARAMETER.exec(table.path) ?? [];
    if (prefix === undefined || name === undefined) continue;
    if (byPrefix.has(prefix)) ambiguous.add(prefix);
    byPrefix.set(prefix, { table, name });
  }
  for (const prefix of ambiguous) byPrefix.delete(prefix);
  return byPrefix;
}

/**
 * Node sets method and URL on a request parsed by its server. Express's getter for the client address needs the app.
 */
function found(
  table: PathTable,
  request: IncomingMessage,
  routed: Pick<RoutedRequest, 'path' | 'params'> & { readonly app: Express },
): MountedRoute | undefined {
  const mounted = table.methods.get(request.method ?? '');
  if (mounted === undefined || mounted.route.raw === true) return undefined;
  Object.assign(request, routed);
  return mounted;
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
    // Nothing is at a path with dot segments, so it has no methods to list either.
    const tables = missed.get(request);
    if (!areNames(request.params)) next();
    else if (tables === undefined) missed.set(request, [table]);
    else tables.push(table);
    next();
  };
}

function servicesOf<Caller>(options: AppOptions<Caller>, server: Express): AppServices {
  const { guard, log, now, newId } = options;
  // Express compiles `trust proxy` into this function.
  const trusts: (address: string, hop: number) => boolean = server.get('trust proxy fn');
  return {
    // A guard receives only callers that it returned itself, so their type may be erased.
    guard,
    log,
    requests: log.requests,
    constantHeaders: securityHeaders(),
    compression: options.compress === true ? new Compression() : undefined,
    bodyTurns: options.bodyTurns,
    places: options.places ?? lookPlaces(),
    deciding: options.deciding ?? new Deciding(),
    now,
    newId,
    refusesPlainHttpFrom: options.tlsTerminatedUpstream ? (address) => trusts(address, 0) : undefined,
    undeclaredCodes: new Set(),
    draining: false,
  };
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
