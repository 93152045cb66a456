import type { RecordReceipt, UnitResult } from '@sealgate/ledger-port';
import type { Statement } from '@sealgate/storage';
import { byteaArray, int4Array, int8Array, textArray } from './binary-array.ts';
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
  const ids: string[] = [];
  const types: string[] = [];
  const owners: (string | null)[] = [];
  const data: string[] = [];
  const extras: (string | null)[] = [];
  const salts: Buffer[] = [];
  const dataHashes: Buffer[] = [];
  const leafHashes: Buffer[] = [];
  units.forEach((prepared, position) => {
    prepared.unit.records.forEach((record, at) => {
      recordUnit.push(position + 1);
      ids.push(record.id);
      types.push(record.type);
      owners.push(record.owner);
      data.push(record.data);
      extras.push(record.extra);
      salts.push(prepared.salts[at]!);
      dataHashes.push(prepared.dataHashes[at]!);
      leafHashes.push(prepared.leafHashes[at]!);
    });
  });
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
      textArray(ids),
      textArray(types),
      textArray(owners),
      textArray(data),
      textArray(extras),
      byteaArray(salts),
      byteaArray(dataHashes),
      byteaArray(leafHashes),
    ],
  };
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
  const { unit, transactionIdHex: transactionId, leafHashes } = prepared;
  const records = unit.records.map((record, position): RecordReceipt => ({
    id: record.id,
    channel: unit.channel,
    transactionId,
    index: firstIndex + position,
    leafHash: leafHashes[position]!.toString('hex'),
    existing: false,
  }));
  return { outcome: 'written', transactionId, note: unit.note, records };
}
