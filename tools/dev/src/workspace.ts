import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** The root of the checkout. */
export const workspaceRoot = resolve(import.meta.dirname, '../../..');

/** Programs of installed packages by their files, so that Node can run them without PATH and shell. */
export const programs = {
  eslint: join(workspaceRoot, 'node_modules/eslint/bin/eslint.js'),
  jest: join(workspaceRoot, 'node_modules/jest/bin/jest.js'),
  nx: join(workspaceRoot, 'node_modules/nx/dist/bin/nx.js'),
  prettier: join(workspaceRoot, 'node_modules/prettier/bin/prettier.cjs'),
  prisma: join(workspaceRoot, 'node_modules/prisma/build/index.js'),
  tsc: join(workspaceRoot, 'node_modules/typescript/bin/tsc'),
} as const;

/** The apps that have the file, by folder name, sorted. */
export function appsWith(file: string): string[] {
  const apps = join(workspaceRoot, 'apps');
  return readdirSync(apps)
    .filter((name) => existsSync(join(apps, name, file)))
    .sort();
}
