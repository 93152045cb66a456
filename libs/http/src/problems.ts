import { types } from 'node:util';
import { AppError, type ErrorCode, problemOf } from '@sealgate/errors';
import type { Exchange } from './exchange.ts';
import { pathNames } from './paths.ts';
import type { AnyRoute } from './route.ts';

/** The refusal for anything thrown, noted in the request's record. A bug is logged once, and its refusal reveals nothing. */
export function refusalOf(exchange: Exchange, thrown: unknown): AppError {
  let error: AppError;
  if (thrown instanceof AppError) {
    error = counted(exchange, thrown);
  } else {
    logBug(exchange, thrown);
    const detail = 'An internal error occurred. It is logged under the id of this request.';
    error = new AppError('INTERNAL', detail, { cause: thrown });
  }
  exchange.record.code = error.code;
  const reason = reasonOf(error);
  if (reason !== undefined) exchange.record.reason = reason;
  // A write whose outcome is unknown is found by its event.
  const { eventId } = error.members;
  if (typeof eventId === 'string') exchange.record.eventId = eventId;
  warnUndeclared(exchange, error);
  return error;
}

const MOST_CAUSES = 4;

/**
 * The errors behind an outage or a refused credential, for operators alone; of an outage without one, what its answer
 * says. Other refusals have none: their causes may tell what the client sent. The stack of a bug has a line of its own.
 */
function reasonOf({ code, status, cause, message }: AppError): string | undefined {
  if (code === 'INTERNAL' || (status < 500 && code !== 'UNAUTHENTICATED')) return undefined;
  const texts: string[] = [];
  for (let one: unknown = cause; types.isNativeError(one) && texts.length < MOST_CAUSES; one = one.cause)
    if (one.message !== '' && texts.at(-1) !== one.message) texts.push(one.message);
  if (texts.length === 0) return status < 500 ? undefined : message;
  return texts.join(': ');
}

/** Lets the guard count refusals that were not charged. */
function counted(exchange: Exchange, error: AppError): AppError {
  const isCounted = exchange.isKnownCaller && !exchange.wasCharged && error.status < 500;
  return isCounted ? (exchange.guard.refused?.(exchange.caller, error) ?? error) : error;
}

function logBug(exchange: Exchange, thrown: unknown): void {
  const { requestId, record, services } = exchange;
  const stack = types.isNativeError(thrown) ? (thrown.stack ?? thrown.message) : 'the thrown value is not an Error';
  services.log.error('request_failed', { requestId, method: record.method, route: record.route, stack });
}

/** Warns once about a code that the route does not declare. The answer is sent unchanged. */
function warnUndeclared(exchange: Exchange, { code }: AppError): void {
  const { mounted, services, record } = exchange;
  if (mounted === undefined || code === 'METHOD_NOT_ALLOWED' || mounted.errorCodes.has(code)) return;
  const key = `${record.route} ${code}`;
  if (services.undeclaredCodes.has(key)) return;
  services.undeclaredCodes.add(key);
  services.log.warn('undeclared_error_code', { method: record.method, route: record.route, code });
}

/** The problem document of a refusal, decorated by the path. */
export function renderProblem(exchange: Exchange, error: AppError): string {
  const made = problemOf(error, exchange.requestId);
  const problem = exchange.span === undefined ? made : { ...made, traceId: exchange.span.traceId };
  const decoration = exchange.mounted?.problem;
  if (decoration === undefined) return JSON.stringify(problem);
  try {
    return JSON.stringify(decoration.decorate(problem, error));
  } catch (bug) {
    logBug(exchange, bug);
    return JSON.stringify(problem);
  }
}

/** The headers of a refusal. */
export function refusalHeaders(exchange: Exchange, error: AppError): Readonly<Record<string, string>> {
  const headers: Record<string, string> = { ...error.headers };
  if (error.retryAfterSeconds !== undefined) headers['Retry-After'] = String(error.retryAfterSeconds);
  // A route that authenticates its callers itself sets its own challenge.
  if (error.code === 'UNAUTHENTICATED' && headers['WWW-Authenticate'] === undefined) {
    const { guard } = exchange.services;
    const metadata = guard?.resourceMetadata?.(exchange.path);
    headers['WWW-Authenticate'] =
      `${guard?.challenge ?? 'Bearer'} realm="sealgate"` +
      (metadata === undefined ? '' : `, resource_metadata="${metadata}"`);
  }
  return headers;
}

const OF_ANY_ROUTE: readonly ErrorCode[] = ['INVALID_HEADER', 'TLS_REQUIRED', 'INTERNAL'];
const OF_CALLERS: readonly ErrorCode[] = ['UNAUTHENTICATED', 'RATE_LIMITED', 'UNAVAILABLE'];
/** Answered only where INVALID_JSON is possible too. */
const OF_JSON: readonly ErrorCode[] = ['JSON_TOO_DEEP', 'DUPLICATE_MEMBER', 'UNSAFE_NUMBER'];
const OF_BODIES: readonly ErrorCode[] = [
  'INVALID_JSON',
  ...OF_JSON,
  'REQUEST_TIMEOUT',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
];
const OF_IDEMPOTENCY: readonly ErrorCode[] = [
  'INVALID_IDEMPOTENCY_KEY',
  'IDEMPOTENCY_IN_PROGRESS',
  'IDEMPOTENCY_KEY_REUSED',
];

/** Whether a route reads the header Idempotency-Key. */
export const readsIdempotencyKey = (idempotency: AnyRoute['idempotency']): boolean =>
  idempotency === 'in-transaction' || idempotency === 'in-ledger';

/** Every code a route may answer: those implied by its fields, and those it declares. */
export function errorCodesOf(route: AnyRoute): ReadonlySet<ErrorCode> {
  const { permit, body, idempotency } = route;
  return new Set<ErrorCode>([
    ...OF_ANY_ROUTE,
    ...(permit === 'open' ? [] : OF_CALLERS),
    ...when(permit !== 'open' && permit !== 'authenticated', 'FORBIDDEN'),
    ...(body === undefined ? [] : OF_BODIES),
    ...when(typeof body === 'object', 'INVALID_REQUEST'),
    ...queryCodes(route),
    ...when(pathNames(route.path).length > 0, 'NOT_FOUND'),
    ...(readsIdempotencyKey(idempotency) ? OF_IDEMPOTENCY : []),
    ...route.errors,
  ]);
}

/** The codes that name the answer of one status, without those implied by others. */
export function codesName(codes: readonly ErrorCode[]): readonly ErrorCode[] {
  const naming = codes.filter((code) => !OF_ANY_ROUTE.includes(code) && !OF_JSON.includes(code));
  return naming.length > 0 ? naming : codes;
}

function queryCodes({ query }: AnyRoute): ErrorCode[] {
  if (query === 'ignored') return [];
  const names = Object.keys(query?.properties ?? {});
  return [
    'UNKNOWN_PARAMETER',
    ...when(names.includes('limit'), 'INVALID_LIMIT'),
    ...when(names.includes('cursor'), 'INVALID_CURSOR'),
    ...when(
      names.some((name) => name !== 'limit' && name !== 'cursor'),
      'INVALID_REQUEST',
    ),
  ];
}

function when(condition: boolean, code: ErrorCode): ErrorCode[] {
  return condition ? [code] : [];
}
