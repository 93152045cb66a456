import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CommandResult, runCommand } from './checks/run-command.ts';
import { appsWith, programs, workspaceRoot } from './workspace.ts';

/**
 * Generates the typed database clients of these apps from their Prisma schemas. Prisma would download a schema engine
 * that generating does not use; setting it to any existing file prevents that.
 */
export async function generateClients(apps: readonly string[]): Promise<CommandResult> {
  for (const name of apps) {
    const result = await runCommand({
      nodeArguments: [programs.prisma, 'generate', '--schema', `apps/${name}/prisma/schema.prisma`],
      env: { PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, PRISMA_HIDE_UPDATE_MESSAGE: '1', CHECKPOINT_DISABLE: '1' },
      timeoutMs: 120_000,
      output: 'kept',
    });
    if (!result.ok) return result;
  }
  return { ok: true, said: '' };
}

/** Name of a file of types: the surface's name for the public listener, with a suffix for the admin listener. */
const DOCUMENTS = [
  { file: 'openapi.json', suffix: '' },
  { file: 'admin-openapi.json', suffix: '-admin' },
] as const;

/**
 * Generates the types of libs/client from the OpenAPI documents of all surfaces, in a temporary folder that is then
 * swapped in: a concurrent reader finds either the old or the new ones. @throws Error if a document is not OpenAPI 3.
 */
export async function generateClientTypes(): Promise<void> {
  // Loaded on demand: `npm start` imports this module, and runs for days.
  const { default: openapiTS, astToString } = await import('openapi-typescript');
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
    const risk = JSON.parse(readFileSync(join(workspaceRoot, 'apps/risk-partner/openapi.json'), 'utf8')) as OpenApi;
    writeFileSync(join(making, 'risk-partner-forms.ts'), formsOf(risk));
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
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components?: {
    readonly parameters?: Readonly<Record<string, Parameter>>;
    readonly schemas?: Readonly<Record<string, object>>;
  };
}

interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: object;
  readonly responses?: Readonly<Record<string, object>>;
}

/** Routes, `METHOD /path`, that may be retried although their method is not idempotent. */
interface RepeatableRoutes {
  /** With the same Idempotency-Key. */
  readonly keyed: readonly string[];
  /** Unchanged: they only read, or a retry finds what the first request created. */
  readonly safe: readonly string[];
}

/**
 * Queries with a body, and requests that return an existing result: a decision, an attachment, a delivery by its id, a
 * seal (its key is derived from the case and the policy version, so only the caller can supply it).
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

/** The schemas of what POST takes and of the answers, and every enum, as a module: pages render forms and records from them. */
function formsOf({ paths, components }: OpenApi): string {
  const all = components?.schemas ?? {};
  const found = new Set(Object.keys(all).filter((name) => 'enum' in all[name]!));
  const visit = (value: unknown) => {
    for (const [, name = ''] of JSON.stringify(value ?? {}).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (found.has(name)) continue;
      found.add(name);
      visit(all[name]);
    }
  };
  for (const { post } of Object.values(paths)) {
    visit(post?.requestBody);
    visit([post?.responses?.['200'], post?.responses?.['201']]);
  }
  const schemas = Object.fromEntries(Object.entries(all).filter(([name]) => found.has(name)));
  return `export const schemas: Readonly<Record<string, object>> = ${JSON.stringify(schemas, null, 2)};\n`;
}

/** The same document without a required key if the client generates it. */
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
