import type { KeyedHasher } from '@sealgate/auth';
import type { Sql } from '@sealgate/storage';
import { readRow } from '../domain/model.ts';
import {
  isRowAuthentic,
  rowMac,
  rowName,
  rowVersion,
  type RecordedKind,
  type SignedRow,
} from '../domain/signed-row.ts';
import type { LedgerVersions } from './ledger-versions.ts';
import type { RecordingSql, Urgency } from './ledger-writer.ts';

/** The values that identify a row. */
export type Place = readonly string[];

/** Rows of one kind. Every change is the next version of a row, and a ledger record before the answer. */
export interface SignedRows<Row> {
  /** By id, after `after` ('' from the first). Not authenticated. */
  list(environment: string, page: { readonly limit: number; readonly after: string }): Promise<Row[]>;
  /** Not authenticated. */
  find(place: Place): Promise<Row | undefined>;
  /** Undefined where the id is taken. */
  insert(sql: RecordingSql, row: Omit<Row, 'record_version'>): Promise<Row | undefined>;
  /**
   * Reads and locks a row until the transaction ends, for a change or against changes.
   * @throws Error where it fails its MAC, or is older than what the ledger holds: it must not be signed again.
   */
  lock(sql: Sql, place: Place, lock?: 'FOR UPDATE' | 'FOR SHARE'): Promise<Row | undefined>;
  /** Writes the next version of a locked row. */
  save(sql: RecordingSql, row: Row, urgency?: Urgency): Promise<Row>;
  /** Writes a next version with the same content. Returns its number; undefined where there is no row. Throws as `lock`. */
  remake(sql: RecordingSql, place: Place, urgency: Urgency): Promise<number | undefined>;
}

interface SignedParts {
  readonly sql: Sql;
  readonly macs: KeyedHasher;
  readonly versions: LedgerVersions;
}

export function signedRows<Row extends SignedRow>(
  kind: RecordedKind<Row>,
  { sql: database, macs, versions }: SignedParts,
): SignedRows<Row> {
  const { what, model, id } = kind;
  const table = `gate.${kind.table}`;
  const columns = Object.keys(model.properties);
  const select = `SELECT ${columns.join(', ')}`;
  const isPlace = id.map((column, at) => `${column} = $${at + 1}`).join(' AND ');
  const read = (row: Readonly<Record<string, unknown>>) => readRow(model, row);
  const valuesOf = (row: Row, mac: string) => [...columns.map((column) => row[column] ?? null), mac];
  const rows: SignedRows<Row> = {
    async list(environment, { limit, after }) {
      const own = id.at(-1);
      const text = `${select} FROM ${table} WHERE environment = $1 AND ${own} > $2 ORDER BY ${own} LIMIT $3`;
      const rows = await database.query<Record<string, unknown>>({ text, values: [environment, after, limit] });
      return rows.map(read);
    },
    async find(place) {
      const text = `${select} FROM ${table} WHERE ${isPlace}`;
      const [row] = await database.query<Record<string, unknown>>({ text, values: [...place] });
      return row && read(row);
    },
    async insert(sql, first) {
      const newest = await versions.newest(sql, rowName(kind, first as Partial<Row>));
      if (newest !== undefined && !kind.mayReturn) return undefined;
      const row = read({ ...first, record_version: (newest ?? 0) + 1 });
      const mac = rowMac(kind, row, macs);
      const places = [...columns, 'mac'].map((_, at) => `$${at + 1}`);
      const text = `INSERT INTO ${table} (${columns.join(', ')}, mac) VALUES (${places.join(', ')})
                    ON CONFLICT DO NOTHING RETURNING 1`;
      if ((await sql.query({ text, values: valuesOf(row, mac) })).length === 0) return undefined;
      await sql.enter(rowVersion(kind, row, mac), 'before the answer');
      return row;
    },
    async lock(sql, place, lock = 'FOR UPDATE') {
      const text = `${select}, mac FROM ${table} WHERE ${isPlace} ${lock}`;
      const [found] = await sql.query<Record<string, unknown>>({ text, values: [...place] });
      if (found === undefined) return undefined;
      const [row, mac] = [read(found), String(found['mac'])];
      if (!isRowAuthentic(kind, { row, mac }, macs))
        throw new Error(`The row of the ${what} ${place[1]} failed its integrity check.`);
      if (!(await versions.isContradicted(sql, rowVersion(kind, row, mac)))) return row;
      throw new Error(`The row of the ${what} ${place[1]} is older than what the ledger holds.`);
    },
    async save(sql, row, urgency = 'before the answer') {
      const next = read({ ...row, record_version: row.record_version + 1 });
      const mac = rowMac(kind, next, macs);
      const changes = [...columns, 'mac'].map((column, at) => `${column} = $${at + 1}`);
      // The columns that identify the row stay the same.
      const isRow = id.map((column) => `${column} = $${columns.indexOf(column) + 1}`);
      const text = `UPDATE ${table} SET ${changes.join(', ')} WHERE ${isRow.join(' AND ')}`;
      await sql.query({ text, values: valuesOf(next, mac) });
      await sql.enter(rowVersion(kind, next, mac), urgency);
      return next;
    },
    async remake(sql, place, urgency) {
      const row = await rows.lock(sql, place);
      return row && (await rows.save(sql, row, urgency)).record_version;
    },
  };
  return rows;
}
