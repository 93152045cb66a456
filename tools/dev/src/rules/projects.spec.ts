import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { workspaceRoot } from '../workspace.ts';

interface Project {
  readonly targets?: Readonly<Record<string, { readonly inputs?: readonly string[] }>>;
}

const folders = globSync('{apps,libs,tools}/**/project.json', {
  cwd: workspaceRoot,
  exclude: ['**/node_modules/**', '**/dist/**'],
}).map(dirname);

/** The unit tests below a folder that are in no project further down. */
function unitTestsOf(folder: string): string[] {
  if (folder === 'apps/e2e') return []; // Its stories always run.
  const within = folders.filter((other) => other.startsWith(`${folder}/`));
  return globSync(`${folder}/**/*.spec.ts`, { cwd: workspaceRoot, exclude: ['**/node_modules/**'] }).filter(
    (file) => !file.endsWith('.int.spec.ts') && !within.some((other) => file.startsWith(`${other}/`)),
  );
}

const projectAt = (folder: string): Project =>
  JSON.parse(readFileSync(join(workspaceRoot, folder, 'project.json'), 'utf8')) as Project;

/** Whether a test reads by a path that leads out of its project, as far as its text shows. */
function readsBeyond(folder: string, file: string): boolean {
  const text = readFileSync(join(workspaceRoot, file), 'utf8');
  if (/\bworkspaceRoot\b/.test(text)) return true;
  const paths = [...text.matchAll(/import\.meta\.(?:dirname|url)\b[^\n]*?'((?:\.\.\/)+[^']*|(?:\.\.\/)*\.\.)'/g)];
  return paths.some(([, path]) => !normalize(join(dirname(file), path!, '/')).startsWith(`${folder}/`));
}

describe('the projects', () => {
  it('are found', () => expect(folders.length).toBeGreaterThan(30));

  it.each(folders)('%s is linted and tested by npm test', (folder) => {
    const { targets = {} } = projectAt(folder);
    expect(Object.keys(targets)).toContain('lint');
    expect(Object.hasOwn(targets, 'test')).toBe(unitTestsOf(folder).length > 0);
  });

  it.each(folders)('%s has its tests run again when files change that they read elsewhere', (folder) => {
    const { targets = {} } = projectAt(folder);
    const beyond = unitTestsOf(folder).filter((file) => readsBeyond(folder, file));
    expect(targets['test']?.inputs?.includes('repository') === true ? [] : beyond).toEqual([]);
  });
});
