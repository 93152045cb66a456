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
const ONE_PARAMETER = /^\/:([A-Za-z]\w*)$/;
/** One segment in which nothing is to be decoded. */
const PLAIN_SEGMENT = /^\/[A-Za-z0-9._~-]+$/;

/**
 * Finds the route of a plain request: literal segments alone, or one segment that is a parameter. Express's own search and
 * its change of prototypes cost a tenth of all that a small request costs. It has every other request: what is encoded,
 * what has more parameters, a method that the path does not have, and what a raw handler answers by Express's means.
 */
export function directRoutes(
  tables: readonly PathTable[],
  app: Express,
): (request: IncomingMessage) => DirectRoute | undefined {
  const literals = new Map(tables.filter(({ path }) => LITERAL_PATH.test(path)).map((table) => [table.path, table]));
  const single = tables.find(({ path }) => ONE_PARAMETER.test(path));
  const name = ONE_PARAMETER.exec(single?.path ?? '')?.[1] ?? '';
  return (request) => {
    const { url = '', method = '' } = request;
    const end = url.indexOf('?');
    const path = end < 0 ? url : url.slice(0, end);
    const literal = literals.get(path);
    const table = literal ?? (PLAIN_SEGMENT.test(path) ? single : undefined);
    const mounted = table?.methods.get(method);
    if (mounted === undefined || mounted.route.raw === true) return undefined;
    const params = literal === undefined ? { [name]: path.slice(1) } : {};
    return { mounted, request: Object.assign(request, { method, url, path, params, app }) };
  };
}

const ipGetter = Object.getOwnPropertyDescriptor(express.request, 'ip')?.get;

/** The client's address as `trust proxy` has it. */
export const clientAddressOf = (request: RoutedRequest): string | undefined =>
  ipGetter?.call(request) as string | undefined;

/** The first of these content codings that the client accepts, in its order of preference. */
export const acceptedCodingOf = (request: RoutedRequest, codings: readonly string[]): string | false =>
  express.request.acceptsEncodings.call(request as Request, ...codings);
