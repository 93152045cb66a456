import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { sha256 } from '@sealgate/json';
import type { AppendUnit, NewRecord, RecordReceipt, UnitGuard, UnitResult } from '@sealgate/ledger-port';
import {
  byteaArray,
  ElementWriter,
  int4Array,
  int8Array,
  joinedArray,
  textArray,
  type Statement,
} from '@sealgate/storage';
import type { Epochs } from './epochs.ts';

/** A unit with salts, hashes and transaction id computed. Resending it sends the same bytes. */
export interface PreparedUnit {
  readonly unit: AppendUnit;
  readonly nonce: Buffer;
  readonly transactionId: Buffer;
  readonly transactionIdHex: string;
  readonly atMs: number;
  readonly packed: PackedRecords;
  /** Approximate size of the unit in a call. */
  readonly bytes: number;
}

const NONCE_BYTES = 16;
/** Size of a unit in a call besides its note and its records; an event is of about this size. */
const UNIT_OVERHEAD_BYTES = 240;

/** Computes everything the log needs for a unit. */
export function prepareUnit(unit: AppendUnit, atMs: number, random: (bytes: number) => Buffer): PreparedUnit {
  const nonce = unit.nonce ?? random(NONCE_BYTES);
  const transactionId = transactionIdOf(unit, nonce);
  const transactionIdHex = transactionId.toString('hex');
  const packed = packRecords(unit, atMs, transactionIdHex, random);
  const bytes = UNIT_OVERHEAD_BYTES + unit.note.length + packed.bytes.length;
  return { unit, nonce, transactionId, transactionIdHex, atMs, packed, bytes };
}

/**
 * The transaction id: SHA-256 over all columns of its claim row. It is part of every leaf, so the signed tree commits
 * to the claim as well, and an audit that recomputes it detects an edit in any column.
 */
function transactionIdOf({ channel, claim, note, records }: AppendUnit, nonce: Buffer): Buffer {
  const text = JSON.stringify([
    'sealgate.transaction.v1',
    nonce.toString('hex'),
    claim === undefined ? null : claim.claim.toString('hex'),
    claim === undefined ? null : claim.fingerprint,
    channel,
    note,
    records.map(({ id }) => id),
  ]);
  return sha256(text);
}

/**
 * The records of a unit in wire format: the elements of each record column of `ledger.append`, column after column, in
 * one buffer. Thousands of units wait for the disk at once, and the garbage collector copies all they hold: hence no
 * object per salt and hash.
 */
interface PackedRecords {
  readonly bytes: Buffer;
  /** Offset of each column in `bytes`, in parameter order, followed by the end of the last one. */
  readonly starts: readonly number[];
}

const TEXT_COLUMNS = ['id', 'type', 'owner', 'data', 'extra'] as const;
/** After the text columns: salts, leaf hashes; each element is a length and 32 bytes. */
const HASH_COLUMNS = 2;
const HASH_BYTES = 32;
const LENGTH_BYTES = 4;
const ELEMENT_BYTES = LENGTH_BYTES + HASH_BYTES;

/** Element types of the columns. */
const PACKED_TYPES = ['text', 'text', 'text', 'text', 'text', 'bytea', 'bytea'] as const;
const LEAF_COLUMN = TEXT_COLUMNS.length + HASH_COLUMNS - 1;
/** Salts are drawn for this many records at a time. */
const SALTS_AT_ONCE = 256;

const writer = new ElementWriter(65_536);

/** Draws the salts, computes the hashes and packs everything. */
function packRecords(
  unit: AppendUnit,
  atMs: number,
  transactionIdHex: string,
  random: (bytes: number) => Buffer,
): PackedRecords {
  const { records } = unit;
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
  const leafOf = leafWriter(unit, atMs, transactionIdHex);
  let salts: Buffer | undefined;
  for (const [position, record] of records.entries()) {
    const drawn = position % SALTS_AT_ONCE;
    if (drawn === 0) salts = random(Math.min(records.length - position, SALTS_AT_ONCE) * HASH_BYTES);
    const at = textEnd + position * ELEMENT_BYTES;
    const salt = putElement(bytes, at);
    for (let byte = 0; byte < HASH_BYTES; byte += 1) bytes[salt + byte] = salts![drawn * HASH_BYTES + byte]!;
    const leaf = leafOf(record, hashContent(bytes, salt, record));
    bytes.write(hash('sha256', leaf, 'binary'), putElement(bytes, at + width), 'latin1');
  }
  return { bytes, starts };
}

