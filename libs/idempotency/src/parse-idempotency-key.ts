import { AppError } from '@sealgate/errors';

const KEY = /^[\x21-\x7e]{1,255}$/;
/** A string of RFC 9651, section 3.3.3, with nothing after it: neither parameters nor another member of a list. */
const QUOTED = /^"((?:[^"\\]|\\["\\])*)"$/;

/**
 * The key of a request, from all occurrences of the Idempotency-Key header: bare, or as a structured-field string, which
 * loses its quotes and the backslashes that escape. What begins with a quote is such a string or nothing: were a string
 * with parameters a key of its own, the same request spelled in two ways would be written twice. Undefined when the
 * header is absent.
 * @throws AppError INVALID_IDEMPOTENCY_KEY when it was sent twice, is empty, is longer than 255 characters, holds one that
 * is not visible ASCII, or begins with a quote and is not one quoted string.
 */
export function parseIdempotencyKey(headerValues: readonly string[]): string | undefined {
  const [value] = headerValues;
  if (value === undefined) return undefined;
  if (headerValues.length > 1) throw invalid('Idempotency-Key was sent more than once.');
  const key = value.startsWith('"') ? unquoted(value) : value;
  if (!KEY.test(key)) throw invalid('Idempotency-Key is 1 to 255 visible ASCII characters, bare or in quotes.');
  return key;
}

function unquoted(value: string): string {
  const text = QUOTED.exec(value)?.[1];
  if (text === undefined) throw invalid('A quoted Idempotency-Key is one string in quotes, without parameters.');
  return text.includes('\\') ? text.replaceAll(/\\(.)/g, '$1') : text;
}

function invalid(detail: string): AppError {
  return new AppError('INVALID_IDEMPOTENCY_KEY', detail, {
    faults: [{ in: 'header', pointer: '/Idempotency-Key', detail }],
  });
}
