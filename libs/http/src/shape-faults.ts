import type { Fault } from '@sealgate/errors';
import { escapePointer } from '@sealgate/json';
import type { TSchema } from '@sinclair/typebox';
import type { ErrorObject } from 'ajv';
import { DECIMAL_KEYWORD, nameOf } from './schemas.ts';

/** Maximum number of faults in one problem. */
export const MAX_FAULTS = 100;

/** Filtering unions is quadratic, so only this many errors are examined. */
const MAX_ERRORS = 500;

/** Reasons in the detail of one union; each has a fault of its own as well. */
const MAX_REASONS = 3;

/**
 * Converts errors of ajv against a schema without references to faults, one per location. Details state what is
 * expected and never quote the input.
 */
export function faultsOf(found: readonly ErrorObject[], schema: TSchema, where: Fault['in']): Fault[] {
  const errors = found.slice(0, MAX_ERRORS);
  const { shadowed, details } = readUnions(errors, schema);
  const faults = new Map<string, Fault>();
  for (const error of errors) {
    if (shadowed.has(error)) continue;
    const pointer = pointerOf(error);
    const detail = details.get(error) ?? detailOf(error);
    if (!faults.has(pointer)) faults.set(pointer, { in: where, pointer, detail });
    if (faults.size === MAX_FAULTS) break;
  }
  return [...faults.values()];
}

interface ReadUnions {
  /** Errors that are not reported: those of other forms than the nearest, and those that the union's detail states. */
  readonly shadowed: Set<ErrorObject>;
  readonly details: Map<ErrorObject, string>;
}

/** A failed union reports the errors of each branch and one of its own, which is last. */
function readUnions(errors: readonly ErrorObject[], schema: TSchema): ReadUnions {
  const shadowed = new Set<ErrorObject>();
  const details = new Map<ErrorObject, string>();
  for (const union of errors) {
    if (union.keyword !== 'anyOf' && union.keyword !== 'oneOf') continue;
    const forms = formsOf(union, schema, errors);
    const all = forms.flatMap((form) => form.errors);
    const constants = all.filter((error) => error.keyword === 'const');
    if (all.length > 0 && constants.length === all.length && all.every((error) => isAt(union, error))) {
      for (const error of all) shadowed.add(error);
      details.set(union, `must be one of ${listOf(constants.map((error): unknown => error.params['allowedValue']))}`);
      continue;
    }
    const [nearest, ...others] = forms.toSorted((a, b) => a.distance - b.distance);
    const reasons = nearest?.errors.filter((error) => !shadowed.has(error)) ?? [];
    const isOnlyForm = others.every(({ isNull }) => isNull);
    if (isOnlyForm && reasons.some((error) => !isAt(union, error))) shadowed.add(union);
    details.set(union, unionDetail(union, { nearest, isOnlyForm, reasons, details }));
    for (const error of reasons) if (isAt(union, error)) shadowed.add(error);
    for (const error of others.flatMap((form) => form.errors)) shadowed.add(error);
  }
  return { shadowed, details };
}

interface Form {
  readonly name: string;
  readonly isNull: boolean;
  readonly errors: readonly ErrorObject[];
  /** How far the value is from this form. */
  readonly distance: number;
}

function formsOf(union: ErrorObject, schema: TSchema, errors: readonly ErrorObject[]): readonly Form[] {
  const schemas = schemaAt(schema, union.schemaPath) as readonly TSchema[];
  return schemas.map((form, index) => {
    const own = errors.filter((error) => isOfForm(error, union, index));
    const isNull = form['type'] === 'null';
    const named = nameOf(form)?.name ?? form['format'] ?? form['type'];
    const name = typeof named === 'string' ? named : String(index + 1);
    return { name, isNull, errors: own, distance: distanceOf(union, own, isNull) };
  });
}

const [ANOTHER_KIND, ANOTHER_TYPE, NULL] = [1e4, 1e5, 1e6];

/** null is nearest to nothing; then the type of the value counts, then members with a constant, then what failed. */
function distanceOf(union: ErrorObject, errors: readonly ErrorObject[], isNull: boolean): number {
  const isOtherType = errors.some((error) => error.keyword === 'type' && isAt(union, error));
  const constants = errors.filter(({ keyword }) => keyword === 'const' || keyword === 'enum');
  return errors.length + constants.length * ANOTHER_KIND + (isOtherType ? ANOTHER_TYPE : 0) + (isNull ? NULL : 0);
}

