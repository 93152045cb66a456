import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { AppError } from '@sealgate/errors';
import { parseStrict, type JsonValue } from '@sealgate/json';
import { errorCode } from './error-code.ts';
import { UsageError } from './usage-error.ts';

/**
 * The strict JSON in a file that was named, seen from where the command runs. What a lax parser drops or rounds, the API
 * would never see, and could not refuse. Throws UsageError.
 */
export function readJsonFile(path: string): JsonValue {
  let bytes: Buffer;
  try {
    bytes = readFileSync(resolve(path));
  } catch (error) {
    throw new UsageError(`${path} cannot be read (${errorCode(error) ?? String(error)}).`, { cause: error });
  }
  try {
    return parseStrict(bytes);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const pointer = error.faults[0]?.pointer ?? '';
    const place = pointer === '' ? '' : ` at ${pointer}`;
    throw new UsageError(`${path} is not JSON as the API takes it: ${error.message} (${error.code}${place})`, {
      cause: error,
    });
  }
}
