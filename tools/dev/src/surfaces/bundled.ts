import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { bundleSurface } from '../../bundle.ts';
import { generateClients } from '../generate-clients.ts';
import type { Surface } from '../start/surface.ts';
import { UserError } from '../start/user-error.ts';
import { workspaceRoot } from '../workspace.ts';

/** The part of a surface's row that follows from its folder in apps. */
export function bundled(name: string): Pick<Surface, 'name' | 'programs' | 'build'> {
  return {
    name,
    programs: (output) => ({ main: join(output, 'main.js'), migrate: join(output, 'migrate.js') }),
    build: (output) => buildSurface(name, output),
  };
}

/** Makes what the bundle needs and is not there yet, then the bundle, in the app's `dist` where no folder is given. */
export async function buildSurface(name: string, output?: string): Promise<void> {
  if (needsClient(join(workspaceRoot, 'apps', name))) {
    const { ok, said } = await generateClients([name]);
    if (!ok) throw new UserError(`The database client of ${name} could not be made: ${said.trim()}`);
  }
  await bundleSurface(name, output);
}

/** The client is not part of the checkout, and stale where the schema was changed after it was made. */
function needsClient(app: string): boolean {
  const schema = join(app, 'prisma/schema.prisma');
  const client = join(app, 'src/generated/prisma/client.ts');
  if (!existsSync(schema)) return false;
  return !existsSync(client) || statSync(client).mtimeMs < statSync(schema).mtimeMs;
}
