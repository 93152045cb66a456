import type { RowScope } from '../domain/caller.ts';
import { SEEN_BY_ALL, type Doc, type FilteredDoc, type RowAttributes } from '../domain/resource.ts';
import { KIND_OF } from '../domain/kinds.ts';
import type { KindName } from '../domain/resource.ts';

/**
 * The SQL condition for the rows of a table that a caller may see; the table has `org_id` and, where rows are filtered,
 * `owner_id`, `department` and `sensitive`. Adds its parameters to `values`. Every read, count, aggregate and walk of every
 * door goes through it; there is no other way to a row.
 */
export function rowCondition(alias: string, scope: RowScope, values: unknown[], rowFiltered = true): string {
  const parameter = (value: unknown, type: string) => `$${values.push(value)}::${type}`;
  const ofOrg = `${alias}.org_id = ${parameter(scope.orgId, 'text')}`;
  if (!rowFiltered) return ofOrg;
  const isOwner = `${alias}.owner_id = ${parameter(scope.ownerId, 'text')}`;
  const unrestricted = parameter(scope.unrestricted, 'boolean');
  const inDepartment = `${alias}.department = ANY (${parameter(scope.departments, 'text[]')})`;
  const sensitive = parameter(scope.canReadSensitive, 'boolean');
  return `${ofOrg} AND (${unrestricted} OR ${isOwner} OR ${inDepartment})
    AND (NOT ${alias}.sensitive OR ${sensitive} OR ${isOwner})`;
}

/** What the condition looks at, of a document. */
export function attributesOf(kind: KindName, doc: Doc): RowAttributes {
  if (!KIND_OF[kind].rowFiltered) return SEEN_BY_ALL;
  const { ownerId, department, sensitive } = doc as FilteredDoc; // Kinds whose rows are filtered have these members.
  return { ownerId, department, sensitive };
}
