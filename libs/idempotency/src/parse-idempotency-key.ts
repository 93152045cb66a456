import { AppError } from '@sealgate/errors';

const KEY = /^[\x21-\x7e]{1,255}$/;
const QUOTED = /^"(.*)"$/s;

/**
 * The key of a request, from all occurrences of the Idempotency-Key header: bare, or as a quoted string, which loses its
 * quotes and nothing else. Undefined when the header is absent.
 * @throws AppError INVALID_IDEMPOTENCY_KEY when it was sent twice, is empty, is longer than 255 characters or holds one
 * that is not visible ASCII.
 */
export function parseIdempotencyKey(headerValues: readonly string[]): string | undefined {
  const [value] = headerValues;
  if (value === undefined) return undefined;
  if (headerValues.length > 1) throw invalid('Idempotency-Key was sent more than once.');
  const key = QUOTED.exec(value)?.[1] ?? value;
  if (!KEY.test(key)) throw invalid('Idempotency-Key is 1 to 255 visible ASCII characters, bare or in quotes.');
  return key;
}

function invalid(detail: string): AppError {
  return new AppError('INVALID_IDEMPOTENCY_KEY', detail, {
    faults: [{ in: 'header', pointer: '/Idempotency-Key', detail }],
  });
}
