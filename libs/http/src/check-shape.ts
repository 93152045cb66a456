import { AppError, type ErrorCode, type Fault } from '@sealgate/errors';
import type { TSchema } from '@sinclair/typebox';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import type { Exchange } from './exchange.ts';
import type { MountedRoute } from './mount.ts';
import { DECIMAL_KEYWORD, isDecimalIn } from './schemas.ts';

/**
 * Validates query and body against their schemas and reports all faults at once; then the path parameters, where a
 * mismatch is a missing row.
 * @throws AppError UNKNOWN_PARAMETER, INVALID_LIMIT, INVALID_CURSOR, INVALID_REQUEST (in this precedence), NOT_FOUND.
 */
export function checkShape(exchange: Exchange, mounted: MountedRoute): void {
  const { knownParameters, checkQuery, checkBody, checkParams } = mounted;
  let faults: readonly Fault[] = [];
  if (knownParameters !== undefined) {
    const { url } = exchange.request;
    const query = parseQuery(url, knownParameters);
    if (query.faults.length > 0) throw new AppError('UNKNOWN_PARAMETER', 'The query is not as documented.', query);
    exchange.query = query.values;
    if (checkQuery !== undefined) faults = checkQuery(query.values, url.length);
  }
  if (checkBody !== undefined) faults = [...faults, ...checkBody(exchange.body, exchange.rawBody.length)];
  if (faults.length > 0) {
    throw besideCursor(exchange, faults) ?? shapeError(faults, mounted.route.pagedBy === 'body' ? 'body' : 'query');
  }
  if (checkParams !== undefined && checkParams(exchange.params, 0).length > 0) throw notFound();
}

type PathValues = Readonly<Record<string, string>>;

/**
 * The decoded parameters of a request. An encoded dot segment, or an encoded slash in the rest of a path, is a 404.
 * With `withoutRest` the rest is left out; the handler checks it.
 */
export function pathValuesOf(
  params: Readonly<Record<string, string | string[]>>,
  { withoutRest = false }: { readonly withoutRest?: boolean | undefined } = {},
): PathValues {
  const values: Record<string, string> = {};
  for (const name in params) {
    const value = params[name] ?? '';
    if (typeof value === 'string') values[name] = checkedSegment(value);
    else if (!withoutRest) values[name] = value.map(checkedRestSegment).join('/');
  }
  return values;
}

/** The 404 of everything that does not exist. */
export function notFound(): AppError {
  return new AppError('NOT_FOUND', 'There is nothing at this path.');
}

/** Whether a segment can name something; `.` and `..` are directions, encoded or not. */
const isName = (segment: string): boolean => segment !== '.' && segment !== '..' && segment !== '';

/** Whether every decoded segment of a path can name something: else nothing is there, whatever the method. */
export const areNames = (params: Readonly<Record<string, string | string[]>>): boolean =>
  Object.values(params).flat().every(isName);

function checkedSegment(segment: string): string {
  if (!isName(segment)) throw notFound();
  return segment;
}

function checkedRestSegment(segment: string): string {
  if (segment.includes('/')) throw notFound();
  return checkedSegment(segment);
}

/**
 * A cursor is bound to its filters. With an invalid filter no cursor can match, and INVALID_CURSOR takes precedence.
 */
function besideCursor({ query }: Exchange, faults: readonly Fault[]): AppError | undefined {
  const isPaged = typeof query === 'object' && query !== null && 'cursor' in query;
  const isOfFilters = faults.every((fault) => fault.in === 'query' && fault.pointer !== '/limit');
  if (!isPaged || !isOfFilters) return undefined;
  const fault = { in: 'query', pointer: '/cursor', detail: 'does not belong to a list with these filters' } as const;
  return parameterError('INVALID_CURSOR', 'cursor', [fault]);
}

function shapeError(faults: readonly Fault[], pagedBy: 'query' | 'body'): AppError {
  const of = (name: string) => faults.filter((fault) => fault.in === pagedBy && fault.pointer === `/${name}`);
  return (
    parameterError('INVALID_LIMIT', 'limit', of('limit')) ??
    parameterError('INVALID_CURSOR', 'cursor', of('cursor')) ??
    new AppError('INVALID_REQUEST', 'The request is not as documented; errors lists every fault.', { faults })
  );
}

function parameterError(code: ErrorCode, name: string, faults: readonly Fault[]): AppError | undefined {
  return faults.length === 0 ? undefined : new AppError(code, `The ${name} is not valid.`, { faults });
}

interface ParsedQuery {
  readonly values: Readonly<Record<string, string>>;
  /** Unknown or repeated parameters. */
  readonly faults: readonly Fault[];
}

/** Maximum number of faults in one problem. */
export const MAX_FAULTS = 100;