function isOfForm(error: ErrorObject, union: ErrorObject, index: number): boolean {
  return (
    error !== union &&
    error.schemaPath.startsWith(`${union.schemaPath}/${index}/`) &&
    (error.instancePath === union.instancePath || error.instancePath.startsWith(`${union.instancePath}/`))
  );
}

const isAt = (union: ErrorObject, error: ErrorObject): boolean => pointerOf(error) === union.instancePath;

/** What a path of ajv names: a pointer in the fragment of a URL. */
function schemaAt(schema: TSchema, path: string): unknown {
  const tokens = path.split('/').slice(1);
  return tokens.reduce<unknown>((at, token) => {
    const name = decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~');
    return (at as Readonly<Record<string, unknown>>)[name];
  }, schema);
}

function unionDetail(
  union: ErrorObject,
  {
    nearest,
    isOnlyForm,
    reasons,
    details,
  }: {
    nearest: Form | undefined;
    isOnlyForm: boolean;
    reasons: readonly ErrorObject[];
    details: ReadonlyMap<ErrorObject, string>;
  },
): string {
  const none = 'matches none of the allowed forms';
  if (nearest === undefined || reasons.length === 0) return none;
  const why = reasons.slice(0, MAX_REASONS).map((error) => {
    const inside = pointerOf(error).slice(union.instancePath.length);
    return `${inside}${inside === '' ? '' : ' '}${details.get(error) ?? detailOf(error)}`;
  });
  if (isOnlyForm) return why.join('; ');
  return `${none}; nearest is the form ${nearest.name}: ${why.join('; ')}`;
}

/** A missing or unknown member is reported at the member, not at its object. */
function pointerOf(error: ErrorObject): string {
  const params: Readonly<Record<string, unknown>> = error.params;
  const member = params['additionalProperty'] ?? params['missingProperty'] ?? params['propertyName'];
  return typeof member === 'string' ? `${error.instancePath}/${escapePointer(member)}` : error.instancePath;
}

const TIME_DETAIL = 'must be an RFC 3339 time with Z or an offset, and up to 12 fraction digits';

const PLURALS = { character: 'characters', entry: 'entries' };

const counted = (limit: unknown, unit: keyof typeof PLURALS): string =>
  `${limit} ${limit === 1 ? unit : PLURALS[unit]}`;

/** By keyword, in plain words: people read them at the fields of forms, too. */
const DETAILS: Readonly<Record<string, (params: ErrorObject['params']) => string | undefined>> = {
  additionalProperties: () => 'is not a known member',
  required: () => 'is required',
  const: ({ allowedValue }) => `must be ${JSON.stringify(allowedValue)}`,
  enum: ({ allowedValues }) => `must be one of ${listOf(allowedValues)}`,
  [DECIMAL_KEYWORD]: () => 'must be a whole number within the documented range',
  format: ({ format }) => (format === 'date-time' ? TIME_DETAIL : undefined),
  pattern: ({ pattern }) => `must have the documented form, ${pattern}`,
  minLength: ({ limit }) => (limit === 1 ? 'must not be empty' : `must have at least ${counted(limit, 'character')}`),
  maxLength: ({ limit }) => `must have at most ${counted(limit, 'character')}`,
  minItems: ({ limit }) => (limit === 1 ? 'must not be empty' : `must have at least ${counted(limit, 'entry')}`),
  maxItems: ({ limit }) => `must have at most ${counted(limit, 'entry')}`,
  uniqueItems: () => 'must have no entry twice',
  minimum: ({ limit }) => `must be at least ${limit}`,
  maximum: ({ limit }) => `must be at most ${limit}`,
};

const detailOf = ({ keyword, params, message }: ErrorObject): string =>
  DETAILS[keyword]?.(params) ?? message ?? 'does not fit';

function listOf(values: unknown): string {
  return Array.isArray(values) ? values.map((value) => JSON.stringify(value)).join(', ') : 'the documented values';
}
