import { describe, expect, it } from '@jest/globals';
import { projectFiles, readProjectFile } from './project-files.ts';

const { scripts }: { scripts: Record<string, string> } = JSON.parse(readProjectFile('package.json'));
const pages = projectFiles().filter((path) => path.endsWith('.md'));

/** The npm scripts that a page mentions, in text or in code blocks. */
const scriptsOf = (markdown: string): string[] =>
  [...markdown.matchAll(/\bnpm (?:run ([\w:-]+)|(start|stop|test)\b)/g)].map(([, named, own]) => named ?? own ?? '');

const projects = new Map(
  projectFiles()
    .filter((path) => path.endsWith('/project.json'))
    .map((path) => JSON.parse(readProjectFile(path)) as { name: string; targets?: Record<string, unknown> })
    .map(({ name, targets = {} }) => [name, Object.keys(targets)]),
);

/**
 * The Nx targets that a page mentions, each with its project: `npx nx test case-gate`, `npx nx run client:generate`.
 */
const nxTasksOf = (markdown: string): (readonly [target: string, project: string])[] =>
  [...markdown.matchAll(/\bnpx nx (?:run ([\w-]+):([\w-]+)|(test|build|lint|browser) ([\w-]+))/g)].map(
    ([, project, target, named, of]) => [target ?? named ?? '', project ?? of ?? ''] as const,
  );

describe('the commands of the docs', () => {
  it('are targets of projects, if run by Nx', () => {
    const tasks = pages.flatMap((page) => nxTasksOf(readProjectFile(page)));
    expect(tasks).toContainEqual(['build', 'client']);
    expect(tasks.filter(([target, project]) => projects.get(project)?.includes(target) !== true)).toEqual([]);
    expect(nxTasksOf('`npx nx run client:generate`, npx nx test no-such')).toEqual([
      ['generate', 'client'],
      ['test', 'no-such'],
    ]);
  });

  it('are scripts of package.json', () => {
    const missing = pages.flatMap((page) =>
      scriptsOf(readProjectFile(page))
        .filter((name) => !Object.hasOwn(scripts, name))
        .map((name) => `${page}: npm run ${name}`),
    );
    expect(missing).toEqual([]);
  });

  it('are found in text and in code', () => {
    expect(scriptsOf('Say `npm run bench -- --quick`, or:\n```\nnpm start\nnpm run a:b-c\n```\nnpm ci')).toEqual([
      'bench',
      'start',
      'a:b-c',
    ]);
  });
});
