import { hash } from 'node:crypto';
import { sha256 } from '@sealgate/json';
import type { AppendUnit, NewRecord } from '@sealgate/ledger-port';
import { ElementWriter } from '@sealgate/storage';

/** A unit with salts, hashes and transaction id computed. Resending it sends the same bytes. */
export interface PreparedUnit {
  readonly unit: AppendUnit;
  /**
   * The part of the note that is stored, and the part that is only passed to the surface's append function (or null).
   */
  readonly note: string;
  readonly beside: string | null;
  readonly nonce: Buffer;
  readonly transactionId: Buffer;
  readonly transactionIdHex: string;
  readonly atMs: number;
  readonly packed: PackedRecords;
  /** Approximate size of the unit in a call. */
  readonly bytes: number;
}

const NONCE_BYTES = 16;
/** Size of a unit in a call besides its note and its records. */
const UNIT_OVERHEAD_BYTES = 160;

/** Computes everything the log needs for a unit. */
export function prepareUnit(unit: AppendUnit, atMs: number, random: (bytes: number) => Buffer): PreparedUnit {
  const { network, channel, claim, records } = unit;
  const [note = '', beside = null] = unit.note.split('\f', 2);
  const nonce = unit.nonce ?? random(NONCE_BYTES);
  const transactionId = transactionIdOf({
    nonce,
    claim: claim?.claim ?? null,
    fingerprint: claim?.fingerprint ?? null,
    channel,
    note,
    recordIds: records.map((record) => record.id),
  });
  const transactionIdHex = transactionId.toString('hex');
  const packed = packRecords(records, { atMs, network, channel, transactionIdHex }, random);
  const bytes = UNIT_OVERHEAD_BYTES + unit.note.length + packed.bytes.length;
  return { unit, note, beside, nonce, transactionId, transactionIdHex, atMs, packed, bytes };
}

interface TransactionParts {
  /** 16 unpredictable bytes, so that a transaction id cannot be guessed from the request. */
  readonly nonce: Uint8Array;
  readonly claim: Uint8Array | null;
  readonly fingerprint: string | null;
  readonly channel: string;
  readonly note: string;
  readonly recordIds: readonly string[];
}

/**
 * The transaction id: SHA-256 over all columns of its claim row. It is part of every leaf, so the signed tree commits
 * to the claim as well, and an audit that recomputes it detects an edit in any column.
 */
function transactionIdOf(parts: TransactionParts): Buffer {
  const text = JSON.stringify([
    'sealgate.transaction.v1',
    Buffer.from(parts.nonce).toString('hex'),
    parts.claim === null ? null : Buffer.from(parts.claim).toString('hex'),
    parts.fingerprint,
    parts.channel,
    parts.note,
    parts.recordIds,
  ]);
  return sha256(text);
}

/**
 * The records of a unit in wire format: the elements of each record column of `append_v1`, column after column, in one
 * buffer. Thousands of units wait for the disk at once, and the garbage collector copies all they hold: hence no object
 * per salt and hash.
 */
interface PackedRecords {
  readonly bytes: Buffer;
  /** Offset of each column in `bytes`, in parameter order, followed by the end of the last one. */
  readonly starts: readonly number[];
}

/** The members shared by all leaves of a unit. */
interface LeafParts {
  readonly atMs: number;
  readonly network: string;
  readonly channel: string;
  readonly transactionIdHex: string;
}

const TEXT_COLUMNS = ['id', 'type', 'owner', 'data', 'extra'] as const;
/** After the text columns: salts, content hashes, leaf hashes; each element is a length and 32 bytes. */
const HASH_COLUMNS = 3;
const HASH_BYTES = 32;
const LENGTH_BYTES = 4;
const ELEMENT_BYTES = LENGTH_BYTES + HASH_BYTES;

/** Element types of the columns. */
export const PACKED_TYPES = ['text', 'text', 'text', 'text', 'text', 'bytea', 'bytea', 'bytea'] as const;
const LEAF_COLUMN = TEXT_COLUMNS.length + HASH_COLUMNS - 1;
/** Salts are drawn for this many records at a time. */
const SALTS_AT_ONCE = 256;

const writer = new ElementWriter(65_536);

