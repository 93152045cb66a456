import { AppError, type ErrorCode, type Fault } from '@sealgate/errors';
import { escapePointer, parseInstant } from '@sealgate/json';
import type { TSchema } from '@sinclair/typebox';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import type { Exchange } from './exchange.ts';
import type { MountedRoute, Validator } from './mounted-route.ts';
import { DECIMAL_KEYWORD, isDecimalIn } from './schemas.ts';
import { faultsOf, MAX_FAULTS } from './shape-faults.ts';

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
    throw besideCursor(exchange, faults) ?? shapeError(faults, mounted.pagedBy);
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

/**
 * Up to this size validation reports all faults. A larger body could hold a million faults, and collecting them would
 * block the event loop: there validation stops at the first.
 */
const ALL_FAULTS_MAX_BYTES = 262_144;

function newAjv(allErrors: boolean): Ajv {
  const ajv = new Ajv({ strict: true, allErrors, coerceTypes: false, useDefaults: false, ownProperties: true });
  addFormats.default(ajv);
  ajv.addFormat('date-time', (text: string) => parseInstant(text) !== undefined);
  ajv.addKeyword({ keyword: DECIMAL_KEYWORD, type: 'string', schemaType: 'object', validate: isDecimalIn });
  return ajv;
}

/** When schemas are compiled. `at-first-use` halves the start time of a process and saves 15 MiB. */
export type CompileTime = 'at-start' | 'at-first-use';

/** Shared by all apps of a process: ajv compiles a schema once, however many apps have it. */
const ALL_ERRORS = newAjv(true);
const FIRST_ERROR = newAjv(false);

/** Compiles the schemas of one app. */
export class SchemaCompiler {
  readonly #when: CompileTime;

  constructor(when: CompileTime) {
    this.#when = when;
  }

  /** @throws Error when ajv's strict mode rejects the schema; with `at-first-use` the validator throws it. */
  compile(schema: TSchema, where: Fault['in']): Validator {
    let checkAll = this.#when === 'at-start' ? ALL_ERRORS.compile(schema) : undefined;
    let checkFirst: ValidateFunction | undefined;
    return (value, sizeBytes) => {
      if (sizeBytes <= ALL_FAULTS_MAX_BYTES) {
        checkAll ??= ALL_ERRORS.compile(schema);
        return checkAll(value) ? [] : faultsOf(errorsOf(checkAll), schema, where);
      }
      checkFirst ??= FIRST_ERROR.compile(schema);
      return checkFirst(value) ? [] : faultsOf(errorsOf(checkFirst), schema, where);
    };
  }
}

function errorsOf(validate: ValidateFunction): readonly ErrorObject[] {
  return validate.errors ?? [];
}
