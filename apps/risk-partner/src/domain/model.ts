import assert from 'node:assert/strict';
import { instantOf, type JsonValue } from '@sealgate/json';
import { closedObject, isNullable, nameOf } from '@sealgate/schemas';
import { Type, type Static, type TObject, type TOptional, type TProperties, type TSchema } from '@sinclair/typebox';
import { OrNull, Sha256 } from '../schemas.ts';

/** A member with the label, and the hint, that forms show. */
export const labelled = <Schema extends TSchema>(title: string, schema: Schema, description?: string): Schema => ({
  ...schema,
  title,
  ...(description !== undefined && { description }),
});

/** The members that the service sets, and no request. */
type Own = 'id' | 'createdAt' | 'updatedAt';

/** The body of a creation: all members but `required` have a value if they are left out. */
export function newOf<Members extends TProperties, Required extends keyof Members>(
  members: Members,
  required: readonly Required[],
): TObject<{
  [Name in Exclude<keyof Members, Own>]: Name extends Required ? Members[Name] : TOptional<Members[Name]>;
}> {
  const { id: _id, createdAt: _createdAt, updatedAt: _updatedAt, ...asked } = members;
  const body = {
    ...Type.Partial(Type.Object(asked)).properties,
    ...Type.Pick(Type.Object(members), required).properties,
  };
  return closedObject(body) as never; // The same members; those of `required` are not optional.
}

/** The body of a change, which may omit every member. */
export const changeOf = <Members extends TObject>(created: Members) =>
  Type.Partial(created, { additionalProperties: false });

/**
 * Members as responses show them: without the bounds and hints of requests, as older data and rows that link to hidden
 * ones may exceed them. Named schemas are the same in both.
 */
export const shown = <Members extends TProperties>(members: Members): Members =>
  // Each keeps its type: bounds do not change it.
  Object.fromEntries(Object.entries(members).map(([name, schema]) => [name, unbounded(schema)])) as Members;

const BOUNDS = ['minLength', 'maxLength', 'minimum', 'maximum', 'maxItems', 'uniqueItems'] as const;

function unbounded({ description: _hint, ...schema }: TSchema): TSchema {
  const open = schema as TSchema;
  if (nameOf(open) !== undefined) return open;
  for (const bound of BOUNDS) delete open[bound];
  if (open['pattern'] !== Sha256.pattern) delete open['pattern'];
  if (Array.isArray(open['anyOf'])) open['anyOf'] = (open['anyOf'] as TSchema[]).map(unbounded);
  if (open['items'] !== undefined) open['items'] = unbounded(open['items'] as TSchema);
  return open;
}

/**
 * The members of a model that partners see, without labels. `texts` are scanned for personal data, and null if old data
 * held some: every free text is one of them.
 */
export function itemMembers<Members extends TProperties>(
  { properties }: TObject<Members>,
  { texts, others }: Readonly<Record<'texts' | 'others', readonly (keyof Members)[]>>,
): TProperties {
  for (const name of others) {
    const isFree = formsOf(properties[name]!).some((form) => form['maxLength'] !== undefined);
    assert(!isFree, `Partners may see ${String(name)} only as one of the texts.`);
  }
  const seen = Object.entries(shown(properties)).filter(([name]) => texts.includes(name) || others.includes(name));
  return Object.fromEntries(
    seen.map(([name, { title: _label, ...member }]) => {
      const schema = member as TSchema;
      return [name, texts.includes(name) && !isNullable(schema) ? OrNull(schema) : schema];
    }),
  );
}

const formsOf = (schema: TSchema): readonly TSchema[] => (schema['anyOf'] as TSchema[] | undefined) ?? [schema];
const isTime = (schema: TSchema): boolean => formsOf(schema).some((form) => form['format'] === 'date-time');

/** The members of a document that an item has as well. */
export const picked = (item: TObject, doc: object): { [member: string]: JsonValue } =>
  // Documents are JSON.
  Object.fromEntries(Object.entries(doc).filter(([name]) => name in item.properties) as [string, JsonValue][]);

/** The members that nobody has to set: null, false, or a list without items. */
type Unset<Members extends TProperties> = {
  [
    Name in keyof Members as null extends Static<Members[Name]>
      ? Name
      : Static<Members[Name]> extends boolean | readonly unknown[]
        ? Name
        : never
  ]: Static<Members[Name]>;
};

/** A document of which nothing is set: all members, in their order; those that must be set are undefined. */
export function unsetOf<Members extends TProperties>({ properties }: TObject<Members>): Unset<Members> {
  const empty: Readonly<Record<string, unknown>> = { array: [], boolean: false };
  const values = Object.entries(properties).map(([name, schema]) => {
    return [name, isNullable(schema) ? null : empty[String(schema['type'])]] as const;
  });
  return Object.fromEntries(values) as Unset<Members>; // By the same rule.
}

/** Normalises a time sent by a caller, cut to milliseconds. */
export const normalTime = (time: string): string => instantOf(time).toISOString();

/** The members that a body sets, with its times as documents have them: a change leaves the others as they are. */
export function setBy<Body extends object>(
  { properties }: TObject,
  body: Body,
): { [Name in keyof Body]?: Exclude<Body[Name], undefined> } {
  const set = Object.entries(body).flatMap(([name, value]: [string, unknown]) => {
    if (value === undefined) return [];
    return [[name, typeof value === 'string' && isTime(properties[name]!) ? normalTime(value) : value]];
  });
  // Undefined members were filtered out, and times remain texts.
  return Object.fromEntries(set) as { [Name in keyof Body]?: Exclude<Body[Name], undefined> };
}