/** Parses the query string of a URL. Every parameter must be known and appear once. */
export function parseQuery(url: string, known: ReadonlySet<string>): ParsedQuery {
  const start = url.indexOf('?');
  if (start < 0 || start === url.length - 1) return { values: {}, faults: [] };
  const values: Record<string, string> = {};
  const faults = new Map<string, Fault>();
  for (const [name, value] of new URLSearchParams(url.slice(start + 1))) {
    if (!known.has(name)) faults.set(name, fault(name, 'is not a parameter of this path'));
    else if (Object.hasOwn(values, name)) faults.set(name, fault(name, 'may be given once'));
    else values[name] = value;
    if (faults.size === MAX_FAULTS) break;
  }
  return { values, faults: [...faults.values()] };
}

function fault(name: string, detail: string): Fault {
  return { in: 'query', pointer: `/${escapePointer(name)}`, detail };
}

/** Escapes one token of an RFC 6901 pointer. */
export function escapePointer(token: string): string {
  return token.replaceAll('~', '~0').replaceAll('/', '~1');
}

/**
 * Up to this size validation reports all faults. A larger body could hold a million faults, and collecting them would
 * block the event loop: there validation stops at the first.
 */
const ALL_FAULTS_MAX_BYTES = 262_144;

/** Validates a value. Returns its faults; empty if it is valid. */
export type Validator = (value: unknown, sizeBytes: number) => readonly Fault[];

function newAjv(allErrors: boolean): Ajv {
  const ajv = new Ajv({ strict: true, allErrors, coerceTypes: false, useDefaults: false, ownProperties: true });
  addFormats.default(ajv);
  ajv.addFormat('date-time', isInstant);
  ajv.addKeyword({ keyword: DECIMAL_KEYWORD, type: 'string', schemaType: 'object', validate: isDecimalIn });
  return ajv;
}

/** When schemas are compiled. `at-first-use` halves the start time of a process and saves 15 MiB. */
export type CompileTime = 'at-start' | 'at-first-use';

/** Compiles the schemas of one app, with two shared ajv instances. */
export class SchemaCompiler {
  readonly #allErrors = newAjv(true);
  readonly #firstError = newAjv(false);
  readonly #when: CompileTime;

  constructor(when: CompileTime) {
    this.#when = when;
  }

  /** @throws Error when ajv's strict mode rejects the schema; with `at-first-use` the validator throws it. */
  compile(schema: TSchema, where: Fault['in']): Validator {
    let checkAll = this.#when === 'at-start' ? this.#allErrors.compile(schema) : undefined;
    let checkFirst: ValidateFunction | undefined;
    return (value, sizeBytes) => {
      if (sizeBytes <= ALL_FAULTS_MAX_BYTES) {
        checkAll ??= this.#allErrors.compile(schema);
        return checkAll(value) ? [] : faultsOf(errorsOf(checkAll), where);
      }
      checkFirst ??= this.#firstError.compile(schema);
      return checkFirst(value) ? [] : faultsOf(errorsOf(checkFirst), where);
    };
  }
}

function errorsOf(validate: ValidateFunction): readonly ErrorObject[] {
  return validate.errors ?? [];
}

/** Filtering unions is quadratic, so only this many errors are examined. */
const MAX_ERRORS = 500;

/** Converts errors of ajv to faults, one per location. Details state what is expected and never quote the input. */
function faultsOf(found: readonly ErrorObject[], where: Fault['in']): Fault[] {
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
 * A failed union reports the errors of each branch and one of its own. If a branch failed inside the value (an object
 * that may also be null), keep only the inner errors; if all failed at the value itself, keep only the union's.
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

/** A missing or unknown member is reported at the member, not at its object. */
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

/** Reports a union of constants as a list of them. */
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

/** RFC 3339 with `Z` or an offset and at most three fraction digits; no leap seconds. */
const DATE = '(\\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])';
const TIME = '(?:[01]\\d|2[0-3]):[0-5]\\d';
const INSTANT = new RegExp(`^${DATE}T${TIME}:[0-5]\\d(?:\\.\\d{1,3})?(?:Z|[+-]${TIME})$`);

const MIN_TIME = Date.parse('0001-01-01T00:00:00Z');
const MAX_TIME = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Whether a text is a valid RFC 3339 timestamp of an existing date. */
export function isInstant(text: string): boolean {
  const match = INSTANT.exec(text);
  if (match === null) return false;
  const [, year, month, day] = match.map(Number);
  if (Number(day) > daysIn(Number(year), Number(month))) return false;
  // An offset may move the time outside four-digit years.
  const time = Date.parse(text);
  return time >= MIN_TIME && time <= MAX_TIME;
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}
