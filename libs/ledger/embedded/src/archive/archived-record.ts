import { createHash } from 'node:crypto';
import { dataHashOf, SALT_BYTES, type Receipt } from '@sealgate/envelope';
import { canonical, type JsonValue } from '@sealgate/json';
import { parsed, receiptAt, type RecordRow } from '../stored-record.ts';

/** The records of one file: indexes from `from` up to, but not including, `until`. */
export interface ArchivedStretch {
  readonly from: number;
  readonly until: number;
}

/** One line of an archive: a receipt and its data. Salt, extra and data are null once they are erased. */
export interface ArchivedRecord extends Receipt {
  readonly data: JsonValue;
}

/** A file of the archive is missing, cannot be read, or does not hold the expected content. */
export class ArchiveFileError extends Error {
  override readonly name = 'ArchiveFileError';
  /** Index of the record at fault, if it is a single one. */
  readonly index: number | undefined;

  constructor(message: string, { index, ...options }: ErrorOptions & { readonly index?: number } = {}) {
    super(message, options);
    this.index = index;
  }
}

/** A row of `ledger.archive_rows`. */
export type ContentRow = Omit<RecordRow, 'network' | 'channel' | 'leaf_hash'>;

export const recordOfRow = (row: ContentRow, of: { channel: string; network: string }): ArchivedRecord => ({
  ...receiptAt({ ...row, ...of }, { index: Number(row.idx) }),
  data: parsed(row.data),
});

export const archivedLine = (record: ArchivedRecord): string => `${canonical({ ...record })}\n`;

/** The same record without the content that an erasure removes. */
export const withoutContent = (record: ArchivedRecord): ArchivedRecord => ({
  ...record,
  salt: null,
  extra: null,
  data: null,
});

/** Parses a line and verifies its content against its data hash. The caller verifies the leaf against the log. */
export function checkedRecord(
  line: Buffer,
  { path, channel, index }: { readonly path: string; readonly channel: string; readonly index: number },
): ArchivedRecord {
  const problem = (text: string, cause?: unknown) =>
    new ArchiveFileError(`${path}: record ${index}: ${text}`, { index, ...(cause === undefined ? {} : { cause }) });
  let record: ArchivedRecord;
  try {
    record = JSON.parse(line.toString('utf8')) as ArchivedRecord;
  } catch (cause) {
    throw problem('the line is not JSON', cause);
  }
  if (typeof record !== 'object' || record === null || Array.isArray(record)) throw problem('the line is not a record');
  if (record.index !== index || record.channel !== channel) throw problem('the line is of another record');
  if (record.salt === null) {
    if (record.data !== null || record.extra !== null) throw problem('content and erasure do not agree');
    return record;
  }
  const salt = Buffer.from(String(record.salt), 'hex');
  if (salt.length !== SALT_BYTES || dataHashOf(salt, record.data ?? null, record.extra ?? null) !== record.dataHash)
    throw problem('its content is not what was hashed');
  return record;
}

/** The hash that create-once compares for an archived record; same as `ledger.archived_content`. */
export function archivedContent(salt: Buffer, { index, type, owner, data, extra }: ArchivedRecord): Buffer {
  const place = Buffer.alloc(8);
  place.writeBigInt64BE(BigInt(index));
  return createHash('sha256')
    .update(salt)
    .update(place)
    .update(canonical([type, owner, data, extra]))
    .digest();
}
