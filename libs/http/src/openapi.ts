import { readFileSync, writeFileSync } from 'node:fs';
import type { JsonValue } from '@sealgate/json';
import type { JsonObject } from './named-schema.ts';
import { Components } from './openapi-components.ts';
import { operationOf, pascalCase } from './openapi-operation.ts';
import { pathTemplate } from './path-pattern.ts';
import type { AnyRoute } from './route.ts';

export interface OpenApiOptions {
  readonly title: string;
  readonly version: string;
  /** Markdown. */
  readonly description: string;
  readonly routes: readonly AnyRoute[];
  /** How callers of the routes that are not open show who they are. */
  readonly securityScheme: 'Bearer' | 'ApiKey';
  /** The base URL without trailing slash, where it is known. Absent: relative to wherever the document is served. */
  readonly publicUrl?: string | undefined;
}

/** A JSON document; its members are in the order of the routes, so that it only changes when they do. */
export type OpenApiDocument = Readonly<Record<string, JsonValue>>;

const SECURITY_SCHEMES = {
  Bearer: { type: 'http', scheme: 'bearer' },
  ApiKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key' },
} as const;

/**
 * The OpenAPI 3.1 document of a surface: every route, its schemas, and every error code it may answer. Schemas are shared
 * under the names that `named` gave them, answers with a problem under those of their codes.
 * @throws Error where two of a kind have one name.
 */
export function openApi(options: OpenApiOptions): OpenApiDocument {
  const { title, version, description, routes, securityScheme, publicUrl = '/' } = options;
  const components = new Components();
  const paths: Record<string, Record<string, JsonObject>> = {};
  for (const route of routes.flatMap(describedRoutes)) {
    const item = (paths[pathTemplate(route.path)] ??= {});
    item[route.method] = operationOf(route, securityScheme, components);
  }
  const others = routes.flatMap(({ otherAccess = [] }) => otherAccess.filter((scheme) => scheme !== 'nobody'));
  const schemes = [...new Set([securityScheme, ...others])];
  shareParameters(
    Object.values(paths).flatMap((item) => Object.values(item)),
    components,
  );
  return {
    openapi: '3.1.0',
    info: { title, version, description, license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: publicUrl }],
    paths,
    components: {
      ...components.json(),
      securitySchemes: Object.fromEntries(schemes.map((scheme) => [scheme, { ...SECURITY_SCHEMES[scheme] }])),
    },
  };
}

/**
 * Parameters of a path or query that several operations have become components, named by their own name and place. Where
 * several that differ would have one name, each stays where it is.
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
 * Compares the committed document of a surface with the one its routes make; for the test that keeps it from going stale.
 * With `write` it is written instead.
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
