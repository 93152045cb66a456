import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundleSurface } from '../../bundle.ts';
import { generateClients } from '../generate-clients.ts';
import type { Surface } from '../start/surface.ts';
import { UserError } from '../start/user-error.ts';
import { workspaceRoot } from '../workspace.ts';

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

/** Builds missing prerequisites, then the bundle, by default into the app's `dist`. */
export async function buildSurface(name: string, output?: string, mapsAt?: string): Promise<string[]> {
  if (needsClient(join(workspaceRoot, 'apps', name))) {
    const { ok, said } = await generateClients([name]);
    if (!ok) throw new UserError(`The database client of ${name} could not be generated: ${said.trim()}`);
  }
  return bundleSurface(name, output, mapsAt);
}

/** Builds unless the existing bundle was built from the same files, which are listed beside it. */
async function buildWhereChanged(name: string, output: string): Promise<void> {
  const madeOf = `${output}.made-of.json`;
  const isThere = existsSync(output) && existsSync(madeOf) && !needsClient(join(workspaceRoot, 'apps', name));
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

/** The database client is not in the checkout, and outdated if the schema has changed since. */
function needsClient(app: string): boolean {
  const schema = join(app, 'prisma/schema.prisma');
  const client = join(app, 'src/generated/prisma/client.ts');
  if (!existsSync(schema)) return false;
  return !existsSync(client) || statSync(client).mtimeMs < statSync(schema).mtimeMs;
}
