import { isDeepStrictEqual } from 'node:util';
import { instantOf } from '@sealgate/json';
import { TypeGuard, type Static, type TProperties, type TSchema } from '@sinclair/typebox';

/**
 * The model of a thing is a schema: its members are the columns of the row, the members of the record that the domain
 * works on, and those of its requests and answers, under the same names. Times are RFC 3339, UTC, milliseconds.
 */
export type RecordOf<Schema extends TSchema> = Readonly<Static<Schema>>;

/** The schema of such records, for code that handles any. */
export interface Model<Record> {
  readonly static: Record;
  readonly properties: TProperties;
}

/**
 * A row as a record: times are text in their one form, and an optional member without a value is absent. The row is as
 * read from the database, or with times as a client may send them.
 */
export function readRow<Record>({ properties }: Model<Record>, row: Readonly<{ [column: string]: unknown }>): Record {
  const record: { [member: string]: unknown } = {};
  for (const [name, schema] of Object.entries(properties)) {
    const value = row[name];
    if ((value ?? null) === null && TypeGuard.IsOptional(schema)) continue;
    record[name] = inOneForm(value, schema);
  }
  // The statement selects the columns of the model.
  return record as Record;
}

/** A record after a change, whose null removes an optional member; the same record where nothing changes. */
export function changedRecord<Row extends { readonly [column: string]: unknown }>(
  model: Model<Row>,
  record: Row,
  change: object,
): Row {
  const changed = readRow(model, { ...record, ...change });
  return isDeepStrictEqual(changed, record) ? record : changed;
}

function inOneForm(value: unknown, schema: TSchema): unknown {
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'string' && schema['format'] === 'date-time' ? instantOf(value).toISOString() : value;
}
