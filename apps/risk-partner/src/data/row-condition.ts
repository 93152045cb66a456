import type { Statement } from '@sealgate/storage';
import type { RowScope } from '../domain/caller.ts';
import { KIND_OF } from '../domain/kinds.ts';
import { SEEN_BY_ALL, type Doc, type FilteredDoc, type KindName, type RowAttributes } from '../domain/resource.ts';

/**
 * The SQL condition for the rows that a caller may see. The table has `org_id` and, where rows are filtered, `owner_id`,
 * `department` and `sensitive`. Appends its parameters to `values`. Every list, count, aggregate and cursor walk uses it, by
 * REST and by tools.
 *
 * Conditions that do not narrow the scope are left out, so there are few distinct statements, and PostgreSQL can estimate
 * and plan each of them once, independently of the parameter values.
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

/**
 * The condition for the counts of all rows that a caller may see: the counts without an owner of what others may see as
 * well, and those of the caller's own rows among the rest. Together they count every visible row once.
 */
export function countCondition(alias: string, scope: RowScope, values: unknown[], rowFiltered = true): string {
  const parameter = (value: unknown, type: string) => `$${values.push(value)}::${type}`;
  const ofOrg = `${alias}.org_id = ${parameter(scope.orgId, 'text')}`;
  const { ownerId, unrestricted, canReadSensitive, departments } = scope;
  if (!rowFiltered || (unrestricted && canReadSensitive)) return `${ofOrg} AND ${alias}.owner_id = ''`;
  const isShared = [
    ...(unrestricted ? [] : [`${alias}.department = ANY (${parameter(departments, 'text[]')})`]),
    ...(canReadSensitive ? [] : [`NOT ${alias}.sensitive`]),
  ].join(' AND ');
  const owners = parameter(ownerId === null ? [''] : ['', ownerId], 'text[]');
  return `${ofOrg} AND ${alias}.owner_id = ANY (${owners}) AND (${alias}.owner_id = '') = (${isShared})`;
}

/** The attributes of a document that row filters look at. */
export function attributesOf(kind: KindName, doc: Doc): RowAttributes {
  if (!KIND_OF[kind].rowFiltered) return SEEN_BY_ALL;
  const { ownerId, department, sensitive } = doc as FilteredDoc; // Row-filtered kinds have these members.
  return { ownerId, department, sensitive };
}

/** The columns of these attributes, in every table whose rows are filtered. */
export const attributeColumns = ({ ownerId, department, sensitive }: RowAttributes) => ({
  owner_id: ownerId,
  department,
  sensitive,
});

/** Upper bound on prepared statements: there are few combinations of parts, so more than this would be a leak. */
const MAX_PREPARED = 500;
const names = new Map<string, string>();

/**
 * Names a statement by its text, so that each connection plans it once. Hot reads are assembled from parts; each
 * combination is a statement of its own.
 */
export function prepared(text: string, values: readonly unknown[]): Statement {
  const known = names.get(text);
  if (known !== undefined) return { name: known, text, values };
  if (names.size >= MAX_PREPARED) return { text, values };
  const name = `risk read ${names.size + 1}`;
  names.set(text, name);
  return { name, text, values };
}
