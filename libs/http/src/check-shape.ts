import addFormats from 'ajv-formats';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { TSchema } from '@sinclair/typebox';
import { AppError, type ErrorCode, type Fault } from '@sealgate/errors';
import { faultsOf } from './faults.ts';
import { isInstant } from './instant.ts';
import { DECIMAL_KEYWORD, isDecimalIn } from './parameters.ts';
import type { Exchange } from './exchange.ts';
import type { MountedRoute } from './mounted-route.ts';
import { notFound } from './path-pattern.ts';

/**
 * Query and body against their schemas, all faults at once; then the path, whose misfits are rows that cannot exist.
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

/** A cursor is bound to filters that were valid: beside one that cannot be, it is of no list, and that is told first. */
function besideCursor({ query }: Exchange, faults: readonly Fault[]): AppError | undefined {
  const isPaged = typeof query === 'object' && query !== null && 'cursor' in query;
  const isOfFilters = faults.every((fault) => fault.in === 'query' && fault.pointer !== '/limit');
  if (!isPaged || !isOfFilters) return undefined;
  const fault = { in: 'query', pointer: '/cursor', detail: 'is of no list with these filters' } as const;
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

export interface ParsedQuery {
  readonly values: Readonly<Record<string, string>>;
  /** Parameters that are unknown or came more than once. */
  readonly faults: readonly Fault[];
}

/** More faults than this help nobody. */
export const MAX_FAULTS = 100;

/** Reads the query of a URL: every parameter must be known and come once. */
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

/** One token of an RFC 6901 pointer. */
export function escapePointer(token: string): string {
  return token.replaceAll('~', '~0').replaceAll('/', '~1');
}

/**
 * Bodies up to this size are checked to the end, so that every fault is told at once. A larger one could hold a million
 * faults, and naming them would stall the process: there the first one has to do.
 */
const ALL_FAULTS_MAX_BYTES = 262_144;

/** Checks a value; the answer is its faults, none when it fits. */
export type Validator = (value: unknown, sizeBytes: number) => readonly Fault[];

function newAjv(allErrors: boolean): Ajv {
  const ajv = new Ajv({ strict: true, allErrors, coerceTypes: false, useDefaults: false, ownProperties: true });
  addFormats.default(ajv);
  ajv.addFormat('date-time', isInstant);
  ajv.addKeyword({ keyword: DECIMAL_KEYWORD, type: 'string', schemaType: 'object', validate: isDecimalIn });
  return ajv;
}

/** When the schemas of an app are compiled. At first use a process starts in half the time and with 15 MiB less. */
export type CompileTime = 'at-start' | 'at-first-use';

/** Compiles the schemas of one app. Both compilers are made once and used for all of them. */
export class SchemaCompiler {
  readonly #thorough = newAjv(true);
  readonly #brief = newAjv(false);
  readonly #when: CompileTime;

  constructor(when: CompileTime) {
    this.#when = when;
  }

  /** @throws Error when the schema is not valid under ajv's strict mode; at first use, it is the validator that throws it. */
  compile(schema: TSchema, where: Fault['in']): Validator {
    let thorough = this.#when === 'at-start' ? this.#thorough.compile(schema) : undefined;
    let brief: ValidateFunction | undefined;
    return (value, sizeBytes) => {
      if (sizeBytes <= ALL_FAULTS_MAX_BYTES) {
        thorough ??= this.#thorough.compile(schema);
        return thorough(value) ? [] : faultsOf(errorsOf(thorough), where);
      }
      brief ??= this.#brief.compile(schema);
      return brief(value) ? [] : faultsOf(errorsOf(brief), where);
    };
  }
}

function errorsOf(validate: ValidateFunction): readonly ErrorObject[] {
  return validate.errors ?? [];
}