/** Draws the salts, computes the hashes and packs everything. */
function packRecords(
  records: readonly NewRecord[],
  parts: LeafParts,
  random: (bytes: number) => Buffer,
): PackedRecords {
  const starts = [0];
  writer.begin();
  for (const column of TEXT_COLUMNS) {
    for (const record of records) writer.text(record[column]);
    starts.push(writer.length);
  }
  const width = records.length * ELEMENT_BYTES;
  const textEnd = writer.length;
  const bytes = writer.take(width * HASH_COLUMNS);
  for (let column = 1; column <= HASH_COLUMNS; column += 1) starts.push(textEnd + column * width);
  const leafOf = leafWriter(parts);
  let salts: Buffer | undefined;
  for (const [position, record] of records.entries()) {
    const drawn = position % SALTS_AT_ONCE;
    if (drawn === 0) salts = random(Math.min(records.length - position, SALTS_AT_ONCE) * HASH_BYTES);
    const at = textEnd + position * ELEMENT_BYTES;
    const salt = putElement(bytes, at);
    for (let byte = 0; byte < HASH_BYTES; byte += 1) bytes[salt + byte] = salts![drawn * HASH_BYTES + byte]!;
    // Unused since migration 0015, except after migrating back.
    const dataHash = putElement(bytes, at + width);
    bytes.write(hashContent(bytes, salt, record), dataHash, 'latin1');
    const leaf = leafOf(record, bytes.toString('hex', dataHash, dataHash + HASH_BYTES));
    bytes.write(hash('sha256', leaf, 'binary'), putElement(bytes, at + 2 * width), 'latin1');
  }
  return { bytes, starts };
}

/** 64 hex digits. */
export function leafHashOf({ bytes, starts }: PackedRecords, position: number): string {
  const at = starts[LEAF_COLUMN]! + position * ELEMENT_BYTES + LENGTH_BYTES;
  return bytes.toString('hex', at, at + HASH_BYTES);
}

/** Writes the length prefix of a 32-byte element. Returns the offset of the element itself. */
function putElement(bytes: Buffer, at: number): number {
  return bytes.writeInt32BE(HASH_BYTES, at);
}

const CONTENT_OPENS = '{"data":';
let scratch = scratchOf(65_536);
const BYTES_PER_UNIT = 3;

/** A buffer with room for a salt, followed by the opening of every content. */
function scratchOf(length: number): Buffer {
  const buffer = Buffer.allocUnsafeSlow(length);
  buffer.write(CONTENT_OPENS, HASH_BYTES, 'latin1');
  return buffer;
}

/** SHA-256(salt ‖ JCS({data, extra})) as a binary string; data and extra are canonical, `data` sorts first. */
function hashContent(bytes: Buffer, salt: number, { data, extra }: NewRecord): string {
  const tail = extra === null ? ',"extra":null}' : `,"extra":${extra}}`;
  const most = HASH_BYTES + CONTENT_OPENS.length + (data.length + tail.length) * BYTES_PER_UNIT;
  if (scratch.length < most) scratch = scratchOf(most * 2);
  for (let at = 0; at < HASH_BYTES; at += 1) scratch[at] = bytes[salt + at]!;
  let end = HASH_BYTES + CONTENT_OPENS.length;
  end += scratch.write(data, end, 'utf8');
  end += scratch.write(tail, end, 'utf8');
  return hash('sha256', scratch.subarray(0, end), 'binary');
}

/**
 * Returns the text whose SHA-256 is a record's leaf hash: a zero byte (RFC 6962 section 2.1) and the leaf, which is
 * JCS({v: 1, network, channel, id, type, owner, dataHash, transactionId, at}). It is assembled in JCS order because the
 * members shared by a unit's records are built once; verifiers use `receiptLeaf` of `@sealgate/envelope`, and a test
 * compares the two.
 */
function leafWriter(parts: LeafParts): (record: NewRecord, dataHashHex: string) => string {
  const at = new Date(parts.atMs).toISOString();
  const head = `\0{"at":"${at}","channel":${JSON.stringify(parts.channel)},"dataHash":"`;
  const network = `,"network":${JSON.stringify(parts.network)},"owner":`;
  const transaction = `,"transactionId":"${parts.transactionIdHex}","type":`;
  return ({ id, type, owner }, dataHashHex) => {
    const ownerText = owner === null ? 'null' : JSON.stringify(owner);
    return `${head}${dataHashHex}","id":${JSON.stringify(id)}${network}${ownerText}${transaction}${JSON.stringify(type)},"v":1}`;
  };
}
