import type { IncomingMessage } from 'node:http';
import { AppError } from '@sealgate/errors';
import express, { type Express, type Request } from 'express';
import type { MountedRoute, PathTable } from './mount.ts';

const LITERAL = /^[A-Za-z0-9._~-]+$/;
const PARAMETER = /^:[A-Za-z][A-Za-z0-9_]*$/;
const REST = /^\*[A-Za-z][A-Za-z0-9_]*$/;

/** The fault of a route's path, or undefined. */
export function pathFault(path: string): string | undefined {
  if (path === '/') return undefined;
  const [first, ...segments] = path.split('/');
  if (first !== '' || segments.length === 0) return 'the path must begin with a slash';
  const names = pathNames(path);
  if (new Set(names).size !== names.length) return 'the path names a parameter twice';
  const rest = segments.findIndex((segment) => REST.test(segment));
  if (rest >= 0 && rest !== segments.length - 1) return 'only the last segment of a path may match the rest';
  const wrong = segments.find((segment) => !isSegment(segment));
  return wrong === undefined ? undefined : `the path has a segment that is not allowed: "${wrong}"`;
}

function isSegment(segment: string): boolean {
  if (segment === '.' || segment === '..') return false;
  return LITERAL.test(segment) || PARAMETER.test(segment) || REST.test(segment);
}

/** The names of a path's parameters, in order. */
export function pathNames(path: string): string[] {
  return path
    .split('/')
    .filter((segment) => PARAMETER.test(segment) || REST.test(segment))
    .map((segment) => segment.slice(1));
}

/** The path as in OpenAPI, logs and metrics: `/v1/cases/{caseId}`. */
export function pathTemplate(path: string): string {
  return path
    .split('/')
    .map((segment) => (PARAMETER.test(segment) || REST.test(segment) ? `{${segment.slice(1)}}` : segment))
    .join('/');
}

/** Sorts literal segments before parameters, and parameters before the rest. */
export function comparePaths(left: string, right: string): number {
  const lefts = left.split('/');
  const rights = right.split('/');
  for (let i = 0; i < Math.min(lefts.length, rights.length); i += 1) {
    const difference = rankOf(lefts[i] ?? '') - rankOf(rights[i] ?? '');
    if (difference !== 0) return difference;
  }
  return lefts.length - rights.length;
}

function rankOf(segment: string): number {
  if (REST.test(segment)) return 2;
  return PARAMETER.test(segment) ? 1 : 0;
}

type PathValues = Readonly<Record<string, string>>;

/**
 * The decoded parameters of a request. An encoded dot segment, or an encoded slash in the rest of a path, is a 404.
 * With `withoutRest` the rest is left out; the handler checks it.
 */
export function pathValuesOf(
  params: Readonly<Record<string, string | string[]>>,
  { withoutRest = false }: { readonly withoutRest?: boolean | undefined } = {},
): PathValues {
  const values: Record<string, string> = {};
  for (const name in params) {
    const value = params[name] ?? '';
    if (typeof value === 'string') values[name] = checkedSegment(value);
    else if (!withoutRest) values[name] = value.map(checkedRestSegment).join('/');
  }
  return values;
}

/** The 404 of everything that does not exist. */
export function notFound(): AppError {
  return new AppError('NOT_FOUND', 'There is nothing at this path.');
}

function checkedSegment(segment: string): string {
  if (segment === '.' || segment === '..' || segment === '') throw notFound();
  return segment;
}

function checkedRestSegment(segment: string): string {
  if (segment.includes('/')) throw notFound();
  return checkedSegment(segment);
}

/** A request whose route is known: the part of Express's request that routes other than raw ones need. */
export interface RoutedRequest extends IncomingMessage {
  readonly method: string;
  readonly url: string;
  readonly path: string;
  readonly params: Readonly<Record<string, string | string[]>>;
}

interface DirectRoute {
  readonly mounted: MountedRoute;
  readonly request: RoutedRequest;
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
    const match = PLAIN_SEGMENT.test(path.slice(slash)) ? parametric.get(path.slice(0, slash)) : undefined;
    if (match === undefined) return undefined;
    return found(match.table, request as RoutedRequest, { path, params: { [match.name]: path.slice(slash + 1) }, app });
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
  request: RoutedRequest,
  routed: Pick<RoutedRequest, 'path' | 'params'> & { readonly app: Express },
): DirectRoute | undefined {
  const mounted = table.methods.get(request.method);
  if (mounted === undefined || mounted.route.raw === true) return undefined;
  return { mounted, request: Object.assign(request, routed) };
}

const ipGetter = Object.getOwnPropertyDescriptor(express.request, 'ip')?.get;

/** The client address according to `trust proxy`. */
export const clientAddressOf = (request: RoutedRequest): string | undefined =>
  ipGetter?.call(request) as string | undefined;

/** The client's preferred content coding of these. */
export const acceptedCodingOf = (request: RoutedRequest, codings: readonly string[]): string | false =>
  express.request.acceptsEncodings.call(request as Request, ...codings);
