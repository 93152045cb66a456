import type { KeyedHasher } from '@sealgate/auth';
import type { JsonValue } from '@sealgate/json';
import { isNullable } from '@sealgate/schemas';
import { TypeGuard, type TSchema } from '@sinclair/typebox';
import type { Model } from './model.ts';
import { isAuthentic, macOf, versionOfRow, type VersionedRecord } from './versioned-record.ts';

/** A row with a version and a MAC over all its columns; each version is also a ledger record. */
export type SignedRow = Readonly<Record<string, unknown>> & {
  /** 1 for the first; incremented by each change. */
  readonly record_version: number;
};

/** A kind of signed rows. Everything about them follows from this. */
export interface SignedKind<Row> {
  /** The first part of their ledger ids. Must never change. */
  readonly kind: 'key' | 'venue' | 'policy' | 'eligibility';
  /** For operators. */
  readonly what: string;
  readonly table: string;
  /**
   * The columns except `mac`, in the order of the MAC, which must never change. A later column comes last and is
   * optional: a row without a value has the MAC that it had before.
   */
  readonly model: Model<Row>;
  /** The columns that identify a row: an id that is unique, or the environment and one that is unique in it. */
  readonly id: readonly (string & keyof Row)[];
  /** The texts of a column in the MAC, where they are not those of every kind. */
  readonly textsOf?: (column: string, value: unknown) => readonly string[];
}

/** Kinds whose ledger records are made of columns. Every reader of the ledger can see these. */
export interface RecordedKind<Row> extends SignedKind<Row> {
  /** Columns in the ledger record, besides those that identify the row, its version and its MAC. */
  readonly recorded: readonly (string & keyof Row)[];
  /** Whether a row that is gone may be created again, as the version after the newest in the ledger. */
  readonly mayReturn: boolean;
}

/** Kinds that operators list. */
export interface ListedKind<Row> extends RecordedKind<Row> {
  /** Columns whose words `q` of the list searches. */
  readonly searched: readonly (string & keyof Row)[];
}

/** The MAC of a row, as `<secretId>:<base64url>`. */
export function rowMac<Row extends SignedRow>(kind: SignedKind<Row>, row: Row, macs: KeyedHasher): string {
  return macOf(macs, partsOf(kind, row));
}

/** Whether a row is authentic. Never throws, whatever its columns hold. */
export function isRowAuthentic<Row extends SignedRow>(
  kind: SignedKind<Row>,
  { row, mac }: { readonly row: Row; readonly mac: unknown },
  macs: KeyedHasher,
): boolean {
  return isAuthentic(mac, macs, partsOf(kind, row));
}

function partsOf<Row extends SignedRow>({ model, textsOf: own }: SignedKind<Row>, row: Row): string[] {
  return Object.entries(model.properties).flatMap(
    ([column, schema]) => own?.(column, row[column]) ?? textsOf(column, schema, row[column]),
  );
}

function textsOf(column: string, schema: TSchema, value: unknown): string[] {
  // A null and an empty text differ.
  if (isNullable(schema)) return value === null ? ['none', ''] : [column, String(value)];
  if (TypeGuard.IsOptional(schema)) return value === undefined ? [] : [column, String(value)];
  return [String(value)];
}

/** The parts of the ledger ids of a row. */
export function rowName<Row>({ kind, id }: SignedKind<Row>, row: Partial<Row>): string[] {
  return [kind, ...id.map((column) => String(row[column as keyof Row]))];
}

/** A version of a row, as the ledger holds it. */
export function rowVersion<Row extends SignedRow>(kind: RecordedKind<Row>, row: Row, mac: string): VersionedRecord {
  const columns: readonly string[] = [...kind.id, ...kind.recorded];
  // An absent value is not part of the record, as it is not part of the MAC.
  const members = columns.flatMap((column) => (row[column] === undefined ? [] : [[column, row[column] as JsonValue]]));
  return versionOfRow(rowName(kind, row), row.record_version, { ...Object.fromEntries(members), mac });
}
