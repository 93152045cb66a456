import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { JsonValue } from '@sealgate/json';
import { errorCode } from './error-code.ts';
import { parseJson } from './json-object.ts';
import { UsageError } from './usage-error.ts';

/** The JSON in a file that was named, seen from where the command runs. Throws UsageError. */
export function readJsonFile(path: string): JsonValue {
  let text: string;
  try {
    text = readFileSync(resolve(path), 'utf8');
  } catch (error) {
    throw new UsageError(`${path} cannot be read (${errorCode(error) ?? String(error)}).`, { cause: error });
  }
  const value = parseJson(text);
  if (value === undefined) throw new UsageError(`${path} is not JSON.`);
  return value;
}
