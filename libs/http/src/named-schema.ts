import { Type, type SchemaOptions, type TLiteral, type TSchema, type TUnion } from '@sinclair/typebox';
import type { JsonValue } from '@sealgate/json';

export type JsonObject = { [member: string]: JsonValue };

/** A schema as it was when it was given its name. */
export interface NamedSchema {
  readonly name: string;
  readonly schema: TSchema;
}

/** Validators and `JSON.stringify` ignore symbols; copies made by spreading, as `Type.Optional` makes them, keep them. */
const NAME = Symbol('name of the schema');

/**
 * Gives a schema the name of its component in OpenAPI documents, in Pascal case. What validates is the same. Two schemas of
 * one document may share a name only where they are the same.
 */
export function named<Schema extends TSchema>(name: string, schema: Schema): Schema {
  const given: NamedSchema = { name, schema };
  return { ...schema, [NAME]: given };
}

/** The same, named after the schema of what it holds; as it was where that has no name. */
export function namedAfter<Schema extends TSchema>(held: TSchema, suffix: string, schema: Schema): Schema {
  const given = nameOf(held);
  return given === undefined ? schema : named(`${given.name}${suffix}`, schema);
}

/** One of these words: an enum in OpenAPI documents, by this name. */
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

/** The name that a schema was given; undefined for one without. */
export function nameOf(schema: TSchema): NamedSchema | undefined {
  return (schema as { readonly [NAME]?: NamedSchema })[NAME];
}

/** What stands in the place of a schema; undefined: the schema itself. */
export type Refer = (schema: TSchema) => JsonObject | undefined;

/** A schema as JSON, with all that it is made of in place. */
export function schemaJson(schema: TSchema): JsonObject {
  return membersJson(schema, () => undefined);
}

/** The members of a schema as JSON. `refer` is asked for each schema within, and not for this one. */
export function membersJson(schema: TSchema, refer: Refer): JsonObject {
  const members = Object.entries(schema).filter(([, value]) => value !== undefined);
  return enumJson(Object.fromEntries(members.map(([name, value]) => [name, valueJson(value, refer)])));
}

function valueJson(value: unknown, refer: Refer): JsonValue {
  if (Array.isArray(value)) return value.map((item) => valueJson(item, refer));
  if (typeof value !== 'object' || value === null) return value as JsonValue;
  return refer(value as TSchema) ?? membersJson(value as TSchema, refer);
}

/** A union of constants of one type is an enum: not every code generator, and not every model, is given a union. */
function enumJson({ anyOf, ...json }: JsonObject): JsonObject {
  if (anyOf === undefined) return json;
  const branches = Array.isArray(anyOf) ? (anyOf as JsonObject[]) : [];
  const [first] = branches;
  const isEnum = branches.every((one) => 'const' in one && one['type'] === first?.['type']);
  if (first === undefined || !isEnum) return { anyOf, ...json };
  return { ...json, type: first['type']!, enum: branches.map((one) => one['const']!) };
}
