import { AppError, type Fault } from '@sealgate/errors';
import { escapePointer } from '@sealgate/json';
import type { TSchema } from '@sinclair/typebox';
import { SchemaCompiler } from './check-shape.ts';
import type { Validator } from './mounted-route.ts';
import { MAX_FAULTS } from './shape-faults.ts';
import type { Guard } from './guard.ts';
import { pathNames } from './paths.ts';
import type { AnyContext, Reply, Route } from './route.ts';
import { DECIMAL_KEYWORD, type DecimalRange, type JsonObject, schemaJson } from './schemas.ts';

/** Context of a tool call, taken from the request it arrived in. */
export interface ToolCall<Caller> {
  readonly caller: Caller;
  readonly requestId: string;
  readonly traceparent: string;
  readonly signal: AbortSignal;
}

/** A GET route exposed as a tool: same permission, shapes and handler. */
export interface Tool<Caller> {
  readonly name: string;
  readonly title: string;
  /** Tells a model when to use the tool and what it returns. */
  readonly description: string;
  /** JSON Schemas of the arguments, named like the route's parameters, and of the result. */
  readonly inputSchema: JsonObject;
  readonly outputSchema: JsonObject | undefined;
  mayCall(caller: Caller): boolean;
  /** @throws AppError FORBIDDEN, UNKNOWN_PARAMETER, INVALID_LIMIT, INVALID_CURSOR, INVALID_REQUEST, NOT_FOUND, and what the handler throws. */
  call(args: Readonly<Record<string, unknown>>, call: ToolCall<Caller>): Promise<Reply>;
}

/** What a route does not define, and a model needs. */
interface ToolOptions<Caller> extends Pick<Tool<Caller>, 'name' | 'title' | 'description'> {
  readonly guard: Pick<Guard<Caller>, 'permits'>;
  /** Descriptions of path parameters by name: members of their JSON Schema. */
  readonly pathArguments?: Readonly<Record<string, JsonObject>>;
  /** Upper bound in bytes for a page whose caller gives no `limit`: see `pageMaxBytes` of the handler's context. */
  readonly pageMaxBytes?: number;
}

/** The app that mounts the routes reports schemas that do not compile. */
const compiler = new SchemaCompiler('at-first-use');

/**
 * Makes a tool of a GET route. @throws Error for a route with a body, or whose permission or cost its handler decides.
 */
export function toolFrom<Caller>(route: Route<Caller>, options: ToolOptions<Caller>): Tool<Caller> {
  const { permit, query, params } = route;
  if (route.method !== 'get' || route.raw === true || permit === 'open' || permit === 'byHandler')
    throw new Error(`${route.operationId}: only a GET route with a permission of its own makes a tool.`);
  const names = pathNames(route.path);
  const filters = query === undefined || query === 'ignored' ? {} : query.properties;
  const checkFilters = query === undefined || query === 'ignored' ? undefined : compiler.compile(query, 'arguments');
  const checkNames = params === undefined ? undefined : compiler.compile(params, 'arguments');
  const answered = route.responses[200]?.schema;
  const mayCall = (caller: Caller) => permit === 'authenticated' || options.guard.permits(caller, permit);
  return {
    name: options.name,
    title: options.title,
    description: options.description,
    inputSchema: inputSchemaOf(names, filters, options.pathArguments ?? {}),
    outputSchema: answered === undefined ? undefined : schemaJson(answered),
    mayCall,
    async call(args, { caller, requestId, traceparent, signal }) {
      if (!mayCall(caller)) throw new AppError('FORBIDDEN', 'This key may not do that.');
      const values = valuesOf(args, { names, filters });
      check(values.query, checkFilters);
      if ((checkNames?.(values.params, 0).length ?? 0) > 0)
        throw new AppError('NOT_FOUND', 'There is nothing at this path.');
      const pageMaxBytes = 'limit' in values.query ? undefined : options.pageMaxBytes;
      const context = contextOf(values, { caller, requestId, traceparent, signal, mayCall, pageMaxBytes });
      const reply = await asCalled(() => route.handler(context));
      if (reply === undefined) throw new Error('The handler returned no reply.');
      return reply;
    },
  };
}

/** Refusals of the route point into a query or path; a tool call has arguments instead. */
async function asCalled<Answer>(handle: () => Answer | Promise<Answer>): Promise<Answer> {
  try {
    return await handle();
  } catch (error) {
    if (!(error instanceof AppError) || error.faults.length === 0) throw error;
    const { code, message, members, retryAfterSeconds, headers } = error;
    const faults = error.faults.map((one) => ({ ...one, in: 'arguments' as const }));
    const kept = { members, headers, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) };
    throw new AppError(code, message, { ...kept, faults, cause: error });
  }
}

