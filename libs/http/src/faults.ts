import type { ErrorObject } from 'ajv';
import type { Fault } from '@sealgate/errors';
import { DECIMAL_KEYWORD } from './parameters.ts';
import { escapePointer } from './check-shape.ts';

/** A problem document names at most this many faults. */
const MAX_FAULTS = 100;

/** Sorting out unions compares errors with each other, so only so many are looked at. */
const MAX_ERRORS = 500;

/** What ajv found, one fault for each place. Details say what is expected and never what was sent. */
export function faultsOf(found: readonly ErrorObject[], where: Fault['in']): Fault[] {
  const errors = found.slice(0, MAX_ERRORS);
  const shadowed = shadowedByUnions(errors);
  const faults = new Map<string, Fault>();
  for (const error of errors) {
    if (shadowed.has(error)) continue;
    const pointer = pointerOf(error);
    if (!faults.has(pointer)) faults.set(pointer, { in: where, pointer, detail: detailOf(error, errors) });
    if (faults.size === MAX_FAULTS) break;
  }
  return [...faults.values()];
}

/**
 * A union fails with the errors of each of its branches and one of its own. Where a branch failed inside the value
 * (an object that may also be null), only what is inside helps; where all failed at the value itself, only the union does.
 */
function shadowedByUnions(errors: readonly ErrorObject[]): Set<ErrorObject> {
  const shadowed = new Set<ErrorObject>();
  for (const union of errors) {
    if (union.keyword !== 'anyOf' && union.keyword !== 'oneOf') continue;
    const branches = errors.filter((error) => isBranchOf(error, union));
    const inside = branches.filter((error) => pointerOf(error) !== union.instancePath);
    if (inside.length > 0) shadowed.add(union);
    for (const branch of branches) if (pointerOf(branch) === union.instancePath) shadowed.add(branch);
  }
  return shadowed;
}

function isBranchOf(error: ErrorObject, union: ErrorObject): boolean {
  return (
    error !== union &&
    error.schemaPath.startsWith(`${union.schemaPath}/`) &&
    (error.instancePath === union.instancePath || error.instancePath.startsWith(`${union.instancePath}/`))
  );
}

/** The place of a member that is missing or unknown is the member, not the object around it. */
function pointerOf(error: ErrorObject): string {
  const params: Readonly<Record<string, unknown>> = error.params;
  const member = params['additionalProperty'] ?? params['missingProperty'] ?? params['propertyName'];
  return typeof member === 'string' ? `${error.instancePath}/${escapePointer(member)}` : error.instancePath;
}

function detailOf(error: ErrorObject, all: readonly ErrorObject[]): string {
  switch (error.keyword) {
    case 'additionalProperties':
      return 'is not a known member';
    case 'required':
      return 'is required';
    case 'const':
      return `must be ${JSON.stringify(error.params['allowedValue'])}`;
    case 'enum':
      return `must be one of ${listOf(error.params['allowedValues'])}`;
    case DECIMAL_KEYWORD:
      return 'must be a whole number within the documented range';
    case 'anyOf':
    case 'oneOf':
      return unionDetail(error, all);
    default:
      return error.message ?? 'does not fit';
  }
}

/** A union of constants reads as a list of them. */
function unionDetail(union: ErrorObject, all: readonly ErrorObject[]): string {
  const branches = all.filter((error) => isBranchOf(error, union));
  if (branches.length === 0 || branches.some((error) => error.keyword !== 'const')) {
    return 'matches none of the allowed forms';
  }
  return `must be one of ${listOf(branches.map((error): unknown => error.params['allowedValue']))}`;
}

function listOf(values: unknown): string {
  return Array.isArray(values) ? values.map((value) => JSON.stringify(value)).join(', ') : 'the documented values';
}
