import type { JsonValue } from '@sealgate/json';
import { parseJson } from './parse-json.ts';
import { openFile } from './read-file.ts';
import { UnreadableError } from './unreadable-error.ts';

/** The longest line: above the largest body any surface takes. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;
const NEWLINE = 0x0a;

export interface NdjsonLine {
  /** `<file>:<line>`, the first line being 1. */
  readonly where: string;
  readonly value: JsonValue;
}

/** The values of an NDJSON file, one at a time; empty lines are passed over. Throws UnreadableError, naming the line. */
export async function* readNdjson(path: string): AsyncGenerator<NdjsonLine> {
  for await (const { where, bytes } of readLines(path)) yield { where, value: parseJson(bytes, where) };
}

/** The lines of a file that are not empty, without their newlines. Throws UnreadableError. */
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
