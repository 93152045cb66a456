import type { RecordReceipt, UnitResult } from '@sealgate/ledger-port';
import { byteaArray, int4Array, int8Array, joinedArray, textArray, type Statement } from '@sealgate/storage';
import { leafHashOf, PACKED_TYPES } from './packed-records.ts';
import type { PreparedUnit } from './prepared-unit.ts';

/** A row of `append_v1`; see migrations/0002_append.sql. */
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

const PLACEHOLDERS = Array.from({ length: 18 }, (_, position) => `$${position + 1}`).join(',');

/** The one statement that writes: `appendFunction` is `ledger.append_v1`, or a surface's function around it. */
export function appendStatement(appendFunction: string, units: readonly PreparedUnit[]): Statement {
  const recordUnit: number[] = [];
  units.forEach(({ unit }, position) => unit.records.forEach(() => recordUnit.push(position + 1)));
  return {
    name: `${appendFunction} append`,
    text: `SELECT outcome, first_index, detail FROM ${appendFunction}(${PLACEHOLDERS})`,
    values: [
      textArray(units.map(({ unit }) => unit.channel)),
      textArray(units.map(({ unit }) => unit.network)),
      byteaArray(units.map(({ unit }) => unit.claim?.claim ?? null)),
      textArray(units.map(({ unit }) => unit.claim?.acceptable.join(' ') ?? null)),
      byteaArray(units.map(({ transactionId }) => transactionId)),
      byteaArray(units.map(({ nonce }) => nonce)),
      textArray(units.map(({ unit }) => unit.note)),
      int8Array(units.map(({ atMs }) => atMs)),
      int4Array(units.map(({ unit }) => unit.records.length)),
      int4Array(recordUnit),
      ...PACKED_TYPES.map((type, column) => joinedArray(type, recordUnit.length, columnOf(units, column))),
    ],
  };
}

/** The elements of a column, a stretch for each unit. */
function columnOf(units: readonly PreparedUnit[], column: number): Buffer[] {
  return units.map(({ packed: { bytes, starts } }) => bytes.subarray(starts[column], starts[column + 1]));
}

/** What the row says about the unit. A unit that meets itself (it was sent twice, the first answer was lost) is written. */
export function resultOf(prepared: PreparedUnit, row: AppendRow): UnitResult {
  if (row.outcome === 'reused') return { outcome: 'reused' };
  if (row.outcome === 'conflict') return { outcome: 'conflict', id: (row.detail as { id: string }).id };
  if (row.detail === null) return freshResult(prepared, Number(row.first_index));
  const detail = row.detail as UnitDetail;
  const { channel } = prepared.unit;
  const ours = detail.transactionId === prepared.transactionIdHex;
  const records = detail.records.map((record): RecordReceipt => ({
    id: record.id,
    channel,
    transactionId: record.transactionId,
    index: record.index,
    leafHash: record.leafHash,
    existing: record.transactionId !== detail.transactionId,
  }));
  const { transactionId, note } = detail;
  if (row.outcome === 'replayed' && !ours) return { outcome: 'replayed', transactionId, note, records };
  const wrote = records.some((record) => !record.existing);
  return { outcome: wrote ? 'written' : 'existing', transactionId, note, records };
}

function freshResult(prepared: PreparedUnit, firstIndex: number): UnitResult {
  const { unit, transactionIdHex: transactionId, packed } = prepared;
  const records = unit.records.map((record, position): RecordReceipt => ({
    id: record.id,
    channel: unit.channel,
    transactionId,
    index: firstIndex + position,
    leafHash: leafHashOf(packed, position),
    existing: false,
  }));
  return { outcome: 'written', transactionId, note: unit.note, records };
}
