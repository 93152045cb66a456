import type { TObject } from '@sinclair/typebox';
import type { ErrorCode } from '@sealgate/errors';
import type { RouteMetrics } from '@sealgate/observability';
import { errorCodesOf } from './error-codes.ts';
import { pathTemplate } from './path-pattern.ts';
import type { AnyRoute } from './route.ts';
import type { SchemaCompiler, Validator } from './check-shape.ts';

/** Counts the answers of one route. */
export type Meter = Pick<RouteMetrics, 'observe'>;

/** Where the counters of routes come from: `httpMetrics`, or a listener that counts nothing. */
export interface Meters {
  route(method: string, template: string): Meter;
}

/** What holds for every method of a path, declared on whichever of its routes. */
export interface PathRules {
  readonly admit: AnyRoute['admit'];
  readonly problem: AnyRoute['problem'];
}

/** A route with everything about it that does not change between requests worked out. */
export interface MountedRoute extends PathRules {
  readonly route: AnyRoute;
  /** `/v1/cases/{caseId}`, as logs and metrics show it. */
  readonly template: string;
  readonly isOpen: boolean;
  /** The permission to hold, where it does not depend on the body. */
  readonly permission: string | undefined;
  readonly cost: number | undefined;
  readonly checkParams: Validator | undefined;
  readonly checkQuery: Validator | undefined;
  /** Undefined where the query is ignored. */
  readonly knownParameters: ReadonlySet<string> | undefined;
  /** Undefined where any JSON value will do, or there is no body. */
  readonly checkBody: Validator | undefined;
  readonly meter: Meter;
  /** What OpenAPI says the route may answer, so that the rest can be noticed. */
  readonly errorCodes: ReadonlySet<ErrorCode>;
}

/** @throws Error when a schema does not compile; `checkRoutes` finds everything else. */
export function mountRoute(
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
    meter,
    errorCodes: errorCodesOf(route),
  };
}

function parameterNames(schema: TObject | undefined): ReadonlySet<string> {
  return new Set(Object.keys(schema?.properties ?? {}));
}
