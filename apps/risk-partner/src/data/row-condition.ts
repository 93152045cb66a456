import type { RowScope } from '../domain/caller.ts';
import { SEEN_BY_ALL, type Doc, type FilteredDoc, type RowAttributes } from '../domain/resource.ts';
import { KIND_OF } from '../domain/kinds.ts';
import type { KindName } from '../domain/resource.ts';

/**
 * The SQL condition for the rows of a table that a caller may see; the table has `org_id` and, where rows are filtered,
 * `owner_id`, `department` and `sensitive`. Adds its parameters to `values`. Every read, count, aggregate and walk of every
 * door goes through it; there is no other way to a row.
 *
 * What does not narrow a scope is left out of the text: so there are few texts, and PostgreSQL knows of each how many rows
 * it keeps without looking at the values, and plans it once.
 */
export function rowCondition(alias: string, scope: RowScope, values: unknown[], rowFiltered = true): string {
  const parameter = (value: unknown, type: string) => `$${values.push(value)}::${type}`;
  const ofOrg = `${alias}.org_id = ${parameter(scope.orgId, 'text')}`;
  if (!rowFiltered) return ofOrg;
  const { ownerId, unrestricted, canReadSensitive } = scope;
  if (unrestricted && canReadSensitive) return ofOrg;
  const isOwner = ownerId === null ? [] : [`${alias}.owner_id = ${parameter(ownerId, 'text')}`];
  const anyOf = (conditions: readonly string[]) => `(${[...conditions, ...isOwner].join(' OR ')})`;
  const inScope = () => anyOf([`${alias}.department = ANY (${parameter(scope.departments, 'text[]')})`]);
  return [
    ofOrg,
    ...(unrestricted ? [] : [inScope()]),
    ...(canReadSensitive ? [] : [anyOf([`NOT ${alias}.sensitive`])]),
  ].join(' AND ');
}

/** What the condition looks at, of a document. */
export function attributesOf(kind: KindName, doc: Doc): RowAttributes {
  if (!KIND_OF[kind].rowFiltered) return SEEN_BY_ALL;
  const { ownerId, department, sensitive } = doc as FilteredDoc; // Kinds whose rows are filtered have these members.
  return { ownerId, department, sensitive };
}
