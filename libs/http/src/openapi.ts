import { readFileSync, writeFileSync } from 'node:fs';
import type { JsonValue } from '@sealgate/json';
import { documentFaults } from './document-rules.ts';
import { Components } from './openapi-components.ts';
import { operationOf, pascalCase } from './openapi-operation.ts';
import { pathTemplate } from './paths.ts';
import type { AnyRoute } from './route.ts';
import type { JsonObject } from './schemas.ts';

export interface OpenApiOptions {
  readonly title: string;
  readonly version: string;
  readonly description: string;
  readonly routes: readonly AnyRoute[];
  /** Authentication of routes that are not open. */
  readonly securityScheme: 'Bearer' | 'ApiKey';
  /** What the guard accepts besides on a path. Absent: nothing. */
  readonly otherAccess?: (path: string) => readonly ('Bearer' | 'nobody')[];
  /** Base URL without trailing slash. Absent: relative to where the document is served. */
  readonly publicUrl?: string | undefined;
}

/** A JSON document. Members are in the order of the routes, so that diffs are minimal. */
export type OpenApiDocument = Readonly<Record<string, JsonValue>>;

/** The ports of routes that are only described: requests alone use them. `known` are those that shape the routes. */
export const noPorts = <Ports extends object>(known: Partial<Ports> = {}): Ports => known as Ports;

const SECURITY_SCHEMES = {
  Bearer: { type: 'http', scheme: 'bearer' },
  ApiKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key' },
} as const;

/**
 * Generates the OpenAPI 3.1 document of a surface: every route, its schemas, and every error code it may answer.
 * Schemas are shared under the names given by `named`, problems under those of their codes.
 * @throws Error if two different components of one kind share a name, or the document breaks one of `documentFaults`.
 */
export function openApi(options: OpenApiOptions): OpenApiDocument {
  const { title, version, description, routes, securityScheme, otherAccess, publicUrl = '/' } = options;
  const components = new Components();
  const paths: Record<string, Record<string, JsonObject>> = {};
  const schemes = new Set([securityScheme]);
  for (const route of routes.flatMap(describedRoutes)) {
    const access = [securityScheme, ...(otherAccess?.(route.path) ?? [])];
    for (const scheme of access) if (scheme !== 'nobody') schemes.add(scheme);
    const item = (paths[pathTemplate(route.path)] ??= {});
    item[route.method] = operationOf(route, access, components);
  }
  shareParameters(
    Object.values(paths).flatMap((item) => Object.values(item)),
    components,
  );
  const document: JsonObject = {
    openapi: '3.1.0',
    info: { title, version, description, license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: publicUrl }],
    paths,
    components: {
      ...components.json(),
      securitySchemes: Object.fromEntries([...schemes].map((scheme) => [scheme, { ...SECURITY_SCHEMES[scheme] }])),
    },
  };
  const faults = documentFaults(document);
  if (faults.length > 0) throw new Error(`Generated clients would break: ${faults.join('; ')}.`);
  return document;
}

/**
 * Path and query parameters shared by several operations become components, named by name and location. If different
 * parameters would get the same name, they stay inline.
 */
function shareParameters(operations: readonly JsonObject[], components: Components): void {
  const listOf = (operation: JsonObject) => operation['parameters'] as JsonObject[];
  const nameOf = (parameter: JsonObject) =>
    `${pascalCase(String(parameter['name']))}In${pascalCase(String(parameter['in']))}`;
  const times = new Map<string, number>();
  const repeated = new Map<string, Set<string>>();
  for (const parameter of operations.flatMap(listOf).filter((each) => !('$ref' in each))) {
    const text = JSON.stringify(parameter);
    const count = (times.get(text) ?? 0) + 1;
    times.set(text, count);
    if (count === 2) repeated.set(nameOf(parameter), (repeated.get(nameOf(parameter)) ?? new Set()).add(text));
  }
  for (const operation of operations) {
    operation['parameters'] = listOf(operation).map((parameter) => {
      if ('$ref' in parameter || times.get(JSON.stringify(parameter)) === 1) return parameter;
      const name = nameOf(parameter);
      return repeated.get(name)?.size === 1 ? components.add('parameters', name, parameter) : parameter;
    });
  }
}

function describedRoutes({ describedAs, ...route }: AnyRoute): AnyRoute[] {
  return describedAs === undefined ? [route] : describedAs.map((form) => ({ ...route, ...form }));
}

/**
 * Compares the committed document with the generated one, for the test that keeps it up to date. With `write` it is
 * updated instead.
 * @throws Error naming the first line that differs.
 */
export function checkOpenApiFile(path: string, document: OpenApiDocument, options: { write: boolean }): void {
  const text = `${JSON.stringify(document, null, 2)}\n`;
  if (options.write) {
    writeFileSync(path, text);
    return;
  }
  const committed = readFileSync(path, 'utf8').split('\n');
  const current = text.split('\n');
  const line = current.findIndex((wanted, index) => committed[index] !== wanted);
  if (line < 0 && committed.length === current.length) return;
  const at = line < 0 ? current.length : line;
  throw new Error(
    `${path} is stale at line ${at + 1}: it says ${JSON.stringify(committed[at])}, the routes say ${JSON.stringify(current[at])}.`,
  );
}
