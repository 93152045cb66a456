import { dataHashOf, DECLARATION_TYPE, declarationLeaf, logName, type Receipt, receiptLeaf } from '@sealgate/envelope';
import { HASH_BYTES } from '@sealgate/merkle';
import { answeredRecords } from './check-answer.ts';
import { readDeclaration } from './check-declaration.ts';
import { type NdjsonLine, readNdjson } from './read-file.ts';
import { contentOf, readReceipt, type StatedContent } from './receipt-file.ts';
import type { Reporter } from './report.ts';
import {
  hashBytes,
  hasMember,
  isObject,
  numberAt,
  objectAt,
  type Place,
  rootObject,
  stringAt,
  UnreadableError,
} from './shape.ts';

export interface LogLeaves {
  /** The leaf hashes, in order, up to the first gap. */
  readonly hashes: Buffer;
  /** Location of each entry in the file. */
  readonly places: readonly string[];
}

/**
 * Reads a whole log as NDJSON, in one or several files, and checks its lines: every index from 0 in order, none missing
 * or duplicate, unique ids, every line of this channel and consistent with its hashes. Hashes stop at the first gap.
 */
export async function readLeaves(
  report: Reporter,
  paths: readonly string[],
  { channel, size }: { channel: string | undefined; size: number },
): Promise<LogLeaves> {
  const hashes: Buffer[] = [];
  const places: string[] = [];
  const ids = new Map<string, string>();
  let spoiled = 0;
  for await (const entry of entriesIn(paths)) {
    if (entry.index !== hashes.length) {
      report.failed('leaves', gapFailure(entry, hashes.length));
      return { hashes: Buffer.concat(hashes), places };
    }
    const failure = entryFailure(entry, { channel, ids });
    if (failure !== undefined && spoiled === 0) report.failed('leaves', failure);
    if (failure !== undefined) spoiled += 1;
    if (entry.id !== undefined) ids.set(entry.id, entry.where);
    hashes.push(entry.leafHash.length === 0 ? Buffer.alloc(HASH_BYTES) : entry.leafHash);
    places.push(entry.where);
  }
  reportLength(report, { path: paths.at(-1) ?? 'entries', size, count: hashes.length, spoiled });
  return { hashes: Buffer.concat(hashes), places };
}

async function* entriesIn(paths: readonly string[]): AsyncGenerator<LogEntry> {
  for (const path of paths) for await (const line of readNdjson(path)) yield* entriesOf(line);
}

function gapFailure({ where, index }: LogEntry, expected: number) {
  const detail =
    index > expected
      ? 'Entries are missing: there is a gap in the indexes.'
      : 'An index is there twice, or out of order.';
  return { detail, where, expected: `index ${expected}`, found: `index ${index}` };
}

function entryFailure(entry: LogEntry, { channel, ids }: { channel: string | undefined; ids: Map<string, string> }) {
  const { where, index, id, problem } = entry;
  if (problem !== undefined) return { detail: `Entry ${index} (${id ?? 'no id'}): ${problem}`, where };
  if (channel !== undefined && entry.channel !== undefined && entry.channel !== channel) {
    return { detail: `Entry ${index} is of another channel.`, where, expected: channel, found: entry.channel };
  }
  const earlier = id === undefined ? undefined : ids.get(id);
  return earlier === undefined
    ? undefined
    : { detail: `The id ${id} is in the log twice, first at ${earlier}.`, where };
}

function reportLength(report: Reporter, o: { path: string; size: number; count: number; spoiled: number }): void {
  if (o.spoiled > 1) report.note(`${o.path}: ${o.spoiled} lines are wrong in themselves; the first is named.`);
  if (o.count < o.size) {
    report.failed('leaves', {
      detail: `The end is missing: the first entry that is not there is ${o.count}.`,
      where: o.path,
      expected: `${o.size} entries`,
      found: `${o.count} entries`,
    });
    return;
  }
  if (o.count > o.size)
    report.note(`${o.path} has ${o.count - o.size} entries that the checkpoint does not cover yet.`);
  if (o.spoiled === 0)
    report.ok('leaves', `${o.count} entries, indexes 0 to ${o.count - 1} without a gap, no id twice.`);
}

/** The entry data of one line. */
export interface LogEntry {
  readonly where: string;
  readonly index: number;
  readonly leafHash: Buffer;
  readonly id?: string | undefined;
  /** The name of the log: after a declared loss `<channel>/e<epoch>`. */
  readonly channel?: string | undefined;
  /** A fault of the line itself, independent of the log. */
  readonly problem?: string | undefined;
}

