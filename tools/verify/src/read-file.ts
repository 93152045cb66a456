import { createReadStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import type { JsonValue } from '@sealgate/json';
import { parseJson, UnreadableError } from './shape.ts';

/** Size limit of files that are read as a whole: far above every proof, response, pack or key set. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** A JSON value and its name in reports. */
interface NamedJson {
  readonly name: string;
  readonly value: JsonValue;
}

/**
 * Resolves a user's path against a directory. Reports name files by the result, so it stays as short as it was given.
 */
export function pathIn(directory: string, path: string): string {
  return isAbsolute(path) ? path : join(directory, path);
}

/** Reads a whole file, also a pipe such as /dev/stdin. @throws UnreadableError. */
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

/** Like `readBytes`, but undefined if there is no such file. */
export async function readBytesIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readBytes(path);
  } catch (error) {
    if (error instanceof UnreadableError && isMissing(error.cause)) return undefined;
    throw error;
  }
}

/** Reads a file of UTF-8 text. @throws UnreadableError. */
export async function readText(path: string): Promise<string> {
  const bytes = await readBytes(path);
  const text = bytes.toString('utf8');
  if (!Buffer.from(text).equals(bytes)) throw new UnreadableError(`${path} is not UTF-8 text.`);
  return text;
}

/** Reads a file of strict JSON. @throws UnreadableError with the place of the fault. */
export async function readJson(path: string): Promise<NamedJson> {
  return { name: path, value: parseJson(await readBytes(path), path) };
}

/** The chunks of a file. File system errors become UnreadableError, with the error as cause. */
export async function* openFile(path: string): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of createReadStream(path)) yield Buffer.from(chunk);
  } catch (cause) {
    const code = systemCode(cause);
    if (code === undefined) throw cause;
    throw new UnreadableError(`${path} cannot be read: ${code}.`, { cause });
  }
}

/**
 * Replaces a file atomically. @throws UnreadableError that names it, if it cannot be written: no right, a full or read-only
 * disk, no folder.
 */
export async function writeWhole(path: string, text: string): Promise<void> {
  const next = `${path}.new`;
  try {
    const file = await open(next, 'w', 0o644);
    try {
      await file.writeFile(text);
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(next, path);
  } catch (cause) {
    const code = systemCode(cause);
    if (code === undefined) throw cause;
    // A part of it would take the place that a full disk lacks.
    await rm(next, { force: true }).catch(() => undefined);
    throw new UnreadableError(`${path} cannot be written: ${code}.`, { cause });
  }
}

function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '');
}

/** The code of a system error, such as ENOENT; undefined for other errors. */
function systemCode(error: unknown): string | undefined {
  const isSystemError = typeof error === 'object' && error !== null && 'syscall' in error && 'code' in error;
  return isSystemError ? String(error.code) : undefined;
}

/** Maximum line length: above the largest body any surface accepts. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;
const NEWLINE = 0x0a;

export interface NdjsonLine {
  /** `<file>:<line>`, from line 1. */
  readonly where: string;
  readonly value: JsonValue;
}

/** The values of an NDJSON file, one at a time; empty lines are skipped. @throws UnreadableError with the line. */
export async function* readNdjson(path: string): AsyncGenerator<NdjsonLine> {
  for await (const { where, bytes } of readLines(path)) yield { where, value: parseJson(bytes, where) };
}

/** The non-empty lines of a file, without newlines. @throws UnreadableError. */
export async function* readLines(path: string): AsyncGenerator<{ where: string; bytes: Buffer }> {
  let line = 0;
  for await (const bytes of splitLines(path)) {
    line += 1;
    if (bytes.length > 0) yield { where: `${path}:${line}`, bytes };
  }
}

async function* splitLines(path: string): AsyncGenerator<Buffer> {
  let open: Buffer[] = [];
  let openBytes = 0;
  for await (const chunk of openFile(path)) {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      yield Buffer.concat([...open, chunk.subarray(from, end)]);
      [open, openBytes, from] = [[], 0, end + 1];
    }
    open.push(chunk.subarray(from));
    openBytes += chunk.length - from;
    if (openBytes > MAX_LINE_BYTES)
      throw new UnreadableError(`${path} has a line of more than ${MAX_LINE_BYTES} bytes.`);
  }
  yield Buffer.concat(open);
}
