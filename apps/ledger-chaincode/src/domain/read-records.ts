import { invalid } from './refusal.ts';
import type { RecordVersion } from './record.ts';
import { checkText, ID_LENGTH, TYPE_LENGTH } from './parse-records.ts';

const MAX_PAGE_SIZE = 1000;

/** Maximum number of versions that `history` returns. */
const MAX_VERSIONS = 1000;

/** A response stops before data and extra exceed this, so that a gRPC client with default settings can receive it. */
const MAX_ANSWER_BYTES = 3_145_728;

/** Read from the ledger at once: even with the largest records a peer can still send this many. */
const STEP = 16;

/** The reads that the domain needs from the ledger. */
export interface RecordReader {
  read(id: string): Promise<RecordVersion | undefined>;
  /** Records of the type after `afterId` ('' from the first) in code point order, at most `most`. */
  page(type: string, afterId: string, most: number): Promise<RecordVersion[]>;
  /** Records whose id begins with `prefix` ('' for all), of any type, after `afterId`, in the same order. */
  list(prefix: string, afterId: string, most: number): Promise<RecordVersion[]>;
  /** Newest first, at most `most`. */
  versions(id: string, most: number): Promise<RecordVersion[]>;
}

interface Page {
  readonly records: readonly RecordVersion[];
  /** Pass it to get the next page; '' exactly on the last page. */
  readonly bookmark: string;
}

interface History {
  /** Newest first. */
  readonly versions: readonly RecordVersion[];
  /** False if older versions were left out because there are too many or they are too large. */
  readonly complete: boolean;
}

/**
 * Reads one more than the page, to know whether there is another. The bookmark is the last id, so it stays valid
 * whatever is written meanwhile. A page is shorter than requested if its records are large, and never empty with a
 * bookmark. @throws Refusal INVALID_REQUEST
 */
export function readPage(ledger: RecordReader, type: string, pageSize: string, bookmark: string): Promise<Page> {
  checkText(type, 'type', TYPE_LENGTH);
  return pageOf((afterId, most) => ledger.page(type, afterId, most), pageSize, bookmark);
}

/** The same for all types. @throws Refusal INVALID_REQUEST */
export function readList(ledger: RecordReader, prefix: string, pageSize: string, bookmark: string): Promise<Page> {
  if (prefix !== '') checkText(prefix, 'prefix', ID_LENGTH);
  if (bookmark !== '' && !bookmark.startsWith(prefix)) throw invalid('bookmark does not begin with prefix.');
  return pageOf((afterId, most) => ledger.list(prefix, afterId, most), pageSize, bookmark);
}

type ReadBehind = (afterId: string, most: number) => Promise<RecordVersion[]>;

async function pageOf(readBehind: ReadBehind, pageSize: string, bookmark: string): Promise<Page> {
  const size = parsePageSize(pageSize);
  if (bookmark !== '') checkText(bookmark, 'bookmark', ID_LENGTH);
  const records: RecordVersion[] = [];
  for (let bytes = 0, afterId = bookmark; ; afterId = records.at(-1)!.id) {
    const most = Math.min(STEP, size + 1 - records.length);
    const found = await readBehind(afterId, most);
    for (const record of found) {
      bytes += bytesOf(record);
      const isFull = records.length === size || (bytes > MAX_ANSWER_BYTES && records.length > 0);
      if (isFull) return { records, bookmark: records.at(-1)!.id };
      records.push(record);
    }
    if (found.length < most) return { records, bookmark: '' };
  }
}

/** @throws Refusal INVALID_REQUEST */
export function readRecord(ledger: RecordReader, id: string): Promise<RecordVersion | undefined> {
  return ledger.read(checkText(id, 'id', ID_LENGTH));
}

/** @throws Refusal INVALID_REQUEST */
export async function readHistory(ledger: RecordReader, id: string): Promise<History> {
  const found = await ledger.versions(checkText(id, 'id', ID_LENGTH), MAX_VERSIONS + 1);
  let bytes = 0;
  const versions = found.slice(0, MAX_VERSIONS).filter((version, place) => {
    bytes += bytesOf(version);
    return bytes <= MAX_ANSWER_BYTES || place === 0;
  });
  return { versions, complete: versions.length === found.length };
}

function bytesOf({ data, extra }: RecordVersion): number {
  return Buffer.byteLength(data) + Buffer.byteLength(extra ?? '');
}

function parsePageSize(text: string): number {
  const size = /^[1-9][0-9]{0,3}$/.test(text) ? Number(text) : 0;
  if (size < 1 || size > MAX_PAGE_SIZE) throw invalid(`pageSize is not a whole number from 1 to ${MAX_PAGE_SIZE}.`);
  return size;
}
