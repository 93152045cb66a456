import { AppError, type ErrorCode, type Fault } from '@sealgate/errors';
import type { Exchange } from './exchange.ts';
import type { MountedRoute } from './mounted-route.ts';
import { notFound } from './path-pattern.ts';
import { parseQuery } from './query-string.ts';

/**
 * Query and body against their schemas, all faults at once; then the path, whose misfits are rows that cannot exist.
 * @throws AppError UNKNOWN_PARAMETER, INVALID_LIMIT, INVALID_CURSOR, INVALID_REQUEST (in this precedence), NOT_FOUND.
 */
export function checkShape(exchange: Exchange, mounted: MountedRoute): void {
  const { knownParameters, checkQuery, checkBody, checkParams } = mounted;
  let faults: readonly Fault[] = [];
  if (knownParameters !== undefined) {
    const { url } = exchange.request;
    const query = parseQuery(url, knownParameters);
    if (query.faults.length > 0) throw new AppError('UNKNOWN_PARAMETER', 'The query is not as documented.', query);
    exchange.query = query.values;
    if (checkQuery !== undefined) faults = checkQuery(query.values, url.length);
  }
  if (checkBody !== undefined) faults = [...faults, ...checkBody(exchange.body, exchange.rawBody.length)];
  if (faults.length > 0) {
    throw besideCursor(exchange, faults) ?? shapeError(faults, mounted.route.pagedBy === 'body' ? 'body' : 'query');
  }
  if (checkParams !== undefined && checkParams(exchange.params, 0).length > 0) throw notFound();
}

/** A cursor is bound to filters that were valid: beside one that cannot be, it is of no list, and that is told first. */
function besideCursor({ query }: Exchange, faults: readonly Fault[]): AppError | undefined {
  const isPaged = typeof query === 'object' && query !== null && 'cursor' in query;
  const isOfFilters = faults.every((fault) => fault.in === 'query' && fault.pointer !== '/limit');
  if (!isPaged || !isOfFilters) return undefined;
  const fault = { in: 'query', pointer: '/cursor', detail: 'is of no list with these filters' } as const;
  return parameterError('INVALID_CURSOR', 'cursor', [fault]);
}

function shapeError(faults: readonly Fault[], pagedBy: 'query' | 'body'): AppError {
  const of = (name: string) => faults.filter((fault) => fault.in === pagedBy && fault.pointer === `/${name}`);
  return (
    parameterError('INVALID_LIMIT', 'limit', of('limit')) ??
    parameterError('INVALID_CURSOR', 'cursor', of('cursor')) ??
    new AppError('INVALID_REQUEST', 'The request is not as documented; errors lists every fault.', { faults })
  );
}

function parameterError(code: ErrorCode, name: string, faults: readonly Fault[]): AppError | undefined {
  return faults.length === 0 ? undefined : new AppError(code, `The ${name} is not valid.`, { faults });
}
