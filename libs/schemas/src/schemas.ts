import type { JsonValue } from '@sealgate/json';
import {
  type SchemaOptions,
  type Static,
  type TLiteral,
  type TNull,
  type TNumber,
  type TObject,
  type TOptional,
  type TProperties,
  type TSchema,
  type TString,
  type TUnion,
  Type,
  TypeGuard,
} from '@sinclair/typebox';

/** A value that may be null. */
export const orNull = <Schema extends TSchema>(schema: Schema, options?: SchemaOptions) =>
  Type.Union([schema, Type.Null()], options);

/** Whether a schema was made by `orNull`. */
export const isNullable = (schema: TSchema): boolean =>
  (schema['anyOf'] as TSchema[] | undefined)?.at(-1)?.['type'] === 'null';

type Nulled<Members extends TProperties> = {
  [Name in keyof Members]: Members[Name] extends TOptional<infer Schema extends TSchema>
    ? TUnion<[Schema, TNull]>
    : Members[Name];
};

/** Each member of a model, made by `make`; an optional one is null where it has no value. */
function nulled<Members extends TProperties>(
  { properties }: TObject<Members>,
  make: (schema: TSchema) => TSchema,
): Nulled<Members> {
  const members = Object.entries(properties).map(([name, schema]) => [
    name,
    TypeGuard.IsOptional(schema) ? orNull(make(schema)) : make(schema),
  ]);
  // The same members: what `make` returns has the same values.
  return Object.fromEntries(members) as Nulled<Members>;
}

/**
 * A model as answers describe it: limits of requests are not repeated, and an optional member without a value is null.
 * Named schemas are the same in both.
 */
export function answered<Members extends TProperties>(model: TObject<Members>): TObject<Nulled<Members>> {
  return Type.Object(nulled(model, unlimited));
}

/** The body of a change (RFC 7396): an omitted member stays as it is, and null removes an optional one. */
export function changeOf<Members extends TProperties>(model: TObject<Members>) {
  return closedObject(Type.Partial(Type.Object(nulled(model, (schema) => schema))).properties);
}

/** What an answer is made of: a record with its members, of which those that may be null may be absent. */
type Answerable<Answer> = {
  readonly [Name in keyof Answer as null extends Answer[Name] ? never : Name]: Answer[Name];
} & { readonly [Name in keyof Answer as null extends Answer[Name] ? Name : never]?: Answer[Name] | undefined };

/** The members of a record that an answer has; null without a value. */
export function answerOf<Answer extends TObject>(answer: Answer, record: Answerable<Static<Answer>>): Static<Answer> {
  const members: Readonly<Record<string, unknown>> = record;
  const shown: Record<string, unknown> = {};
  for (const name in answer.properties) shown[name] = members[name] ?? null;
  return shown;
}

function unlimited(schema: TSchema): TSchema {
  if (isNullable(schema)) return orNull(unlimited((schema['anyOf'] as [TSchema])[0]));
  if (schema['type'] === 'string' && schema['format'] === undefined) return Type.String();
  if (schema['type'] === 'array') return Type.Array(Type.String());
  return schema['type'] === 'integer' ? Type.Integer() : schema;
}

/**
 * The members of a model whose type stands elsewhere, without TypeBox: `Type.Object({ ... } satisfies MembersOf<Receipt>)`
 * compiles only while both have the same members, with the same optional ones, and each value of the model is one of the
 * type.
 */
export type MembersOf<Thing> = {
  readonly [Name in keyof Thing]-?: (Partial<Pick<Thing, Name>> extends Pick<Thing, Name>
    ? TOptional<TSchema>
    : TSchema) & {
    readonly static: Thing[Name];
  };
};

/** One line of text, such as an id or a name. Lengths count code points; control characters are refused. */
export function lineOfText(length: { readonly min: number; readonly max: number }): TString {
  return Type.String({ minLength: length.min, maxLength: length.max, pattern: '^[^\\x00-\\x1f\\x7f]*$' });
}

/** An RFC 3339 timestamp that `parseInstant` reads; handlers take it with `instantOf`. */
export function instantText(): TString {
  return Type.String({ format: 'date-time' });
}

/** An object that refuses unknown members. */
export function closedObject<const Members extends TProperties>(members: Members): TObject<Members> {
  return Type.Object(members, { additionalProperties: false });
}

/** A number as JSON has it. Without the format, generated Go clients round to 32 bits. */
export function double(options: SchemaOptions = {}): TNumber {
  return Type.Number({ format: 'double', ...options });
}

