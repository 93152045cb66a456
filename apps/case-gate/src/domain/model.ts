import { instantOf } from '@sealgate/json';
import { unlimited } from '@sealgate/schemas';
import { Type, TypeGuard, type Static, type TObject, type TProperties, type TSchema } from '@sinclair/typebox';

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

/** The same members as an answer describes them: limits of requests are not repeated. */
export function answered<Model extends TObject>(model: Model): Model {
  const members = Object.entries(model.properties).map(([name, schema]) => [
    name,
    TypeGuard.IsOptional(schema) ? Type.Optional(unlimited(schema)) : unlimited(schema),
  ]);
  // The static type is that of the model.
  return Type.Object(Object.fromEntries(members) as Model['properties']) as unknown as Model;
}

/** The members of a record that an answer has. */
export function answerOf<Answer extends TObject>(answer: Answer, record: RecordOf<Answer>): Static<Answer> {
  const members: Readonly<Record<string, unknown>> = record;
  const answered: Record<string, unknown> = {};
  for (const name in answer.properties) answered[name] = members[name];
  // Every member of the answer is one of the record's.
  return answered;
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

function inOneForm(value: unknown, schema: TSchema): unknown {
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'string' && schema['format'] === 'date-time' ? instantOf(value).toISOString() : value;
}
