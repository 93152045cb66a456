import { AppError } from '@sealgate/errors';
import { type JsonValue, parseStrict } from '@sealgate/json';
import { UsageError } from './errors.ts';
import { readNamed } from './read-named.ts';

export type JsonObject = { readonly [member: string]: JsonValue };

export function isObject(value: JsonValue | undefined): value is { [member: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value if it is a string, else the empty string. */
export function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

/** The parsed value; undefined if it is not JSON. */
export function parseJson(text: string): JsonValue | undefined {
  try {
    const value: JsonValue = JSON.parse(text);
    return value;
  } catch {
    return undefined; // The caller reports what is expected.
  }
}

/**
 * The strict JSON in a named file, relative to the working directory. Anything a lax parser drops or rounds would never
 * reach the API for rejection. @throws UsageError.
 */
export function readJsonFile(path: string): JsonValue {
  const bytes = readNamed(path);
  try {
    return parseStrict(bytes);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const pointer = error.faults[0]?.pointer ?? '';
    const place = pointer === '' ? '' : ` at ${pointer}`;
    throw new UsageError(`${path} is not JSON that the API accepts: ${error.message} (${error.code}${place})`, {
      cause: error,
    });
  }
}
