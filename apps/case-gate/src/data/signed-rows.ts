import type { KeyedHasher } from '@sealgate/auth';
import { searchText, type OrderColumn, tableList, type TableList } from '@sealgate/paging';
import type { Sql } from '@sealgate/storage';
import { readRow } from '../domain/model.ts';
import { isRowAuthentic, rowMac, rowName, rowVersion, type ListedKind, type SignedRow } from '../domain/signed-row.ts';
import type { LedgerVersions } from './ledger-versions.ts';
import type { RecordingSql, Urgency } from './ledger-writer.ts';

/** The values that identify a row. */
export type Place = readonly string[];

/** The orders of a list of signed rows. */
type SignedOrder = 'id' | 'created_at' | 'updated_at';

/** Rows of one kind. Every change is the next version of a row, and a ledger record before the answer. */
export interface SignedRows<Row> {
  /** Those of an environment. Not authenticated. */
  readonly list: TableList<{ readonly environment: string }, Row, SignedOrder>;
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
  /** Reads the lists. */
  readonly look: Sql;
  readonly macs: KeyedHasher;
  readonly versions: LedgerVersions;
}

export function signedRows<Row extends SignedRow>(
  kind: ListedKind<Row>,
  { sql: database, look, macs, versions }: SignedParts,
): SignedRows<Row> {
  const { what, model, id, searched } = kind;
  const table = `gate.${kind.table}`;
  const columns = Object.keys(model.properties);
  const select = `SELECT ${columns.join(', ')}`;
  const isPlace = id.map((column, at) => `${column} = $${at + 1}`).join(' AND ');
  const read = (row: Readonly<Record<string, unknown>>) => readRow(model, row);
  const written = [...columns, 'mac', 'folded'];
  const valuesOf = (row: Row, mac: string) => [
    ...columns.map((column) => row[column] ?? null),
    mac,
    searchText(searched.map((column) => String(row[column] ?? ''))),
  ];
  const own = `l.${id.at(-1)}`;
  const timed = (column: string): OrderColumn => ({ by: `l.${column}`, type: 'timestamptz' });
  const rows: SignedRows<Row> = {
    list: tableList(look, {
      from: `${table} l`,
      columns: columns.map((column) => `l.${column}`).join(', '),
      id: own,
      orders: { id: { by: own, type: 'text' }, created_at: timed('created_at'), updated_at: timed('updated_at') },
      whereOf: ({ environment }) => ({ conditions: [['l.environment = $', environment]] }),
      read,
    }),
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
      const places = written.map((_, at) => `$${at + 1}`);
      const text = `INSERT INTO ${table} (${written.join(', ')}) VALUES (${places.join(', ')})
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
      const changes = written.map((column, at) => `${column} = $${at + 1}`);
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
