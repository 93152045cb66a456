import { CATALOGUE } from '@sealgate/errors';
import type { TObject } from '@sinclair/typebox';
import { type CompileTime, SchemaCompiler } from './check-shape.ts';
import type { Meter, Meters, MountedRoute, PathRules } from './mounted-route.ts';
import { comparePaths, pathFault, pathNames, pathTemplate } from './paths.ts';
import { errorCodesOf } from './problems.ts';
import { JSON_SUFFIX } from './read-body.ts';
import type { AnyRoute } from './route.ts';

/** @throws Error when a schema does not compile; `checkRoutes` reports all other faults. */
function mountRoute(
  route: AnyRoute,
  parts: { readonly compiler: SchemaCompiler; readonly meter: Meter; readonly rules: PathRules },
): MountedRoute {
  const { permit, charge, params, query, body } = route;
  const { compiler, meter, rules } = parts;
  const isFixed = permit !== 'open' && permit !== 'authenticated' && permit !== 'byHandler';
  const querySchema = query === 'ignored' ? undefined : query;
  return {
    ...rules,
    route,
    template: pathTemplate(route.path),
    isOpen: permit === 'open',
    permission: isFixed ? permit : undefined,
    cost: typeof charge === 'number' ? charge : undefined,
    checkParams: params && compiler.compile(params, 'path'),
    checkQuery: querySchema && compiler.compile(querySchema, 'query'),
    knownParameters: query === 'ignored' ? undefined : parameterNames(querySchema),
    checkBody: typeof body === 'object' ? compiler.compile(body, 'body') : undefined,
    pagedBy: typeof body === 'object' && body['properties']?.cursor !== undefined ? 'body' : 'query',
    meter,
    errorCodes: errorCodesOf(route),
  };
}

function parameterNames(schema: TObject | undefined): ReadonlySet<string> {
  return new Set(Object.keys(schema?.properties ?? {}));
}

/** The routes of one path. */
export interface PathTable {
  readonly path: string;
  /** Keyed by upper-case method. */
  readonly methods: ReadonlyMap<string, MountedRoute>;
  /** For the 405 of other methods: rules, template and metrics of the path. */
  readonly otherMethods: MountedRoute;
}

/**
 * One table per path, literal segments before parameters. Compile errors are added to `faults`, so that all are
 * reported at once.
 */
export function pathTables(
  {
    routes: all,
    metrics,
    head,
    compileSchemas = 'at-start',
  }: {
    readonly routes: readonly AnyRoute[];
    readonly metrics: Meters;
    readonly head: boolean;
    readonly compileSchemas?: CompileTime;
  },
  faults: string[],
): PathTable[] {
  const compiler = new SchemaCompiler(compileSchemas);
  const byPath = Map.groupBy(all, (route) => route.path);
  const tables: PathTable[] = [];
  for (const path of [...byPath.keys()].sort(comparePaths)) {
    const routes = byPath.get(path) ?? [];
    const rules = rulesOf(routes, faults);
    const mount = (route: AnyRoute, method: string): MountedRoute =>
      mountRoute(route, { compiler, rules, meter: metrics.route(method, pathTemplate(path)) });
    const methods = new Map<string, MountedRoute>();
    for (const route of routes) {
      try {
        const method = route.method.toUpperCase();
        methods.set(method, mount(route, method));
        if (method === 'GET' && head) methods.set('HEAD', mount(route, 'HEAD'));
      } catch (error) {
        faults.push(`${route.operationId}: ${error instanceof Error ? error.message : 'a schema does not compile'}`);
      }
    }
    const [any] = methods.values();
    if (any === undefined) continue;
    tables.push({ path, methods, otherMethods: { ...any, meter: metrics.route('other', pathTemplate(path)) } });
  }
  return tables;
}

function rulesOf(routes: readonly AnyRoute[], faults: string[]): PathRules {
  const admits = new Set(routes.flatMap(({ admit }) => admit ?? []));
  const problems = new Set(routes.flatMap(({ problem }) => problem ?? []));
  if (admits.size > 1) faults.push(`${routes[0]?.path}: a path has one admit at most`);
  if (problems.size > 1) faults.push(`${routes[0]?.path}: a path has one problem at most`);
  return { admit: [...admits][0], problem: [...problems][0] };
}

const METHOD_ORDER = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/** The value of Allow for the tables that match a path. */
export function allowHeader(tables: readonly PathTable[]): string {
  return METHOD_ORDER.filter((method) => tables.some(({ methods }) => methods.has(method))).join(', ');
}

const METHODS: ReadonlySet<string> = new Set(['get', 'post', 'put', 'patch', 'delete', 'options']);
const WITHOUT_BODY: ReadonlySet<string> = new Set(['get', 'delete', 'options']);
const IDEMPOTENCY: ReadonlySet<string> = new Set(['none', 'in-transaction', 'in-ledger', 'of-content']);

