import assert from 'node:assert/strict';
import type { RecordReceipt, UnitGuard, UnitResult } from '@sealgate/ledger-port';
import { byteaArray, int4Array, int8Array, joinedArray, textArray, type Statement } from '@sealgate/storage';
import type { Epochs } from './epochs.ts';
import { leafHashOf, PACKED_TYPES, type PreparedUnit } from './prepared-unit.ts';

/** A row of `append_v2`: see migrations/0011_append_new.sql, and 0002_append.sql for the outcomes of a unit. */
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
  /** `ledger.append_v2`, or a surface's wrapper of it, which also gets the second part of the notes. */
  readonly ofChannel: string;
  /** For units of several channels: `ledger.append_v1` or a wrapper. Undefined: calls never mix channels. */
  readonly ofChannels: string | undefined;
  readonly takesBeside: boolean;
  /**
   * Whether they confirm the guards of units: the last parameter is then an array of `guardText`. If any is stale,
   * nothing is written: SQLSTATE SG001, with the stale ones in its detail, one per line.
   */
  readonly takesGuards: boolean;
}

/** A guard as passed to the functions. */
export const guardText = ({ kind, id, version }: UnitGuard): string => `${kind} ${id} ${version}`;

export const APPEND_FUNCTIONS: AppendFunctions = {
  ofChannel: 'ledger.append_v2',
  ofChannels: 'ledger.append_v1',
  takesBeside: false,
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
    textArray(units.map(({ note }) => note)),
    int8Array(units.map(({ atMs }) => atMs)),
    int4Array(units.map(({ unit }) => unit.records.length)),
    int4Array(recordUnit),
    ...PACKED_TYPES.map((type, column) => joinedArray(type, recordUnit.length, columnOf(units, column))),
  ];
  if (functions.takesBeside) values.push(textArray(units.map(({ beside }) => beside)));
  if (functions.takesGuards)
    values.push(textArray(units.map(({ unit: { guard } }) => (guard === undefined ? null : guardText(guard)))));
  return {
    name: `${name} append`,
    text: `SELECT outcome, first_index, detail FROM ${name}(${placeholders(values.length)})`,
    values,
  };
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
