import { CATALOGUE } from '@sealgate/errors';
import { pathFault, pathNames, pathTemplate } from './path-pattern.ts';
import type { AnyRoute } from './route.ts';

const METHODS: ReadonlySet<string> = new Set(['get', 'post', 'put', 'patch', 'delete', 'options']);
const WITHOUT_BODY: ReadonlySet<string> = new Set(['get', 'delete', 'options']);
const IDEMPOTENCY: ReadonlySet<string> = new Set(['none', 'in-transaction', 'in-ledger']);

/** Everything that is wrong with the routes of an app, each fault one sentence that names the route. */
export function checkRoutes(routes: readonly AnyRoute[]): string[] {
  const faults = routes.flatMap((route) => routeFaults(route).map((fault) => `${nameOf(route)}: ${fault}`));
  return [...faults, ...repeated(routes, nameOf), ...repeated(routes, (route) => route.operationId)];
}

function nameOf(route: AnyRoute): string {
  return `${String(route.method).toUpperCase()} ${pathTemplate(route.path)}`;
}

/** The types say most of this too; a field that is missing all the same must not turn into a permission. */
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
    faultWhen(!statuses.some((status) => status >= 200 && status < 400), 'responses has no answer of success'),
    faultWhen(unknownParam !== undefined, `params describes what is not in the path: ${unknownParam}`),
  ];
}

function accessFaults(route: AnyRoute): (string | undefined)[] {
  const { charge, idempotency, permit } = route;
  const isCost = typeof charge === 'number' && Number.isSafeInteger(charge) && charge > 0;
  return [
    faultWhen(!isText(permit), 'permit is missing'),
    faultWhen(!isCost && charge !== 'none' && charge !== 'byHandler', 'charge is missing or no positive whole number'),
    faultWhen(permit === 'open' && charge !== 'none', 'an open route has nobody to charge'),
    faultWhen(
      route.confirmsCaller === true && !mayBeBegunAgain(route),
      'confirmsCaller needs a guard, and no lookAhead or raw',
    ),
    faultWhen(!IDEMPOTENCY.has(idempotency), 'idempotency is missing'),
    faultWhen(idempotency !== 'none' && route.method === 'get', 'a GET has no idempotency to speak of'),
  ];
}

function mayBeBegunAgain({ permit, lookAhead, raw }: AnyRoute): boolean {
  return permit !== 'open' && lookAhead === undefined && raw !== true;
}

function bodyFaults(route: AnyRoute): (string | undefined)[] {
  const { body, bodyMaxBytes = 0 } = route;
  const isBounded = Number.isSafeInteger(bodyMaxBytes) && bodyMaxBytes > 0;
  return [
    faultWhen(body !== undefined && !isBounded, 'bodyMaxBytes is missing'),
    faultWhen(body !== undefined && WITHOUT_BODY.has(route.method), 'bodies of GET, DELETE and OPTIONS are not read'),
    faultWhen(body === undefined && route.bodyOptional !== undefined, 'bodyOptional needs a body'),
    faultWhen(
      (body === 'bytes') !== (route.mediaTypes !== undefined),
      'mediaTypes is for a body of bytes, and needed there',
    ),
    faultWhen(body === undefined && route.lookAhead !== undefined, 'lookAhead needs a body'),
    faultWhen(body === undefined && route.inspect !== undefined, 'inspect needs a body'),
    faultWhen(
      (body === 'json-bytes' || body === 'bytes') && needsParsed(route),
      'bodyOptional, lookAhead and inspect need a parsed body',
    ),
  ];
}

function needsParsed({ bodyOptional, lookAhead, inspect }: AnyRoute): boolean {
  return bodyOptional !== undefined || lookAhead !== undefined || inspect !== undefined;
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
