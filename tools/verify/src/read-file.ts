import { createReadStream } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import type { JsonValue } from '@sealgate/json';
import { parseJson } from './parse-json.ts';
import { UnreadableError } from './unreadable-error.ts';

/** The largest file that is read whole: far above every proof, answer, pack or key set. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** A JSON value and the name that reports call it by. */
export interface NamedJson {
  readonly name: string;
  readonly value: JsonValue;
}

/** A path that people gave, seen from a directory. Reports name files by it, so it stays as short as it was given. */
export function pathIn(directory: string, path: string): string {
  return isAbsolute(path) ? path : join(directory, path);
}

/** Reads a whole file, also a pipe such as /dev/stdin. Throws UnreadableError. */
export async function readBytes(path: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of openFile(path)) {
    length += chunk.length;
    if (length > MAX_FILE_BYTES) throw new UnreadableError(`${path} is larger than ${MAX_FILE_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** As `readBytes`, but undefined when there is no such file. */
export async function readBytesIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readBytes(path);
  } catch (error) {
    if (error instanceof UnreadableError && isMissing(error.cause)) return undefined;
    throw error;
  }
}

/** Reads a file of UTF-8 text. Throws UnreadableError. */
export async function readText(path: string): Promise<string> {
  const bytes = await readBytes(path);
  const text = bytes.toString('utf8');
  if (!Buffer.from(text).equals(bytes)) throw new UnreadableError(`${path} is not UTF-8 text.`);
  return text;
}

/** Reads a file of strict JSON. Throws UnreadableError with the place of the fault. */
export async function readJson(path: string): Promise<NamedJson> {
  return { name: path, value: parseJson(await readBytes(path), path) };
}

/** The chunks of a file. Every fault of the file system becomes an UnreadableError, with it as the cause. */
export async function* openFile(path: string): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of createReadStream(path)) yield Buffer.from(chunk);
  } catch (cause) {
    const code = systemCode(cause);
    if (code === undefined) throw cause;
    throw new UnreadableError(`${path} cannot be read: ${code}.`, { cause });
  }
}

function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '');
}

/** The code of an error of the operating system, such as ENOENT; undefined for every other error. */
function systemCode(error: unknown): string | undefined {
  const isSystemError = typeof error === 'object' && error !== null && 'syscall' in error && 'code' in error;
  return isSystemError ? String(error.code) : undefined;
}
