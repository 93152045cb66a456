import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundleSurface } from '../../bundle.ts';
import { generateClients, generateClientTypes } from '../generate-clients.ts';
import type { Surface } from '../start/surface.ts';
import { UserError } from '../start/user-error.ts';
import { appsWith, workspaceRoot } from '../workspace.ts';

/** The parts of a surface that follow from its folder in apps. */
export function bundled(name: string): Required<Pick<Surface, 'name' | 'programs' | 'build'>> {
  const migrates = existsSync(join(workspaceRoot, 'apps', name, 'src/migrate.ts'));
  return {
    name,
    programs: (output) => ({
      main: join(output, 'main.js'),
      ...(migrates ? { migrate: join(output, 'migrate.js') } : {}),
    }),
    build: (output) => buildWhereChanged(name, output),
  };
}

/** Generates what is outdated or missing of the generated code, then builds the bundle, by default into the app's `dist`. */
export async function buildSurface(
  name: string,
  output?: string,
  options: Parameters<typeof bundleSurface>[2] = {},
): Promise<string[]> {
  if (needsDatabaseClient(name)) {
    const { ok, said } = await generateClients([name]);
    if (!ok) throw new UserError(`The database client of ${name} could not be generated: ${said.trim()}`);
  }
  if (needsApiTypes(name)) await generateClientTypes();
  return bundleSurface(name, output, options);
}

/** Builds unless the existing bundle was built from the same files, which are listed beside it. */
async function buildWhereChanged(name: string, output: string): Promise<void> {
  const madeOf = `${output}.made-of.json`;
  const isThere = existsSync(output) && existsSync(madeOf) && !needsDatabaseClient(name) && !needsApiTypes(name);
  if (isThere && Object.entries(readStamps(madeOf)).every(([path, stamp]) => stampOf(path) === stamp)) return;
  rmSync(madeOf, { force: true });
  const paths = [join(workspaceRoot, 'package-lock.json'), ...(await buildSurface(name, output))];
  writeFileSync(madeOf, JSON.stringify(Object.fromEntries(paths.map((path) => [path, stampOf(path)]))));
}

/** A truncated list matches nothing. */
function readStamps(file: string): Record<string, string> {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>;
  } catch {
    return { [file]: '' };
  }
}

/** Size and mtime of a file, the names in a folder. */
function stampOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return 'gone';
  return stat.isDirectory() ? readdirSync(path).join(' ') : `${stat.size} ${stat.mtimeMs}`;
}

/** Generated from the schema of the app. */
const needsDatabaseClient = (name: string): boolean =>
  isOlder('prisma/schema.prisma', join('apps', name, 'src/generated/prisma/client.ts'), [name]);

/** The pages import the types of `@sealgate/client`, generated from the OpenAPI documents of all apps. */
function needsApiTypes(name: string): boolean {
  const types = 'libs/client/src/generated/repeatable-routes.ts';
  return appsWith('web').includes(name) && ['openapi.json', 'admin-openapi.json'].some((file) => isOlder(file, types));
}

/** Whether generated code, which is not in the checkout, is missing or older than a source of it. */
function isOlder(source: string, generated: string, apps = appsWith(source)): boolean {
  const changedMs = (path: string): number =>
    statSync(join(workspaceRoot, path), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return apps.some((app) => changedMs(generated) < changedMs(join('apps', app, source)));
}
