import { dirname, normalize } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { projectFiles, readProjectFile } from './project-files.ts';

interface Package {
  readonly bin?: Readonly<Record<string, string>>;
}

const lock: { packages: Readonly<Record<string, Package>> } = JSON.parse(readProjectFile('package-lock.json'));
const workspaces = projectFiles()
  .filter((path) => /^(?:apps|libs|tools)\/.*package\.json$/.test(path))
  .map((path) => ({ folder: dirname(path), own: JSON.parse(readProjectFile(path)) as Package }));

describe('package-lock.json', () => {
  // `npm ci` reads only the lock file: npx does not find a command that is missing there.
  it.each(workspaces)('lists $folder and its commands', ({ folder, own }) => {
    const expected = Object.entries(own.bin ?? {}).map(([name, file]) => [name, normalize(file)]);
    expect(lock.packages[folder]).toBeDefined();
    expect(Object.entries(lock.packages[folder]?.bin ?? {}).map(([name, file]) => [name, normalize(file)])).toEqual(
      expected,
    );
  });
});
