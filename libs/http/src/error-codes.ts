import type { ErrorCode } from '@sealgate/errors';
import { pathNames } from './path-pattern.ts';
import type { AnyRoute } from './route.ts';

const OF_ANY_ROUTE: readonly ErrorCode[] = ['INVALID_HEADER', 'TLS_REQUIRED', 'INTERNAL'];
const OF_CALLERS: readonly ErrorCode[] = ['UNAUTHENTICATED', 'RATE_LIMITED', 'UNAVAILABLE'];
/** They are never answered where INVALID_JSON is not. */
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

/** Every code a route may answer: those that its fields imply, and those it declares. */
export function errorCodesOf(route: AnyRoute): ReadonlySet<ErrorCode> {
  const { permit, body, idempotency } = route;
  return new Set<ErrorCode>([
    ...OF_ANY_ROUTE,
    ...(permit === 'open' ? [] : OF_CALLERS),
    ...when(permit !== 'open' && permit !== 'authenticated', 'FORBIDDEN'),
    // An unknown Content-Encoding is a 415 too, whatever is said of the media type.
    ...(body === undefined ? [] : OF_BODIES),
    ...(route.wrongMediaType === undefined ? [] : [route.wrongMediaType]),
    ...when(route.bodyTurns !== undefined, 'OVERLOADED'),
    ...when(typeof body === 'object', 'INVALID_REQUEST'),
    ...queryCodes(route),
    ...when(pathNames(route.path).length > 0, 'NOT_FOUND'),
    ...(idempotency === 'none' ? [] : OF_IDEMPOTENCY),
    ...route.errors,
  ]);
}

/** Those of the codes of one status that tell its answers apart: without the ones that others imply. */
export function codesName(codes: readonly ErrorCode[]): readonly ErrorCode[] {
  const telling = codes.filter((code) => !OF_ANY_ROUTE.includes(code) && !OF_JSON.includes(code));
  return telling.length > 0 ? telling : codes;
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