/** 64 hex digits. */
function leafHashOf({ bytes, starts }: PackedRecords, position: number): string {
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

/** SHA-256(salt ‖ JCS({data, extra})) in hex digits; data and extra are canonical, `data` sorts first. */
function hashContent(bytes: Buffer, salt: number, { data, extra }: NewRecord): string {
  const tail = extra === null ? ',"extra":null}' : `,"extra":${extra}}`;
  const most = HASH_BYTES + CONTENT_OPENS.length + (data.length + tail.length) * BYTES_PER_UNIT;
  if (scratch.length < most) scratch = scratchOf(most * 2);
  for (let at = 0; at < HASH_BYTES; at += 1) scratch[at] = bytes[salt + at]!;
  let end = HASH_BYTES + CONTENT_OPENS.length;
  end += scratch.write(data, end, 'utf8');
  end += scratch.write(tail, end, 'utf8');
  return hash('sha256', scratch.subarray(0, end), 'hex');
}

/**
 * Returns the text whose SHA-256 is a record's leaf hash: a zero byte (RFC 6962 section 2.1) and the leaf, which is
 * JCS({v: 1, network, channel, id, type, owner, dataHash, transactionId, at}). It is assembled in JCS order because the
 * members shared by a unit's records are built once; verifiers use `receiptLeaf` of `@sealgate/envelope`, and a test
 * compares the two.
 */
function leafWriter(
  unit: AppendUnit,
  atMs: number,
  transactionIdHex: string,
): (record: NewRecord, dataHashHex: string) => string {
  const at = new Date(atMs).toISOString();
  const head = `\0{"at":"${at}","channel":${JSON.stringify(unit.channel)},"dataHash":"`;
  const network = `,"network":${JSON.stringify(unit.network)},"owner":`;
  const transaction = `,"transactionId":"${transactionIdHex}","type":`;
  return ({ id, type, owner }, dataHashHex) => {
    const ownerText = owner === null ? 'null' : JSON.stringify(owner);
    return `${head}${dataHashHex}","id":${JSON.stringify(id)}${network}${ownerText}${transaction}${JSON.stringify(type)},"v":1}`;
  };
}

/** A row of `ledger.append`: see migrations/0001_ledger.sql, at append_many for the outcomes of a unit. */
export interface AppendRow {
  readonly outcome: string;
  readonly first_index: string | null;
  readonly detail: UnitDetail | { id: string } | null;
}

interface UnitDetail {
  readonly transactionId: string;
  readonly note: string;
  readonly records: readonly { id: string; index: number; transactionId: string; leafHash: string }[];
}

/** The SQL functions that write. */
export interface AppendFunctions {
  /** `ledger.append`, or a surface's wrapper of it. */
  readonly ofChannel: string;
  /** For units of several channels: `ledger.append_many` or a wrapper. Undefined: calls never mix channels. */
  readonly ofChannels: string | undefined;
  /** Whether they write the events of units: further parameters are then the arrays of `eventColumns`. */
  readonly takesEvents: boolean;
  /**
   * Whether they confirm the guards of units: the last parameter is then an array of `guardText`. If any is stale,
   * nothing is written: SQLSTATE SG001, with the stale ones in its detail, one per line.
   */
  readonly takesGuards: boolean;
}

/** A guard as passed to the functions. */
export const guardText = ({ kind, id, version }: UnitGuard): string => `${kind} ${id} ${version}`;

export const APPEND_FUNCTIONS: AppendFunctions = {
  ofChannel: 'ledger.append',
  ofChannels: 'ledger.append_many',
  takesEvents: false,
  takesGuards: false,
};
const placeholders = (count: number): string => Array.from({ length: count }, (_, at) => `$${at + 1}`).join(',');
/** Outcome of the single row returned for a group of new units. */
const ALL_WRITTEN = 'all written';

/** The statement that writes a group. `carefully`: duplicates are expected among the units of one channel. */
export function appendStatement(
  functions: AppendFunctions,
  units: readonly PreparedUnit[],
  carefully: boolean,
): Statement {
  const { channel, network } = units[0]!.unit;
  const isOfOne = units.every(({ unit }) => unit.channel === channel);
  const name = isOfOne ? functions.ofChannel : functions.ofChannels;
  assert(name !== undefined, 'Only a function of several channels can write them in one call.');
  const recordUnit: number[] = [];
  units.forEach(({ unit }, position) => unit.records.forEach(() => recordUnit.push(position + 1)));
  const places = isOfOne
    ? [channel, network, carefully]
    : [textArray(units.map(({ unit }) => unit.channel)), textArray(units.map(({ unit }) => unit.network))];
  const values: unknown[] = [
    ...places,
    byteaArray(units.map(({ unit }) => unit.claim?.claim ?? null)),
    textArray(units.map(({ unit }) => unit.claim?.acceptable.join(' ') ?? null)),
    byteaArray(units.map(({ transactionId }) => transactionId)),
    byteaArray(units.map(({ nonce }) => nonce)),
    textArray(units.map(({ unit }) => unit.note)),
    int8Array(units.map(({ atMs }) => atMs)),
    int4Array(units.map(({ unit }) => unit.records.length)),
    int4Array(recordUnit),
    ...PACKED_TYPES.map((type, column) => joinedArray(type, recordUnit.length, columnOf(units, column))),
  ];
  if (functions.takesEvents) values.push(...eventColumns(units));
  if (functions.takesGuards)
    values.push(textArray(units.map(({ unit: { guard } }) => (guard === undefined ? null : guardText(guard)))));
  return {
    name: `${name} append`,
    text: `SELECT outcome, first_index, detail FROM ${name}(${placeholders(values.length)})`,
    values,
  };
}

function eventColumns(units: readonly PreparedUnit[]): unknown[] {
  const events = units.map(({ unit: { event } }) => {
    assert(event !== undefined, 'A function that writes events needs one for each unit.');
    return event;
  });
  return [
    textArray(events.map(({ eventId }) => eventId)),
    int4Array(events.map((event) => event.units)),
    int4Array(events.map(({ strippedFields }) => strippedFields)),
    textArray(events.map(({ keyId }) => keyId)),
    textArray(events.map(({ requestId }) => requestId)),
    textArray(events.map(({ types }) => JSON.stringify(types))),
    textArray(events.map(({ deliveryId = '' }) => deliveryId)),
  ];
}

/** The elements of a column, one buffer per unit. */
function columnOf(units: readonly PreparedUnit[], column: number): Buffer[] {
  return units.map(({ packed: { bytes, starts } }) => bytes.subarray(starts[column], starts[column + 1]));
}

/** The result of each unit, in order. */
export function resultsOf(units: readonly PreparedUnit[], rows: readonly AppendRow[], epochs: Epochs): UnitResult[] {
  const [first] = rows;
  if (first?.outcome !== ALL_WRITTEN) return units.map((unit, position) => resultOf(unit, rows[position]!, epochs));
  let next = Number(first.first_index);
  return units.map((prepared) => {
    const result = freshResult(prepared, next, epochs);
    next += prepared.unit.records.length;
    return result;
  });
}

/** Whether the group had no duplicates. */
export const isAllNew = (rows: readonly AppendRow[]): boolean =>
  rows.every(({ outcome, detail }) => outcome === ALL_WRITTEN || (outcome === 'written' && detail === null));

/** The result of one unit. A unit that finds itself (resent after a lost response) is written. */
function resultOf(prepared: PreparedUnit, row: AppendRow, epochs: Epochs): UnitResult {
  if (row.outcome === 'reused') return { outcome: 'reused' };
  if (row.outcome === 'conflict') return { outcome: 'conflict', id: (row.detail as { id: string }).id };
  if (row.detail === null) return freshResult(prepared, Number(row.first_index), epochs);
  const detail = row.detail as UnitDetail;
  const { channel } = prepared.unit;
  const ours = detail.transactionId === prepared.transactionIdHex;
  const records = detail.records.map((record): RecordReceipt => ({
    id: record.id,
    channel,
    transactionId: record.transactionId,
    ...epochs.place(channel, record.index),
    leafHash: record.leafHash,
    existing: record.transactionId !== detail.transactionId,
  }));
  const { transactionId, note } = detail;
  if (row.outcome === 'replayed' && !ours) return { outcome: 'replayed', transactionId, note, records };
  const wrote = records.some((record) => !record.existing);
  return { outcome: wrote ? 'written' : 'existing', transactionId, note, records };
}

function freshResult(prepared: PreparedUnit, firstIndex: number, epochs: Epochs): UnitResult {
  const { unit, transactionIdHex: transactionId, packed } = prepared;
  const records = unit.records.map((record, position): RecordReceipt => ({
    id: record.id,
    channel: unit.channel,
    transactionId,
    ...epochs.place(unit.channel, firstIndex + position),
    leafHash: leafHashOf(packed, position),
    existing: false,
  }));
  return { outcome: 'written', transactionId, note: unit.note, records };
}
