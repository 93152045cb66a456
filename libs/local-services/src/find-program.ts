import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The folders of a `PATH`, in its order. */
export function foldersOf(path = ''): string[] {
  return path.split(delimiter).filter((folder) => folder !== '');
}

/** The first executable of that name in the folders; undefined if there is none. */
export function findProgram(name: string, folders: readonly string[]): string | undefined {
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
