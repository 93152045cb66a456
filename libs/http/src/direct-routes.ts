import type { IncomingMessage } from 'node:http';
import express, { type Express, type Request } from 'express';
import type { MountedRoute } from './mounted-route.ts';
import type { PathTable } from './path-table.ts';

/** What every request has whose route is known: as much of Express's request as a route that is not raw is served with. */
export interface RoutedRequest extends IncomingMessage {
  readonly method: string;
  readonly url: string;
  readonly path: string;
  readonly params: Readonly<Record<string, string | string[]>>;
}

export interface DirectRoute {
  readonly mounted: MountedRoute;
  readonly request: RoutedRequest;
}

const LITERAL_PATH = /^(?:\/[A-Za-z0-9._~-]+)+$/;
/** Literal segments or none, then one parameter. */
const ENDS_IN_PARAMETER = /^((?:\/[A-Za-z0-9._~-]+)*)\/:([A-Za-z]\w*)$/;
/** One segment in which nothing is to be decoded. */
const PLAIN_SEGMENT = /^\/[A-Za-z0-9._~-]+$/;

interface Parametric {
  readonly table: PathTable;
  readonly name: string;
}

/**
 * Finds the route of a plain request: literal segments alone, or such and one last segment that is a parameter. Express's own
 * search and its change of prototypes cost a tenth of all that a small request costs. It has every other request: what is
 * encoded, what has more parameters, a method that the path does not have, and what a raw handler answers by Express's means.
 */
export function directRoutes(
  tables: readonly PathTable[],
  app: Express,
): (request: IncomingMessage) => DirectRoute | undefined {
  const literals = new Map(tables.filter(({ path }) => LITERAL_PATH.test(path)).map((table) => [table.path, table]));
  const parametric = parametricTables(tables);
  return (request) => {
    const { url = '' } = request;
    const end = url.indexOf('?');
    const path = end < 0 ? url : url.slice(0, end);
    const literal = literals.get(path);
    if (literal !== undefined) return found(literal, request as RoutedRequest, { path, params: {}, app });
    const slash = path.lastIndexOf('/');
    const one = PLAIN_SEGMENT.test(path.slice(slash)) ? parametric.get(path.slice(0, slash)) : undefined;
    if (one === undefined) return undefined;
    return found(one.table, request as RoutedRequest, { path, params: { [one.name]: path.slice(slash + 1) }, app });
  };
}

/** By what stands before the parameter. Where two paths differ in its name alone, Express tries one after the other. */
function parametricTables(tables: readonly PathTable[]): Map<string, Parametric> {
  const byPrefix = new Map<string, Parametric>();
  const several = new Set<string>();
  for (const table of tables) {
    const [, prefix, name] = ENDS_IN_PARAMETER.exec(table.path) ?? [];
    if (prefix === undefined || name === undefined) continue;
    if (byPrefix.has(prefix)) several.add(prefix);
    byPrefix.set(prefix, { table, name });
  }
  for (const prefix of several) byPrefix.delete(prefix);
  return byPrefix;
}

/** Node has set method and URL of a request that its server parsed. Express's getter of the address wants the app. */
function found(
  table: PathTable,
  request: RoutedRequest,
  routed: Pick<RoutedRequest, 'path' | 'params'> & { readonly app: Express },
): DirectRoute | undefined {
  const mounted = table.methods.get(request.method);
  if (mounted === undefined || mounted.route.raw === true) return undefined;
  return { mounted, request: Object.assign(request, routed) };
}

const ipGetter = Object.getOwnPropertyDescriptor(express.request, 'ip')?.get;

/** The client's address as `trust proxy` has it. */
export const clientAddressOf = (request: RoutedRequest): string | undefined =>
  ipGetter?.call(request) as string | undefined;

/** The first of these content codings that the client accepts, in its order of preference. */
export const acceptedCodingOf = (request: RoutedRequest, codings: readonly string[]): string | false =>
  express.request.acceptsEncodings.call(request as Request, ...codings);
