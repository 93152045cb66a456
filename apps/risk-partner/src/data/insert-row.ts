import type { Statement } from '@sealgate/storage';

/** A row by the names of its columns. */
export type Columns = Readonly<Record<string, unknown>>;

/** Inserts a row. Names come from code, never from a request. */
export function insertRow(table: string, columns: Columns): Statement {
  const names = Object.keys(columns);
  const places = names.map((_, index) => `$${index + 1}`);
  return {
    text: `INSERT INTO risk.${table} (${names.join(', ')}) VALUES (${places.join(', ')})`,
    values: Object.values(columns),
  };
}