/**
 * The entries of a line. A line is a receipt (perhaps with `data` or `leafHash`), `{receipt, proof?}` perhaps with the
 * content, a write response `{records}`, the declaration of an epoch, or `{index, leafHash, id?, channel?}`. @throws
 * UnreadableError otherwise.
 */
export function entriesOf({ where, value }: NdjsonLine): readonly LogEntry[] {
  const line = rootObject(where, value);
  if (line.object['type'] === DECLARATION_TYPE) return [declarationEntry(line)];
  if (hasMember(line, 'records')) {
    return answeredRecords(line).map(({ epoch = 0, ...record }) =>
      statedEntry({ ...record, channel: logName(record.channel, epoch) }),
    );
  }
  if (hasMember(line, 'receipt')) {
    const place = objectAt(line, 'receipt');
    const stated = hasMember(line, 'proof') ? objectAt(line, 'proof') : undefined;
    return [receiptEntry(place, { stated, contents: contentsBeside(line, place) })];
  }
  if (hasMember(line, 'dataHash')) return [receiptEntry(line, { stated: line, contents: contentOf(line) })];
  if (hasMember(line, 'leafHash')) {
    const [id, channel] = ['id', 'channel'].map((member) =>
      hasMember(line, member) ? stringAt(line, member) : undefined,
    );
    return [statedEntry({ where, index: numberAt(line, 'index'), leafHash: stringAt(line, 'leafHash'), id, channel })];
  }
  throw new UnreadableError(`${where} is neither a receipt, nor a write's answer, nor a leaf with its index.`);
}

function declarationEntry(line: Place): LogEntry {
  const { statement } = readDeclaration({ where: line.where, object: { statement: line.object, inclusionPath: [] } });
  const channel = logName(statement.channel, statement.epoch);
  return { where: line.where, index: 0, leafHash: declarationLeaf(statement), channel };
}

function contentsBeside(line: Place, receipt: Place): StatedContent[] {
  const beside = ['record', 'asset'].filter((member) => isObject(line.object[member]));
  const places = [receipt, line, ...beside.map((member) => objectAt(line, member))];
  return places.flatMap(contentOf);
}

function receiptEntry(
  place: Place,
  { stated, contents }: { stated: Place | undefined; contents: readonly StatedContent[] },
): LogEntry {
  const receipt = readReceipt(place);
  const leafHash = receiptLeaf(receipt);
  const { index, id, epoch = 0 } = receipt;
  const channel = logName(receipt.channel, epoch);
  const problem = statedProblem(receipt, leafHash, stated) ?? contentProblem(receipt, contents);
  return { where: place.where, index, leafHash, id, channel, problem };
}

function statedProblem({ index }: Receipt, leafHash: Buffer, stated: Place | undefined): string | undefined {
  if (stated === undefined) return undefined;
  if (hasMember(stated, 'index') && numberAt(stated, 'index') !== index)
    return 'Receipt and proof have different indexes.';
  const isOther = hasMember(stated, 'leafHash') && stringAt(stated, 'leafHash') !== leafHash.toString('hex');
  return isOther ? 'The receipt does not hash to the leafHash beside it.' : undefined;
}

function contentProblem(receipt: Receipt, contents: readonly StatedContent[]): string | undefined {
  const salt = receipt.salt === null ? undefined : hashBytes(receipt.salt);
  if (receipt.salt !== null && salt === undefined) return 'The salt is malformed.';
  const wrong = contents.find(({ data }) =>
    salt === undefined ? data !== null : dataHashOf(salt, data, receipt.extra) !== receipt.dataHash,
  );
  if (wrong === undefined) return undefined;
  return salt === undefined
    ? 'The salt is erased, so nothing can prove this content.'
    : 'The content does not hash to dataHash: content, extra, salt or hash was changed.';
}

function statedEntry(entry: {
  where: string;
  index: number;
  leafHash: string;
  id?: string | undefined;
  channel?: string | undefined;
}): LogEntry {
  const { where, index, id, channel } = entry;
  const leafHash = hashBytes(entry.leafHash);
  const problem = leafHash === undefined ? 'The leafHash is not 64 lower hex digits.' : undefined;
  return { where, index, leafHash: leafHash ?? Buffer.alloc(0), id, channel, problem };
}
