import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { workspaceRoot } from '../workspace.ts';

/** Generated and third-party folders, which are not part of the project. */
const left = new Set(['node_modules', 'dist', 'generated', 'coverage', 'tmp', '.git', '.nx', '.sealgate']);

/**
 * The paths of the project's files, relative to the checkout, sorted. Not from git: new files count before they are
 * added.
 */
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

/**
 * The documents of a YAML text, without empty ones, with `<<` merged. @throws Error for invalid YAML and duplicate
 * keys.
 */
export function parseYaml(text: string): unknown[] {
  return parseAllDocuments(text, { merge: true }).flatMap((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw error;
    const value: unknown = document.toJSON();
    return value == null ? [] : [value];
  });
}

/** The only document of a YAML file of the project. */
export const readYaml = (path: string): unknown => parseYaml(readProjectFile(path))[0];
