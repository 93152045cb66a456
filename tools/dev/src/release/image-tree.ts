import { chmodSync, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { buildSurface } from '../surfaces/bundled.ts';
import { UserError } from '../start/user-error.ts';
import { appsWith, workspaceRoot } from '../workspace.ts';

/** All images: every app that runs, and the verifier, as a monitor of logs. */
export const imageNames = (): string[] => [...appsWith('src/main.ts'), 'verify'].toSorted();

/** Folder of the bundle in its image. */
const APP = 'app';

/**
 * Builds into `folder` the files of an image without its base: the bundle in `app`, readable by everyone and writable
 * only by its owner. Equal sources give equal trees on every machine.
 * @throws UserError for an unknown image, or a folder that is not empty.
 */
export async function makeImageTree(name: string, folder: string): Promise<void> {
  if (!imageNames().includes(name))
    throw new UserError(`Unknown image ${JSON.stringify(name)}. Images: ${imageNames().join(', ')}.`);
  if (existsSync(folder) && readdirSync(folder).length > 0) throw new UserError(`${folder} is not empty.`);
  // In the image, `../apps/x/src/main.ts` of a source map is /apps/x/src/main.ts: the path from the root of the
  // sources.
  await buildSurface(name, join(folder, APP), { mapsAt: join(workspaceRoot, APP) });
  setModes(folder);
}

function setModes(folder: string): void {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) setModes(path);
    else chmodSync(path, 0o644);
  }
}
