import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** The folder of the checkout. */
export const workspaceRoot = resolve(import.meta.dirname, '../../..');

/** A program of the installed packages, as Node is to run it: by its file, so that no PATH and no shell is needed. */
export const programs = {
  eslint: join(workspaceRoot, 'node_modules/eslint/bin/eslint.js'),
  jest: join(workspaceRoot, 'node_modules/jest/bin/jest.js'),
  nx: join(workspaceRoot, 'node_modules/nx/dist/bin/nx.js'),
  prettier: join(workspaceRoot, 'node_modules/prettier/bin/prettier.cjs'),
  prisma: join(workspaceRoot, 'node_modules/prisma/build/index.js'),
  tsc: join(workspaceRoot, 'node_modules/typescript/bin/tsc'),
} as const;

/** The apps that have the file, by their folder names, in alphabetical order. */
export function appsWith(file: string): string[] {
  const apps = join(workspaceRoot, 'apps');
  return readdirSync(apps)
    .filter((name) => existsSync(join(apps, name, file)))
    .sort();
}
