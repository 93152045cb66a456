import { SIGNED_OUT } from './console-fetch.ts';
import { problemFrom, unreached } from './problem.ts';

/** What has arrived of an export. */
export interface Arrived {
  readonly bytes: number;
  readonly rows: number;
}

const RESPONSE_WITHIN_MS = 60_000;
/** Chunks are joined to a Blob from this size on, which the browser may keep on disk. */
const JOINED_BYTES = 4_194_304;
const QUOTE = 0x22;
const NEW_LINE = 0x0a;

/**
 * Counts the rows of CSV (RFC 4180, without its head) or JSON Lines as chunks of bytes arrive. Line breaks between
 * quotes belong to a cell; JSON has none.
 */
export function rowCounter(format: 'csv' | 'jsonl'): (chunk: Uint8Array) => number {
  let isQuoted = false;
  let lines = 0;
  return (chunk) => {
    for (const byte of chunk) {
      if (byte === QUOTE && format === 'csv') isQuoted = !isQuoted;
      else if (byte === NEW_LINE && !isQuoted) lines += 1;
    }
    return Math.max(0, format === 'csv' ? lines - 1 : lines);
  };
}

/** The name in `Content-Disposition: attachment; filename="risks.csv"`. */
const nameIn = (response: Response): string | undefined =>
  /filename="([^"\\/]+)"/.exec(response.headers.get('Content-Disposition') ?? '')?.[1];

interface Export {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly format: 'csv' | 'jsonl';
  readonly signal: AbortSignal;
  readonly onArrived: (arrived: Arrived) => void;
}

/**
 * Reads an export to its end and returns it as a file. The time to the response is limited, that of its body is not.
 * Throws ProblemError, also if the stream breaks off, and what `signal` was aborted with.
 */
export async function readExport({ url, headers = {}, format, signal, onArrived }: Export) {
  const response = await responseTo(url, headers, signal);
  if (!response.ok) throw problemFrom(response, await response.json().catch(() => undefined), Date.now());
  const countRows = rowCounter(format);
  let file = new Blob([]);
  let chunks: BlobPart[] = [];
  let waiting = 0;
  let arrived: Arrived = { bytes: 0, rows: 0 };
  try {
    const reader = response.body!.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      chunks.push(value);
      waiting += value.byteLength;
      arrived = { bytes: arrived.bytes + value.byteLength, rows: countRows(value) };
      onArrived(arrived);
      if (waiting < JOINED_BYTES) continue;
      file = new Blob([file, ...chunks]);
      chunks = [];
      waiting = 0;
    }
  } catch (error) {
    signal.throwIfAborted();
    throw unreached(error, false);
  }
  const type = response.headers.get('Content-Type') ?? 'application/octet-stream';
  return { file: new Blob([file, ...chunks], { type }), name: nameIn(response), ...arrived };
}

async function responseTo(
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Response> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new DOMException('Too late', 'TimeoutError')), RESPONSE_WITHIN_MS);
  try {
    const response = await fetch(url, { headers, signal: AbortSignal.any([signal, late.signal]) });
    if (response.status === 401 && response.headers.has('WWW-Authenticate'))
      globalThis.dispatchEvent(new Event(SIGNED_OUT));
    return response;
  } catch (error) {
    signal.throwIfAborted();
    throw unreached(error, false);
  } finally {
    clearTimeout(timer);
  }
}

/** Gives a file to the browser to save. */
export function saveFile(file: Blob, name: string): void {
  const address = URL.createObjectURL(file);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // The browser reads it after the click.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
