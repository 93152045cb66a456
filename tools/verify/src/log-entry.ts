import { DECLARATION_TYPE, dataHashOf, declarationLeaf, logName, receiptLeaf } from '@sealgate/envelope';
import type { Receipt } from '@sealgate/envelope';
import { readDeclaration } from './check-declaration.ts';
import { UnreadableError } from './unreadable-error.ts';
import type { NdjsonLine } from './ndjson.ts';
import { contentOf, readReceipt } from './receipt-file.ts';
import type { StatedContent } from './receipt-file.ts';
import { hasMember, hashBytes, isObject, numberAt, objectAt, rootObject, stringAt } from './shape.ts';
import type { Place } from './shape.ts';
import { answeredRecords } from './write-answer.ts';

/** What one line says of one entry of the log. */
export interface LogEntry {
  readonly where: string;
  readonly index: number;
  readonly leafHash: Buffer;
  readonly id?: string | undefined;
  /** The name of the log: of a channel that declared a loss, `<channel>/e<epoch>`. */
  readonly channel?: string | undefined;
  /** What is wrong with the line by itself, whatever the log holds. */
  readonly problem?: string | undefined;
}

/**
 * The entries a line tells of. A line is a receipt (perhaps with `data` or `leafHash`), `{receipt, proof?}` with the content
 * beside it, a write's answer `{records}`, the declaration that an epoch begins with, or `{index, leafHash, id?, channel?}`. Throws UnreadableError for anything else.
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