/** An object of any members. */
export function openObject(options: SchemaOptions = {}): TObject<Record<never, never>> {
  return Type.Object({}, { additionalProperties: true, ...options });
}

export type JsonObject = { [member: string]: JsonValue };

/** A schema as it was when it was named. */
export interface NamedSchema {
  readonly name: string;
  readonly schema: TSchema;
}

/** Validators and `JSON.stringify` ignore symbol keys; spreading, as in `Type.Optional`, copies them. */
const NAME = Symbol('name of the schema');

/**
 * Names the component of a schema in OpenAPI documents, in Pascal case. Validation is unchanged. In one document,
 * schemas of the same name must be identical.
 */
export function named<Schema extends TSchema>(name: string, schema: Schema): Schema {
  const given: NamedSchema = { name, schema };
  return { ...schema, [NAME]: given };
}

/** Names a schema after the one it holds, with a suffix; unchanged if that has no name. */
export function namedAfter<Schema extends TSchema>(held: TSchema, suffix: string, schema: Schema): Schema {
  const given = nameOf(held);
  return given === undefined ? schema : named(`${given.name}${suffix}`, schema);
}

/** A named enum of string literals. */
export function enumOf<const Word extends string>(
  name: string,
  words: readonly Word[],
  options?: SchemaOptions,
): TUnion<TLiteral<Word>[]> {
  return named(
    name,
    Type.Union(
      words.map((word) => Type.Literal(word)),
      options,
    ),
  );
}

/** The name of a schema; undefined if it has none. */
export function nameOf(schema: TSchema): NamedSchema | undefined {
  return (schema as { readonly [NAME]?: NamedSchema })[NAME];
}

/** Returns a replacement for a schema; undefined keeps the schema. */
type Refer = (schema: TSchema) => JsonObject | undefined;

/** A schema as JSON, with nested schemas inlined. */
export function schemaJson(schema: TSchema): JsonObject {
  return membersJson(schema, () => undefined);
}

/** The members of a schema as JSON. `refer` is called for each nested schema, not for this one. */
export function membersJson(schema: TSchema, refer: Refer): JsonObject {
  const members = Object.entries(schema).filter(([, value]) => value !== undefined);
  const json = enumJson(Object.fromEntries(members.map(([name, value]) => [name, valueJson(value, refer)])));
  return optionalJson(mapJson(json));
}

/**
 * Moves the defaults of optional members into their descriptions: openapi-typescript makes a member with a default
 * required, also in requests.
 */
function optionalJson(json: JsonObject): JsonObject {
  const { properties, required = [] } = json;
  if (json['type'] !== 'object' || properties === undefined) return json;
  const members = Object.entries(properties as { readonly [name: string]: JsonObject }).map(([name, member]) => {
    if (member['default'] === undefined || (required as readonly string[]).includes(name)) return [name, member];
    const { default: value, description, ...rest } = member;
    const said = `Default: ${JSON.stringify(value)}.`;
    return [name, { ...rest, description: description === undefined ? said : `${String(description)} ${said}` }];
  });
  return { ...json, properties: Object.fromEntries(members) as JsonObject };
}

/** The pattern that TypeBox gives the members of a map with text keys. */
const ANY_NAME = '^(.*)$';

/** Turns the pattern of all members into additionalProperties: code generators ignore patterns. */
function mapJson({ patternProperties, ...json }: JsonObject): JsonObject {
  if (patternProperties === undefined) return json;
  const patterns = patternProperties as JsonObject;
  const isMap = Object.keys(patterns).join() === ANY_NAME;
  return isMap ? { ...json, additionalProperties: patterns[ANY_NAME]! } : { ...json, patternProperties };
}

function valueJson(value: unknown, refer: Refer): JsonValue {
  if (Array.isArray(value)) return value.map((item) => valueJson(item, refer));
  if (typeof value !== 'object' || value === null) return value as JsonValue;
  return refer(value as TSchema) ?? membersJson(value as TSchema, refer);
}

/**
 * Turns a union of constants of one type into an enum: some code generators and language models do not support unions.
 */
function enumJson({ anyOf, ...json }: JsonObject): JsonObject {
  if (anyOf === undefined) return json;
  const branches = Array.isArray(anyOf) ? (anyOf as JsonObject[]) : [];
  const [first] = branches;
  const isEnum = branches.every((one) => 'const' in one && one['type'] === first?.['type']);
  if (first === undefined || !isEnum) return { anyOf, ...json };
  return { ...json, type: first['type']!, enum: branches.map((one) => one['const']!) };
}
