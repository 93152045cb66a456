import { chmodSync, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { buildSurface } from '../surfaces/bundled.ts';
import { UserError } from '../start/user-error.ts';
import { appsWith, workspaceRoot } from '../workspace.ts';

/** What there is an image of: every app that runs, and the verifier, which follows logs as a monitor. */
export const imageNames = (): string[] => [...appsWith('src/main.ts'), 'verify'].toSorted();

/** Where a bundle lies in its image. */
const APP = 'app';

/**
 * Makes in `folder` what an image holds beside its base: the bundle, below `app`, readable by everybody and with no bit that lets
 * anybody but its owner write or run it. Equal sources make equal trees, wherever they are made.
 * @throws UserError where there is no such image, or the folder holds something already.
 */
export async function makeImageTree(name: string, folder: string): Promise<void> {
  if (!imageNames().includes(name))
    throw new UserError(`There is no image ${name || 'without a name'}: it is one of ${imageNames().join(', ')}.`);
  if (existsSync(folder) && readdirSync(folder).length > 0) throw new UserError(`${folder} is not empty.`);
  // In the image `../apps/x/src/main.ts` of a map is /apps/x/src/main.ts: the path from the root of the sources.
  await buildSurface(name, join(folder, APP), join(workspaceRoot, APP));
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
