import { unlimited } from '@sealgate/schemas';
import { TypeGuard, type TNull, type TOptional, type TProperties, type TSchema, type TUnion } from '@sinclair/typebox';
import { OrNull } from '../schemas.ts';

type Answered<Members> = {
  [Name in keyof Members]: Members[Name] extends TOptional<infer Schema extends TSchema>
    ? TUnion<[Schema, TNull]>
    : Members[Name];
};

/**
 * The members of a model as answers describe them: limits of requests are not repeated, and an optional member without a
 * value is null. Named schemas are the same in both.
 */
export function answered<Members extends TProperties>(members: Members): Answered<Members> {
  const answers = Object.entries(members).map(([name, schema]) => [
    name,
    TypeGuard.IsOptional(schema) ? OrNull(unlimited(schema)) : unlimited(schema),
  ]);
  // The same members; only their limits are gone.
  return Object.fromEntries(answers) as Answered<Members>;
}

/** The same members, which may be null. */
export const nullable = <Members extends TProperties>(
  members: Members,
): { [Name in keyof Members]: TUnion<[Members[Name], TNull]> } =>
  // The same members.
  Object.fromEntries(Object.entries(members).map(([name, schema]) => [name, OrNull(schema)])) as never;

/** The members of a model as an answer has them: those without a value are null. */
export function answerOf<Record extends object>(
  { properties }: { readonly properties: { readonly [Name in keyof Record]-?: TSchema } },
  record: Record,
): { [Name in keyof Record]-?: Exclude<Record[Name], undefined> | null } {
  const members = Object.keys(properties).map((name) => [name, record[name as keyof Record] ?? null]);
  return Object.fromEntries(members) as ReturnType<typeof answerOf<Record>>;
}
