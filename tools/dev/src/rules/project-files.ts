import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { workspaceRoot } from '../workspace.ts';

/** What is made by tools, or is not ours: never part of the project. */
const left = new Set(['node_modules', 'dist', 'generated', 'coverage', 'tmp', '.git', '.nx', '.sealgate']);

/** The paths of the project's files, relative to the checkout, sorted. Not asked of git: a new file counts at once. */
export function projectFiles(folder = workspaceRoot): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => !left.has(name))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return projectFiles(path);
      return entry.isFile() ? [relative(workspaceRoot, path)] : [];
    })
    .sort();
}

export const readProjectFile = (path: string): string => readFileSync(join(workspaceRoot, path), 'utf8');
