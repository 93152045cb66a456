import { readFileSync } from 'node:fs';
import { errorCode, UsageError } from './errors.ts';

/** A file named on the command line, relative to the working directory. @throws UsageError if it cannot be read. */
export function readNamed(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new UsageError(`${path} cannot be read (${errorCode(error) ?? String(error)}).`, { cause: error });
  }
}
