import {
  closeSync,
  existsSync,
  fchmodSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { explainFileError } from '@sealgate/local-services';
import { UserError } from './user-error.ts';

/** Written atomically, readable only by the owner. */
export function writeJsonFile(file: string, value: unknown): void {
  writePrivateFile(file, `${JSON.stringify(value, undefined, 2)}\n`);
}

/** Written atomically, readable only by the owner. */
export function writePrivateFile(file: string, text: string): void {
  writeWhole(file, text, 0o600);
}

/** Written atomically, readable by everyone. */
export function writePublicFile(file: string, text: string): void {
  writeWhole(file, text, 0o644);
}

function writeWhole(file: string, text: string, mode: number): void {
  const making = `${file}.new`;
  try {
    const handle = openSync(making, 'w', mode);
    try {
      fchmodSync(handle, mode); // Independent of the umask and of an earlier attempt.
      writeFileSync(handle, text);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    renameSync(making, file);
  } catch (error) {
    throw explainFileError(error, file);
  }
}

/** The members of the object in the file; undefined if there is no file. @throws UserError if it is invalid. */
export function readJsonFile(file: string): Readonly<Record<string, unknown>> | undefined {
  if (!existsSync(file)) return undefined;
  const value = parse(file);
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return Object.fromEntries(Object.entries(value));
  throw broken(file);
}

function parse(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) throw broken(file, error);
    throw explainFileError(error, file);
  }
}

const broken = (file: string, cause?: unknown): UserError =>
  new UserError(`${file} is broken. Restore it, or start with --fresh, which removes all data.`, { cause });