/** Returns all faults of the routes of an app, each as one sentence that names the route. */
export function checkRoutes(routes: readonly AnyRoute[]): string[] {
  const faults = routes.flatMap((route) => routeFaults(route).map((fault) => `${nameOf(route)}: ${fault}`));
  return [...faults, ...repeated(routes, nameOf), ...repeated(routes, (route) => route.operationId)];
}

function nameOf(route: AnyRoute): string {
  return `${String(route.method).toUpperCase()} ${pathTemplate(route.path)}`;
}

/** The types enforce most of this; checked again so that a missing field never becomes a permission. */
function routeFaults(route: AnyRoute): string[] {
  const faults = [pathFault(route.path), ...declarationFaults(route), ...accessFaults(route), ...bodyFaults(route)];
  return faults.filter((fault) => fault !== undefined);
}

function declarationFaults(route: AnyRoute): (string | undefined)[] {
  const names = pathNames(route.path);
  const statuses = Object.keys(route.responses ?? {}).map(Number);
  const unknownCode = (route.errors ?? []).find((code) => !Object.hasOwn(CATALOGUE, code));
  const unknownParam = Object.keys(route.params?.properties ?? {}).find((name) => !names.includes(name));
  return [
    faultWhen(!METHODS.has(route.method), 'the method is not one of get, post, put, patch, delete, options'),
    faultWhen(!isText(route.operationId), 'operationId is missing'),
    faultWhen(!isText(route.summary), 'summary is missing'),
    faultWhen(typeof route.handler !== 'function', 'handler is missing'),
    faultWhen(!Array.isArray(route.errors), 'errors is missing'),
    faultWhen(unknownCode !== undefined, `errors names an unknown code: ${unknownCode}`),
    faultWhen(!statuses.some((status) => status >= 200 && status < 400), 'responses has no success response'),
    faultWhen(unknownParam !== undefined, `params describes a parameter that is not in the path: ${unknownParam}`),
  ];
}

function accessFaults(route: AnyRoute): (string | undefined)[] {
  const { charge, idempotency, permit } = route;
  const isCost = typeof charge === 'number' && Number.isSafeInteger(charge) && charge > 0;
  return [
    faultWhen(!isText(permit), 'permit is missing'),
    faultWhen(!isCost && charge !== 'none' && charge !== 'byHandler', 'charge is missing or no positive whole number'),
    faultWhen(permit === 'open' && charge !== 'none', 'an open route has no caller to charge'),
    faultWhen(
      route.confirmsCaller === true && !canRestart(route),
      'confirmsCaller needs a guard, and no prefetch or raw',
    ),
    faultWhen(!IDEMPOTENCY.has(idempotency), 'idempotency is missing'),
    faultWhen(idempotency !== 'none' && route.method === 'get', 'a GET has no idempotency'),
  ];
}

function canRestart({ permit, prefetch, raw }: AnyRoute): boolean {
  return permit !== 'open' && prefetch === undefined && raw !== true;
}

function bodyFaults(route: AnyRoute): (string | undefined)[] {
  const { body, bodyMaxBytes = 0, mediaTypes } = route;
  const isBounded = Number.isSafeInteger(bodyMaxBytes) && bodyMaxBytes > 0;
  return [
    faultWhen(body !== undefined && !isBounded, 'bodyMaxBytes is missing'),
    faultWhen(body !== undefined && WITHOUT_BODY.has(route.method), 'bodies of GET, DELETE and OPTIONS are not read'),
    faultWhen(body === undefined && route.bodyOptional !== undefined, 'bodyOptional needs a body'),
    faultWhen(body === 'bytes' && mediaTypes === undefined, 'a body of bytes needs mediaTypes'),
    faultWhen(
      body !== 'bytes' && mediaTypes?.every(isJsonType) === false,
      'mediaTypes of JSON are application/json and +json',
    ),
    faultWhen(
      route.prefetch !== undefined && (body === undefined || route.permit === 'open'),
      'prefetch needs a body and a guard',
    ),
    faultWhen(body === undefined && route.inspect !== undefined, 'inspect needs a body'),
    faultWhen(
      (body === 'json-bytes' || body === 'bytes') && needsParsed(route),
      'bodyOptional, prefetch and inspect need a parsed body',
    ),
  ];
}

const isJsonType = (type: string): boolean => type === 'application/json' || type === JSON_SUFFIX;

function needsParsed({ bodyOptional, prefetch, inspect }: AnyRoute): boolean {
  return bodyOptional !== undefined || prefetch !== undefined || inspect !== undefined;
}

function faultWhen(condition: boolean, fault: string): string | undefined {
  return condition ? fault : undefined;
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function repeated(routes: readonly AnyRoute[], keyOf: (route: AnyRoute) => string): string[] {
  const seen = new Set<string>();
  const twice = new Set<string>();
  for (const key of routes.map(keyOf)) (seen.has(key) ? twice : seen).add(key);
  return [...twice].map((key) => `${key}: declared twice`);
}
