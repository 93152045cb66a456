import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import openapiTS, { astToString } from 'openapi-typescript';
import { appsWith, workspaceRoot } from './workspace.ts';

/** The name of a file of types says which listener it is of: that of a public one is the surface's own. */
const DOCUMENTS = [
  { file: 'openapi.json', suffix: '' },
  { file: 'admin-openapi.json', suffix: '-admin' },
] as const;

/**
 * Makes the types of libs/client from the OpenAPI documents of every surface, beside their place and then exchanged: a
 * process that reads them meanwhile finds either the old ones or the new ones.
 * @throws Error where a document is not one of OpenAPI 3.
 */
export async function generateClientTypes(): Promise<void> {
  const place = join(workspaceRoot, 'libs/client/src/generated');
  const making = `${place}.${process.pid}`;
  const routes: Record<string, RepeatableRoutes> = {};
  mkdirSync(making, { recursive: true });
  try {
    for (const { file, suffix } of DOCUMENTS) {
      for (const app of appsWith(file)) {
        const document = JSON.parse(readFileSync(join(workspaceRoot, 'apps', app, file), 'utf8')) as OpenApi;
        routes[`${app}${suffix}`] = repeatableIn(document);
        writeFileSync(
          join(making, `${app}${suffix}.ts`),
          astToString(await openapiTS(withKeysMade(document) as never)),
        );
      }
    }
    const table = `export const repeatableRoutes = ${JSON.stringify(routes, null, 2)} as const;\n`;
    writeFileSync(join(making, 'repeatable-routes.ts'), table);
    rmSync(place, { recursive: true, force: true });
    renameSync(making, place);
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
}

interface Parameter {
  readonly $ref?: string;
  readonly name?: string;
  readonly required?: boolean;
}

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly parameters?: readonly Parameter[] }>>>>;
  readonly components?: { readonly parameters?: Readonly<Record<string, Parameter>> };
}

/** Routes, `METHOD /path`, that may be sent again although their method does not say so. */
interface RepeatableRoutes {
  /** Under the same Idempotency-Key. */
  readonly keyed: readonly string[];
  /** As they are: they read, or the second time finds what the first has made. */
  readonly safe: readonly string[];
}

/**
 * A query in a body; and what is answered, not made again, when it is there already: a decision, an attachment, a delivery
 * by its own id, a seal (whose key is made of the case and the policy version, so that only the caller can name it).
 */
const SAFE = [
  'POST /api/assets/query',
  'POST /v1/cases/{case_id}/decide',
  'POST /v1/cases/{case_id}/attachments',
  'POST /v1/cases/{case_id}/seal',
  'POST /admin/v1/cases/{case_id}/decide',
  'POST /admin/v1/cases/{case_id}/attachments',
  'POST /admin/v1/cases/{case_id}/seal',
  'POST /hooks/{sourceId}',
];

function repeatableIn(document: OpenApi): RepeatableRoutes {
  const routes = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { parameters = [] }]) => ({
      route: `${method.toUpperCase()} ${path}`,
      takesKey: parameters.some((parameter) => nameOf(parameter, document) === 'Idempotency-Key'),
    })),
  );
  return {
    keyed: routes.filter(({ route, takesKey }) => takesKey && !SAFE.includes(route)).map(({ route }) => route),
    safe: routes.filter(({ route }) => SAFE.includes(route)).map(({ route }) => route),
  };
}

/** The same document with no key required where the client makes one. */
function withKeysMade(document: OpenApi): OpenApi {
  const paths = Object.entries(document.paths).map(([path, operations]) => {
    const relaxed = Object.entries(operations).map(([method, operation]) => {
      const { parameters } = operation;
      if (parameters === undefined || SAFE.includes(`${method.toUpperCase()} ${path}`)) return [method, operation];
      return [method, { ...operation, parameters: parameters.map((parameter) => withKeyMade(parameter, document)) }];
    });
    return [path, Object.fromEntries(relaxed)];
  });
  return { ...document, paths: Object.fromEntries(paths) as OpenApi['paths'] };
}

function withKeyMade(parameter: Parameter, document: OpenApi): Parameter {
  if (nameOf(parameter, document) !== 'Idempotency-Key') return parameter;
  const { required: _required, ...optional } = referenced(parameter, document);
  return optional;
}

const nameOf = (parameter: Parameter, document: OpenApi): string | undefined => referenced(parameter, document).name;

function referenced(parameter: Parameter, { components }: OpenApi): Parameter {
  const name = parameter.$ref?.split('/').at(-1);
  return (name === undefined ? undefined : components?.parameters?.[name]) ?? parameter;
}
