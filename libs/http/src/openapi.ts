import { readFileSync, writeFileSync } from 'node:fs';
import type { JsonValue } from '@sealgate/json';
import {
  formComponents,
  headerComponents,
  operationOf,
  problemComponent,
  type JsonObject,
} from './openapi-operation.ts';
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

/** The OpenAPI 3.1 document of a surface: every route, its schemas, and every error code it may answer. */
export function openApi(options: OpenApiOptions): OpenApiDocument {
  const { title, version, description, routes, securityScheme, publicUrl = '/' } = options;
  const paths: Record<string, JsonObject> = {};
  for (const route of routes.flatMap(describedRoutes)) {
    const item = (paths[pathTemplate(route.path)] ??= {});
    item[route.method] = operationOf(route, securityScheme);
  }
  return {
    openapi: '3.1.0',
    info: { title, version, description, license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: publicUrl }],
    paths,
    components: {
      schemas: { Problem: problemComponent(), ...formComponents(routes) },
      headers: headerComponents(paths),
      securitySchemes: { [securityScheme]: { ...SECURITY_SCHEMES[securityScheme] } },
    },
  };
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