function inputSchemaOf(
  names: readonly string[],
  filters: Readonly<Record<string, TSchema>>,
  pathArguments: Readonly<Record<string, JsonObject>>,
): JsonObject {
  const members = Object.entries(filters).map(([name, schema]) => [name, memberSchema(schema)]);
  return {
    type: 'object',
    properties: {
      ...Object.fromEntries(names.map((name) => [name, { type: 'string', ...pathArguments[name] }])),
      ...Object.fromEntries(members),
    },
    ...(names.length === 0 ? {} : { required: [...names] }),
    additionalProperties: false,
  };
}

/** A decimal is a string in a query and a number in JSON. */
function memberSchema(schema: TSchema): JsonObject {
  const { [DECIMAL_KEYWORD]: range, ...json } = schemaJson(schema);
  if (range === undefined) return json;
  return { ...json, type: 'integer', ...(range as unknown as JsonObject & DecimalRange) };
}

interface Values {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
}

/** Models send null, and an empty cursor, for an argument that they do not want to set. */
const isAbsent = (name: string, value: unknown): boolean => value === null || (name === 'cursor' && value === '');

function valuesOf(
  args: Readonly<Record<string, unknown>>,
  known: { readonly names: readonly string[]; readonly filters: Readonly<Record<string, TSchema>> },
): Values {
  const params: Record<string, string> = {};
  const query: Record<string, string> = {};
  const faults: Fault[] = [];
  const unknown = Object.keys(args).filter(
    (name) => !known.names.includes(name) && !Object.hasOwn(known.filters, name),
  );
  if (unknown.length > 0) throw unknownArguments(unknown);
  const given = Object.entries(args).filter(([name, value]) => !isAbsent(name, value));
  for (const [name, value] of given) {
    const isDecimal = known.filters[name]?.[DECIMAL_KEYWORD] !== undefined;
    if (typeof value === 'string' && !isDecimal) (known.names.includes(name) ? params : query)[name] = value;
    else if (isDecimal && typeof value === 'number') query[name] = String(value);
    else faults.push(fault(name, isDecimal ? 'must be a whole number' : 'must be a string'));
  }
  for (const name of known.names) if ((args[name] ?? null) === null) faults.push(fault(name, 'is required'));
  if (faults.length > 0) throw shapeError(faults);
  return { params, query };
}

const fault = (name: string, detail: string): Fault => ({
  in: 'arguments',
  pointer: `/${escapePointer(name)}`,
  detail,
});

/** The refusal of unknown arguments; limited to as many faults as a query's. */
export function unknownArguments(names: readonly string[]): AppError {
  const faults = names.slice(0, MAX_FAULTS).map((name) => fault(name, 'is not an argument'));
  return new AppError('UNKNOWN_PARAMETER', 'The tool has no such argument.', { faults });
}

function check(values: Values['query'], validate: Validator | undefined): void {
  const faults = validate?.(values, 0) ?? [];
  if (faults.length > 0) throw shapeError(faults, 'cursor' in values);
}

/** Same precedence as for queries: limit, cursor, the rest. With an invalid filter no cursor can match. */
function shapeError(faults: readonly Fault[], isPaged = false): AppError {
  const about = (pointer: string) => faults.filter((one) => one.pointer === pointer);
  if (about('/limit').length > 0)
    return new AppError('INVALID_LIMIT', 'The limit is not valid.', { faults: about('/limit') });
  if (isPaged || about('/cursor').length > 0)
    return new AppError('INVALID_CURSOR', 'The cursor is not valid.', {
      faults: [fault('cursor', 'does not belong to this list')],
    });
  return new AppError('INVALID_REQUEST', 'The arguments are not as documented; errors lists every fault.', { faults });
}

const NO_BODY = Buffer.alloc(0);

/** The context of a tool call. Members that only a real request has throw; GET routes do not use them. */
function contextOf<Caller>(
  { params, query }: Values,
  call: ToolCall<Caller> & { mayCall(caller: Caller): boolean; readonly pageMaxBytes: number | undefined },
): AnyContext {
  const unreachable = (): never => {
    throw new Error('A tool has no request of its own.');
  };
  return {
    params,
    query,
    body: undefined,
    rawBody: NO_BODY,
    caller: call.caller,
    prefetched: undefined,
    idempotency: { keys: [] },
    requestId: call.requestId,
    traceparent: call.traceparent,
    signal: call.signal,
    method: 'GET',
    path: '',
    isToolCall: true,
    pageMaxBytes: call.pageMaxBytes,
    socketAddress: '',
    clientAddress: '',
    get request() {
      return unreachable();
    },
    get response() {
      return unreachable();
    },
    permit: unreachable,
    allows: unreachable,
    charge: unreachable,
    isProvisional: false,
    callerIsConfirmed: unreachable,
    confirmCaller: unreachable,
    header: () => undefined,
    note: () => undefined,
  };
}

/**
 * The bytes that a JSON text takes in the result of a tool: once as structured content, and once as text, where its
 * quotes and backslashes are escaped.
 */
export function bytesAsToolResult(json: string): number {
  let escaped = 0;
  for (let at = 0; at < json.length; at += 1) if (json[at] === '"' || json[at] === '\\') escaped += 1;
  return 2 * Buffer.byteLength(json) + escaped;
}
