import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundleSurface } from '../../bundle.ts';
import { generateClients } from '../generate-clients.ts';
import type { Surface } from '../start/surface.ts';
import { UserError } from '../start/user-error.ts';
import { workspaceRoot } from '../workspace.ts';

/** The part of a surface's row that follows from its folder in apps. */
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

/** Makes what the bundle needs and is not there yet, then the bundle, in the app's `dist` where no folder is given. */
export async function buildSurface(name: string, output?: string, mapsAt?: string): Promise<string[]> {
  if (needsClient(join(workspaceRoot, 'apps', name))) {
    const { ok, said } = await generateClients([name]);
    if (!ok) throw new UserError(`The database client of ${name} could not be made: ${said.trim()}`);
  }
  return bundleSurface(name, output, mapsAt);
}

/** Builds unless what lies there was made of the files as they are now: beside it stands what it was made of. */
async function buildWhereChanged(name: string, output: string): Promise<void> {
  const madeOf = `${output}.made-of.json`;
  const isThere = existsSync(output) && existsSync(madeOf) && !needsClient(join(workspaceRoot, 'apps', name));
  if (isThere && Object.entries(readStamps(madeOf)).every(([path, stamp]) => stampOf(path) === stamp)) return;
  rmSync(madeOf, { force: true });
  const paths = [join(workspaceRoot, 'package-lock.json'), ...(await buildSurface(name, output))];
  writeFileSync(madeOf, JSON.stringify(Object.fromEntries(paths.map((path) => [path, stampOf(path)]))));
}

/** A file that a crash cut short fits nothing. */
function readStamps(file: string): Record<string, string> {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>;
  } catch {
    return { [file]: '' };
  }
}

/** Size and time of the last change of a file, the names in a folder. */
function stampOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return 'gone';
  return stat.isDirectory() ? readdirSync(path).join(' ') : `${stat.size} ${stat.mtimeMs}`;
}

/** The client is not part of the checkout, and stale where the schema was changed after it was made. */
function needsClient(app: string): boolean {
  const schema = join(app, 'prisma/schema.prisma');
  const client = join(app, 'src/generated/prisma/client.ts');
  if (!existsSync(schema)) return false;
  return !existsSync(client) || statSync(client).mtimeMs < statSync(schema).mtimeMs;
}
