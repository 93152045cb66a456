import type { ErrorCode, Fault } from '@sealgate/errors';
import type { RouteMetrics } from '@sealgate/observability';
import type { AnyRoute } from './route.ts';

/** Validates a value. Returns its faults; empty if it is valid. */
export type Validator = (value: unknown, sizeBytes: number) => readonly Fault[];

/** Metrics of one route. */
export type Meter = Pick<RouteMetrics, 'observe'>;

/** Creates the metrics of routes: `httpMetrics`, or a no-op. */
export interface Meters {
  route(method: string, template: string): Meter;
}

/** Rules for every method of a path, declared on any one of its routes. */
export interface PathRules {
  readonly admit: AnyRoute['admit'];
  readonly problem: AnyRoute['problem'];
}

/** A route with its validators, metrics and derived fields. */
export interface MountedRoute extends PathRules {
  readonly route: AnyRoute;
  /** `/v1/cases/{caseId}`, as in logs and metrics. */
  readonly template: string;
  readonly isOpen: boolean;
  /** The required permission; undefined for `open`, `authenticated` and `byHandler`. */
  readonly permission: string | undefined;
  readonly cost: number | undefined;
  readonly checkParams: Validator | undefined;
  readonly checkQuery: Validator | undefined;
  /** Undefined: the query is ignored. */
  readonly knownParameters: ReadonlySet<string> | undefined;
  /** Undefined: any JSON value is accepted, or there is no body. */
  readonly checkBody: Validator | undefined;
  /** Where `limit` and `cursor` are sent. */
  readonly pagedBy: 'query' | 'body';
  readonly meter: Meter;
  /** The codes documented in OpenAPI; others cause a warning. */
  readonly errorCodes: ReadonlySet<ErrorCode>;
}
